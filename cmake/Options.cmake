# Options of the build and the flags that every target gets.
include_guard(GLOBAL)

set(LOCKSTEP_CUDA AUTO CACHE STRING "Build with CUDA and NCCL: AUTO, ON or OFF")
set_property(CACHE LOCKSTEP_CUDA PROPERTY STRINGS AUTO ON OFF)
option(LOCKSTEP_TESTS "Build the tests" ON)
option(LOCKSTEP_ASAN "AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(LOCKSTEP_TSAN "ThreadSanitizer; builds only what needs no LibTorch" OFF)
option(LOCKSTEP_RELOCATABLE "Installed programs look for all libraries in lib/ beside them first" OFF)
option(LOCKSTEP_CCACHE "Compile through ccache when it is there" ON)
option(LOCKSTEP_PCH "Precompile LibTorch's headers" ON)

get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT is_multi_config)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
include(GNUInstallDirs)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
if(LOCKSTEP_RELOCATABLE)
  # RPATH, not RUNPATH: it also holds for the libraries that the carried libraries need.
  add_link_options(-Wl,--disable-new-dtags)
else()
  # LibTorch stays where it was at build time.
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")

# Results must not depend on which multiplications the compiler fuses, nor on the clone's place.
add_compile_options(-ffp-contract=off "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")

set(LOCKSTEP_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                      -Werror)

if(LOCKSTEP_ASAN AND LOCKSTEP_TSAN)
  message(FATAL_ERROR "LOCKSTEP_ASAN and LOCKSTEP_TSAN exclude each other - choose one")
elseif(LOCKSTEP_ASAN)
  # A sanitizer stops at its first finding, so that a test cannot pass over it.
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(LOCKSTEP_TSAN)
  set(sanitize -fsanitize=thread -fno-omit-frame-pointer)
endif()
add_compile_options(${sanitize})
add_link_options(${sanitize})

# Objects are shared between build folders and between clones: paths below the clone are made
# relative, and a precompiled header counts by its contents. See docs/decisions.md.
find_program(LOCKSTEP_CCACHE_PROGRAM ccache)
if(LOCKSTEP_CCACHE AND LOCKSTEP_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      "${LOCKSTEP_CCACHE_PROGRAM}")
  add_compile_options(-fpch-preprocess)
endif()

# Files of src/comm that need LibTorch; they form lockstep_reducer.
set(LOCKSTEP_COMM_TORCH_FILES "(gradient|bucket|reducer|tensor|torch|nccl)[^/]*$")
