# Tests of the project. Each is a CTest test with PROCESSORS, TIMEOUT and LABELS.
include_guard(GLOBAL)

include(CheckCXXSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_CXX)
check_cxx_symbol_exists(OPEN_MPI mpi.h LOCKSTEP_OPEN_MPI)
unset(CMAKE_REQUIRED_LIBRARIES)
# MPICH's launcher needs no flags for that.
set(mpiexec_flags "")
if(LOCKSTEP_OPEN_MPI)
  set(mpiexec_flags --oversubscribe --mca mpi_yield_when_idle 1)
endif()
set(LOCKSTEP_MPIEXEC_FLAGS "${mpiexec_flags}"
    CACHE STRING "Flags of ${MPIEXEC_EXECUTABLE} that let tests have more ranks than cores")
# Tests may run as root (in containers); one thread per rank keeps them from crowding each other.
set(LOCKSTEP_TEST_ENV OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
    PMIX_MCA_psec=native "LOCKSTEP_BIN_DIR=${CMAKE_BINARY_DIR}/bin" "LOCKSTEP_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1")

# lockstep_add_test_program(<name> [TORCH] SOURCES <file>... LIBS <our libraries>
#                           [LINK <targets>] MAIN <file>)
function(lockstep_add_test_program name)
  cmake_parse_arguments(arg "TORCH" "MAIN" "SOURCES;LIBS;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES} "${arg_MAIN}")
  lockstep_configure_target(${name} "${arg_TORCH}")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE GTest::gtest ${arg_LINK})
  lockstep_link(${name} PRIVATE ${arg_LIBS})
  # gtest's macros trip over these; the sources themselves keep all warnings.
  set_source_files_properties("${arg_MAIN}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

function(lockstep_set_test_properties test labels processors timeout)
  set_tests_properties(${test} PROPERTIES LABELS "${labels}" PROCESSORS "${processors}"
                       TIMEOUT "${timeout}" ENVIRONMENT "${LOCKSTEP_TEST_ENV};${ARGN}")
endfunction()

# The target unit_tests builds all of these programs and nothing else.
# lockstep_add_unit_test(<name> [TORCH] SOURCES ... LIBS ... [LINK ...] [TIMEOUT s] [LABELS ...])
function(lockstep_add_unit_test name)
  cmake_parse_arguments(arg "TORCH" "TIMEOUT" "SOURCES;LIBS;LINK;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(torch "")
  if(arg_TORCH)
    set(torch TORCH)
  endif()
  lockstep_add_test_program(${name} ${torch} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS}
                            LINK ${arg_LINK} MAIN "${PROJECT_SOURCE_DIR}/tests/support/unit_main.cpp")
  if(NOT TARGET unit_tests)
    add_custom_target(unit_tests)
  endif()
  add_dependencies(unit_tests ${name})
  add_test(NAME ${name} COMMAND ${name})
  lockstep_set_test_properties(${name} "unit;${arg_LABELS}" 1 ${arg_TIMEOUT})
endfunction()

# add_mpi_test(<name> [TORCH] SOURCES ... LIBS ... NP <n>... [LINK ...] [PROCESSORS n] [TIMEOUT s]
#              [LABELS ...] [ENV ...] [ARGS ...])
# One program, and one test <name>_np<n> for each number of processes.
function(add_mpi_test name)
  cmake_parse_arguments(arg "TORCH" "PROCESSORS;TIMEOUT" "SOURCES;LIBS;LINK;NP;LABELS;ENV;ARGS"
                        ${ARGN})
  if(NOT arg_NP)
    message(FATAL_ERROR "${name} names no process counts - give NP")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 2)
  endif()
  set(torch "")
  if(arg_TORCH)
    set(torch TORCH)
  endif()
  lockstep_add_test_program(${name} ${torch} SOURCES ${arg_SOURCES} LIBS comm ${arg_LIBS}
                            LINK MPI::MPI_CXX ${arg_LINK}
                            MAIN "${PROJECT_SOURCE_DIR}/tests/support/mpi_main.cpp")
  foreach(np IN LISTS arg_NP)
    add_test(NAME ${name}_np${np}
             COMMAND ${MPIEXEC_EXECUTABLE} ${LOCKSTEP_MPIEXEC_FLAGS} ${MPIEXEC_NUMPROC_FLAG} ${np}
                     $<TARGET_FILE:${name}> ${arg_ARGS})
    lockstep_set_test_properties(${name}_np${np} "mpi;${arg_LABELS}" ${arg_PROCESSORS}
                                 ${arg_TIMEOUT} ${arg_ENV})
  endforeach()
endfunction()

# add_python_test(<name> <file> [PROCESSORS n] [TIMEOUT s] [LABELS ...])
# One pytest file, as one test. It finds the programs in $LOCKSTEP_BIN_DIR, the clone in
# $LOCKSTEP_SOURCE_DIR. pytest's own exit code fails a file without tests.
function(add_python_test name file)
  cmake_parse_arguments(arg "" "PROCESSORS;TIMEOUT" "LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 2)
  endif()
  add_test(NAME ${name} COMMAND "${LOCKSTEP_PYTHON}" -m pytest -q -rs -p no:cacheprovider "${file}")
  lockstep_set_test_properties(${name} "${arg_LABELS}" ${arg_PROCESSORS} ${arg_TIMEOUT}
                               PYTHONDONTWRITEBYTECODE=1)
endfunction()
