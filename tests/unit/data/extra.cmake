# Tests that make pictures and shards of their own, also damaged ones.
if(TARGET unit_data)
  target_link_libraries(unit_data PRIVATE HDF5::HDF5 JPEG::JPEG PNG::PNG ZLIB::ZLIB
                                          nlohmann_json::nlohmann_json)
endif()
