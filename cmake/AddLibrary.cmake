# Libraries and programs of the project, one library per folder.
include_guard(GLOBAL)

# One precompiled header for all that includes LibTorch. Not torch/torch.h: templates that a header
# leaves to be instantiated are instantiated anew in each file, and it leaves many.
set(LOCKSTEP_PCH_TARGET "")
if(LOCKSTEP_PCH AND TARGET lockstep::torch)
  set(LOCKSTEP_PCH_TARGET lockstep_torch_pch)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/torch_pch.cpp" CONTENT "// Carries the precompiled header.\n")
  add_library(lockstep_torch_pch OBJECT "${CMAKE_BINARY_DIR}/torch_pch.cpp")
  target_compile_options(lockstep_torch_pch PRIVATE ${LOCKSTEP_WARNINGS})
  target_link_libraries(lockstep_torch_pch PRIVATE lockstep::torch)
  target_precompile_headers(lockstep_torch_pch PRIVATE <torch/nn/module.h> <torch/types.h>)
endif()

# What every target of ours gets; `uses_torch` adds LibTorch and its precompiled header.
function(lockstep_configure_target target uses_torch)
  target_compile_options(${target} PRIVATE ${LOCKSTEP_WARNINGS})
  target_include_directories(${target} PUBLIC
                             "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
  # For those who use the installed libraries: the headers are C++20.
  target_compile_features(${target} PUBLIC cxx_std_20)
  if(uses_torch)
    target_link_libraries(${target} PUBLIC lockstep::torch)
    if(LOCKSTEP_WITH_CUDA)
      target_link_options(${target} PUBLIC ${torch_link_options})
    endif()
    if(LOCKSTEP_PCH_TARGET)
      target_precompile_headers(${target} REUSE_FROM ${LOCKSTEP_PCH_TARGET})
    endif()
  endif()
endfunction()

# Links lockstep_<name> for those of the names that are targets.
function(lockstep_link target scope)
  foreach(name IN LISTS ARGN)
    if(TARGET lockstep_${name})
      target_link_libraries(${target} ${scope} lockstep_${name})
    endif()
  endforeach()
endfunction()

# lockstep_add_library(<name> [TORCH] GLOB <pattern>... [EXCLUDE <regex>] [ONLY <regex>]
#                      [CUDA_FILES <file>...] [PUBLIC <our libraries>] [PRIVATE <imported targets>])
# CUDA_FILES are the only ones that see LOCKSTEP_WITH_CUDA, CUDA's headers and NCCL's: all other
# objects are the same with and without CUDA.
function(lockstep_add_library name)
  cmake_parse_arguments(arg "TORCH" "EXCLUDE;ONLY" "GLOB;CUDA_FILES;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${arg_GLOB})
  if(arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${arg_EXCLUDE}")
  endif()
  if(arg_ONLY)
    list(FILTER sources INCLUDE REGEX "${arg_ONLY}")
  endif()
  if(NOT sources)
    return()
  endif()
  set(target lockstep_${name})
  add_library(${target} STATIC ${sources})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_LIBRARIES ${target})
  lockstep_configure_target(${target} "${arg_TORCH}")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PRIVATE ${arg_PRIVATE})
  lockstep_link(${target} PUBLIC ${arg_PUBLIC})
  if(arg_CUDA_FILES AND LOCKSTEP_WITH_CUDA)
    set_property(SOURCE ${arg_CUDA_FILES} APPEND PROPERTY COMPILE_DEFINITIONS LOCKSTEP_WITH_CUDA)
    set_property(SOURCE ${arg_CUDA_FILES} APPEND PROPERTY INCLUDE_DIRECTORIES
                 "${NCCL_INCLUDE_DIR}" ${CUDAToolkit_INCLUDE_DIRS})
    target_link_libraries(${target} PUBLIC $<LINK_ONLY:lockstep::torch_cuda>)
  endif()
endfunction()

# lockstep_add_programs([TORCH] GLOB <pattern>... [NAME <name>] LIBS <our libraries>)
# One program for each file, named after it unless NAME is given; the target `programs` builds all.
function(lockstep_add_programs)
  cmake_parse_arguments(arg "TORCH" "NAME" "GLOB;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${arg_GLOB})
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    if(arg_NAME)
      set(name ${arg_NAME})
    endif()
    add_executable(${name} "${source}")
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_PROGRAMS ${name})
    if(NOT TARGET programs)
      add_custom_target(programs)
    endif()
    add_dependencies(programs ${name})
    lockstep_configure_target(${name} "${arg_TORCH}")
    lockstep_link(${name} PRIVATE ${arg_LIBS})
  endforeach()
endfunction()

# Tells one source file what was built: the only one recompiled when that changes.
function(lockstep_describe_build source)
  set(definitions "LOCKSTEP_VERSION=\"${PROJECT_VERSION}\""
      "LOCKSTEP_BUILD_TYPE=\"${CMAKE_BUILD_TYPE}\""
      "LOCKSTEP_TORCH_VERSION=\"${LOCKSTEP_TORCH_VERSION}\"")
  if(LOCKSTEP_WITH_CUDA)
    list(APPEND definitions LOCKSTEP_WITH_CUDA "LOCKSTEP_CUDA_VERSION=\"${CUDAToolkit_VERSION}\""
         "LOCKSTEP_NCCL_VERSION=\"${NCCL_VERSION}\"")
  endif()
  set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_DEFINITIONS ${definitions})
endfunction()
