# Tests that make archives of their own.
if(TARGET unit_data_tools)
  target_link_libraries(unit_data_tools PRIVATE ZLIB::ZLIB)
endif()
