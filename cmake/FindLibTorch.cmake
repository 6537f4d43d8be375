# LibTorch as our own imported targets: lockstep::torch (CPU) and, with CUDA, lockstep::torch_cuda.
# find_package(Torch) refuses a CUDA wheel on a machine without a CUDA toolkit, where the CPU part
# of the same wheel serves well.
#
# The place is, in this order: CMAKE_PREFIX_PATH, the Python at hand, .venv of scripts/setup.sh.
include_guard(DIRECTORY)

set(LOCKSTEP_TORCH_MINIMUM 2.7.0)  # the first whose wheels on PyPI have the C++11 ABI

function(lockstep_read_torch_version root out)
  file(STRINGS "${root}/share/cmake/Torch/TorchConfigVersion.cmake" line REGEX "PACKAGE_VERSION \"")
  if(NOT line MATCHES "\"([0-9]+\\.[0-9]+\\.[0-9]+)")
    message(FATAL_ERROR "the version of LibTorch in ${root} is unknown "
                        "(share/cmake/Torch/TorchConfigVersion.cmake) - install it again")
  endif()
  set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# The folder of Python's torch; empty if it has none, or none that is new enough.
function(lockstep_torch_root_of_python python out)
  set(${out} "" PARENT_SCOPE)
  execute_process(
    COMMAND "${python}" -c
            "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE root ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE rc)
  if(rc EQUAL 0 AND EXISTS "${root}/share/cmake/Torch/TorchConfigVersion.cmake")
    lockstep_read_torch_version("${root}" found)
    if(found VERSION_LESS LOCKSTEP_TORCH_MINIMUM)
      message(STATUS "Passing over torch ${found} of ${python}: ${LOCKSTEP_TORCH_MINIMUM} is needed")
    else()
      set(${out} "${root}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

function(lockstep_find_torch_root out origin)
  set(prefixes "$ENV{CMAKE_PREFIX_PATH}")
  string(REPLACE ":" ";" prefixes "${prefixes}")
  find_file(config TorchConfig.cmake PATHS ${CMAKE_PREFIX_PATH} ${prefixes}
            PATH_SUFFIXES share/cmake/Torch Torch NO_CACHE NO_DEFAULT_PATH)
  if(config)
    get_filename_component(root "${config}/../../../.." ABSOLUTE)
    set(from "CMAKE_PREFIX_PATH")
  endif()
  foreach(python python3 "${CMAKE_SOURCE_DIR}/.venv/bin/python")
    if(NOT root)
      lockstep_torch_root_of_python("${python}" root)
      set(from "${python}")
    endif()
  endforeach()
  if(NOT root)
    message(FATAL_ERROR "LibTorch is missing (not in CMAKE_PREFIX_PATH, python3 or .venv) - "
                        "run scripts/setup.sh, or give -DCMAKE_PREFIX_PATH=<libtorch>")
  endif()
  # The real path: clones that share one cache then share compiled objects too.
  file(REAL_PATH "${root}" root)
  set(${out} "${root}" PARENT_SCOPE)
  set(${origin} "${from}" PARENT_SCOPE)
endfunction()

lockstep_find_torch_root(LOCKSTEP_TORCH_ROOT torch_origin)
lockstep_read_torch_version("${LOCKSTEP_TORCH_ROOT}" LOCKSTEP_TORCH_VERSION)
if(LOCKSTEP_TORCH_VERSION VERSION_LESS LOCKSTEP_TORCH_MINIMUM)
  message(FATAL_ERROR "LibTorch ${LOCKSTEP_TORCH_VERSION} is too old (${LOCKSTEP_TORCH_ROOT}) - "
                      "give ${LOCKSTEP_TORCH_MINIMUM} or later")
endif()
file(STRINGS "${LOCKSTEP_TORCH_ROOT}/share/cmake/Torch/TorchConfig.cmake" old_abi
     REGEX "_GLIBCXX_USE_CXX11_ABI=0")
if(old_abi)
  message(FATAL_ERROR "LibTorch in ${LOCKSTEP_TORCH_ROOT} has the C++ ABI from before GCC 5 - "
                      "take a build with the C++11 ABI, as on PyPI since ${LOCKSTEP_TORCH_MINIMUM}")
endif()
message(STATUS "LibTorch ${LOCKSTEP_TORCH_VERSION} from ${torch_origin}: ${LOCKSTEP_TORCH_ROOT}")

# A wheel keeps the libraries it needs (libcudart, libcupti, ...) in folders beside torch.
file(GLOB LOCKSTEP_TORCH_RUNTIME_DIRS "${LOCKSTEP_TORCH_ROOT}/../nvidia/*/lib")
list(TRANSFORM LOCKSTEP_TORCH_RUNTIME_DIRS PREPEND "-Wl,-rpath-link,"
     OUTPUT_VARIABLE torch_link_options)

function(lockstep_import_torch_library name)
  add_library(lockstep::lib${name} SHARED IMPORTED)
  set_target_properties(lockstep::lib${name} PROPERTIES
    IMPORTED_LOCATION "${LOCKSTEP_TORCH_ROOT}/lib/lib${name}.so")
endfunction()

lockstep_import_torch_library(c10)
lockstep_import_torch_library(torch_cpu)
add_library(lockstep::torch INTERFACE IMPORTED)
target_include_directories(lockstep::torch INTERFACE
  "${LOCKSTEP_TORCH_ROOT}/include" "${LOCKSTEP_TORCH_ROOT}/include/torch/csrc/api/include")
target_link_libraries(lockstep::torch INTERFACE lockstep::libtorch_cpu lockstep::libc10)
target_link_options(lockstep::torch INTERFACE ${torch_link_options})

# What keeps a CUDA build from being possible, as text; empty when nothing does.
function(lockstep_find_cuda_obstacle out)
  set(${out} "" PARENT_SCOPE)
  find_package(CUDAToolkit QUIET)
  if(NOT CUDAToolkit_FOUND)
    set(${out} "there is no CUDA toolkit" PARENT_SCOPE)
    return()
  endif()
  set(library "${LOCKSTEP_TORCH_ROOT}/lib/libtorch_cuda.so")
  if(NOT EXISTS "${library}")
    set(${out} "this LibTorch is one for the CPU" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ldd "${library}" OUTPUT_VARIABLE needed ERROR_QUIET)
  if(needed MATCHES "([^ \t\n]+) => not found")
    set(${out} "libtorch_cuda lacks ${CMAKE_MATCH_1}" PARENT_SCOPE)
    return()
  endif()
  find_package(NCCL QUIET)
  if(NOT NCCL_FOUND)
    set(${out} "there is no NCCL" PARENT_SCOPE)
  endif()
endfunction()

if(NOT LOCKSTEP_CUDA STREQUAL "OFF")
  lockstep_find_cuda_obstacle(cuda_obstacle)
  if(NOT cuda_obstacle)
    set(LOCKSTEP_WITH_CUDA ON)
    find_package(CUDAToolkit REQUIRED)
    find_package(NCCL REQUIRED)
  elseif(LOCKSTEP_CUDA STREQUAL "ON")
    message(FATAL_ERROR "no CUDA build is possible (${cuda_obstacle}) - "
                        "install it, or use -DLOCKSTEP_CUDA=OFF")
  endif()
else()
  set(cuda_obstacle "LOCKSTEP_CUDA=OFF")
endif()

if(LOCKSTEP_WITH_CUDA)
  message(STATUS "Building with CUDA ${CUDAToolkit_VERSION} and NCCL ${NCCL_VERSION}")
  lockstep_import_torch_library(c10_cuda)
  lockstep_import_torch_library(torch_cuda)
  add_library(lockstep::torch_cuda INTERFACE IMPORTED)
  # No symbol of libtorch_cuda is called by name: it registers itself when it is loaded.
  target_link_libraries(lockstep::torch_cuda INTERFACE
    -Wl,--no-as-needed lockstep::libtorch_cuda lockstep::libc10_cuda -Wl,--as-needed
    lockstep::torch NCCL::NCCL CUDA::cudart)
else()
  message(STATUS "Building for the CPU (${cuda_obstacle})")
endif()
