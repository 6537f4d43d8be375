#include "broadcast_tensors.hpp"

#include <ATen/ops/empty.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::train {

void broadcast_tensors(comm::Collectives& control, NamedTensors& tensors) {
  nlohmann::json layout = nlohmann::json::array();
  for (const auto& [name, tensor] : tensors) {
    layout.push_back({name, static_cast<int>(tensor.scalar_type()), tensor.sizes().vec()});
  }
  const auto all = nlohmann::json::parse(control.broadcast(layout.dump()));
  if (!control.world().is_root()) {
    for (const auto& entry : all) {
      tensors.emplace_back(entry[0].get<std::string>(),
                           at::empty(entry[2].get<std::vector<std::int64_t>>(),
                                     static_cast<at::ScalarType>(entry[1].get<int>())));
    }
  }
  for (auto& [name, tensor] : tensors) {
    control.broadcast(tensor.mutable_data_ptr(), tensor.nbytes(), comm::DataType::kByte, 0);
  }
}

}  // namespace lockstep::train
