# What `cmake --install` puts where: programs, libraries and headers with a CMake package, and in
# share/lockstep configs, scripts for Slurm and documents.
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Lockstep")
set(share_dir "${CMAKE_INSTALL_DATADIR}/lockstep")

get_property(programs GLOBAL PROPERTY LOCKSTEP_PROGRAMS)
install(TARGETS ${programs} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")

# The parts of single programs (jobs, data_tools) are no library for others.
get_property(libraries GLOBAL PROPERTY LOCKSTEP_LIBRARIES)
list(REMOVE_ITEM libraries lockstep_jobs lockstep_data_tools)
install(TARGETS ${libraries} EXPORT LockstepTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT LockstepTargets NAMESPACE Lockstep:: DESTINATION "${package_dir}")
install(DIRECTORY include/lockstep DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

set(LOCKSTEP_CUDA_BUILT OFF)
if(LOCKSTEP_WITH_CUDA)
  set(LOCKSTEP_CUDA_BUILT ON)
endif()
configure_package_config_file(cmake/LockstepConfig.cmake.in "${CMAKE_BINARY_DIR}/LockstepConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/LockstepConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/LockstepConfig.cmake"
              "${CMAKE_BINARY_DIR}/LockstepConfigVersion.cmake"
              cmake/Dependencies.cmake cmake/FindLibTorch.cmake cmake/FindNCCL.cmake
        DESTINATION "${package_dir}")

install(DIRECTORY configs slurm docs DESTINATION "${share_dir}")
install(FILES README.md LICENSE data_tools/FORMAT.md DESTINATION "${share_dir}")
