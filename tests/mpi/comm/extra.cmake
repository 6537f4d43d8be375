# Preloaded by tests/job/test_mpi_probe.py, beside the programs.
add_library(mpi_probe SHARED "${PROJECT_SOURCE_DIR}/tests/support/mpi_probe.cpp")
lockstep_configure_target(mpi_probe OFF)
target_link_libraries(mpi_probe PRIVATE MPI::MPI_CXX)
set_target_properties(mpi_probe PROPERTIES LIBRARY_OUTPUT_DIRECTORY
                      "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
