# Programs of tests/job/test_save_kills.py.
if(NOT LOCKSTEP_TSAN)
  add_library(kill_point SHARED "${PROJECT_SOURCE_DIR}/tests/support/kill_point.cpp")
  lockstep_configure_target(kill_point OFF)
  target_link_libraries(kill_point PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(kill_point PROPERTIES LIBRARY_OUTPUT_DIRECTORY
                        "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  add_executable(save_program "${PROJECT_SOURCE_DIR}/tests/support/save_program.cpp")
  lockstep_configure_target(save_program TORCH)
  lockstep_link(save_program PRIVATE train)
endif()
