#include "lockstep/train/recorder.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/base/durable_file.hpp"
#include "lockstep/train/checkpoint.hpp"
#include "lockstep/train/safetensors.hpp"

namespace lockstep::train {
namespace {

nlohmann::json describe(const StepResult& result) {
  nlohmann::json micros = nlohmann::json::array();
  for (const data::Batch& batch : result.batches) {
    nlohmann::json micro = {{"ids", batch.ids}};
    for (const char* key : {"dy", "dx", "flip"}) {
      micro[key] = nlohmann::json::array();
    }
    for (const data::Transform& transform : batch.transforms) {
      micro["dy"].push_back(transform.dy);
      micro["dx"].push_back(transform.dx);
      micro["flip"].push_back(transform.flip ? 1 : 0);
    }
    micros.push_back(micro);
  }
  return micros;
}

/// Joins the ranks' parts of each micro-batch in rank order.
nlohmann::json join(const std::vector<std::string>& parts) {
  nlohmann::json joined;
  for (const std::string& part : parts) {
    const auto micros = nlohmann::json::parse(part);
    if (joined.is_null()) {
      joined = nlohmann::json::array();
      for (std::size_t i = 0; i < micros.size(); ++i) {
        joined.push_back({{"ids", nlohmann::json::array()},
                          {"dy", nlohmann::json::array()},
                          {"dx", nlohmann::json::array()},
                          {"flip", nlohmann::json::array()},
                          {"per_rank", nlohmann::json::array()}});
      }
    }
    for (std::size_t i = 0; i < micros.size(); ++i) {
      for (const char* key : {"ids", "dy", "dx", "flip"}) {
        for (const auto& value : micros[i][key]) {
          joined[i][key].push_back(value);
        }
      }
      joined[i]["per_rank"].push_back(micros[i]["ids"].size());
    }
  }
  return joined;
}

}  // namespace

Recorder::Recorder(std::string folder, std::int64_t updates, comm::Collectives& control)
    : folder_(std::move(folder)), updates_(updates), control_(control) {
  if (active() && control_.world().is_root()) {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    require(!error, "cannot make record.dir '" + folder_ + "'", error.message(),
            "choose a folder that can be written");
    std::filesystem::remove(folder_ + "/updates.jsonl");
  }
}

void Recorder::save(const model::Network& network, const std::string& name, bool gradients) const {
  NamedTensors tensors;
  if (gradients) {
    for (const auto& item : network.named_parameters()) {
      if (item.value().grad().defined()) {
        tensors.emplace_back(item.key(), item.value().grad());
      }
    }
  } else {
    tensors = state_of(network);
  }
  write_safetensors(folder_ + "/" + name + ".safetensors", tensors);
}

void Recorder::initial(const model::Network& network, const std::string& meta_json) {
  if (active() && control_.world().is_root()) {
    save(network, "initial", false);
    write_durable(folder_ + "/meta.json", meta_json);
  }
}

void Recorder::update(const model::Network& network, const StepResult& result, std::int64_t update,
                      std::int64_t epoch, double learning_rate) {
  if (!active() || update >= updates_) {
    return;
  }
  const std::vector<std::string> parts = control_.all_gather(describe(result).dump());
  if (!control_.world().is_root()) {
    return;
  }
  if (update == 0) {
    save(network, "gradients", true);
  }
  const nlohmann::ordered_json line = {
      {"update", update},
      {"epoch", epoch},
      {"lr", learning_rate},
      {"samples", result.samples},
      {"loss", result.loss_sum / static_cast<double>(result.samples)},
      {"grad_norm", result.grad_norm},
      {"micro", join(parts)}};
  std::ofstream out(folder_ + "/updates.jsonl", std::ios::app);
  out << line.dump() << '\n';
  require(static_cast<bool>(out.flush()), "cannot write the record in '" + folder_ + "'",
          errno_text(), "free space or choose another record.dir");
}

void Recorder::applied(const model::Network& network, std::int64_t update) {
  if (active() && update + 1 == updates_ && control_.world().is_root()) {
    save(network, "final", false);
  }
}

void Recorder::finish(const model::Network& network, std::int64_t updates_done) {
  if (active() && updates_done < updates_ && control_.world().is_root()) {
    save(network, "final", false);
  }
}

}  // namespace lockstep::train
