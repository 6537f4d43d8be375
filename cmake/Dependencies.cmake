# Every third-party library, found once, each as an imported target. Once for each folder that asks
# for the installed package, as such targets are known in their folder and below.
include_guard(DIRECTORY)

find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS CXX)
# Without MPI's old C++ classes.
set_property(TARGET MPI::MPI_CXX APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS
             OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
find_package(HDF5 REQUIRED COMPONENTS C)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibArchive REQUIRED)

# Adds lockstep::<name> from a header and, if given, a library.
function(lockstep_find_plain name header library package)
  find_path(LOCKSTEP_${name}_INCLUDE "${header}")
  if(NOT LOCKSTEP_${name}_INCLUDE)
    message(FATAL_ERROR "${header} is missing - install ${package} (scripts/setup.sh does it)")
  endif()
  add_library(lockstep::${name} INTERFACE IMPORTED)
  target_include_directories(lockstep::${name} INTERFACE "${LOCKSTEP_${name}_INCLUDE}")
  if(library)
    find_library(LOCKSTEP_${name}_LIBRARY "${library}" REQUIRED)
    target_link_libraries(lockstep::${name} INTERFACE "${LOCKSTEP_${name}_LIBRARY}")
  endif()
endfunction()
lockstep_find_plain(exif libexif/exif-data.h exif libexif-dev)
lockstep_find_plain(xxhash xxhash.h xxhash libxxhash-dev)

set(LOCKSTEP_WITH_CUDA OFF)
if(NOT LOCKSTEP_TSAN)
  include(FindLibTorch)
endif()
