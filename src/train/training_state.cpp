#include "training_state.hpp"

#include <nlohmann/json.hpp>

#include "lockstep/base/check.hpp"

namespace lockstep::train {

std::string state_to_json(const TrainingState& state) {
  nlohmann::ordered_json json = {
      {"epoch", state.epoch},
      {"update", state.update},
      {"data_position", state.data_position},
      {"best_score", nullptr},
      {"best_epoch", state.best_epoch},
      {"classes", state.classes},
      {"height", state.height},
      {"width", state.width},
      {"mean", state.mean},
      {"std", state.std},
      {"train_set_id", state.train_set_id},
      {"ranks", state.ranks},
      {"threads", state.threads},
      {"cpu_capability", state.cpu_capability},
  };
  if (state.best_score) {
    json["best_score"] = *state.best_score;
  }
  return json.dump(2) + "\n";
}

TrainingState state_from_json(const std::string& text, const std::string& source) {
  try {
    const auto json = nlohmann::json::parse(text);
    TrainingState state;
    json.at("epoch").get_to(state.epoch);
    json.at("update").get_to(state.update);
    json.at("data_position").get_to(state.data_position);
    if (!json.at("best_score").is_null()) {
      state.best_score = json.at("best_score").get<double>();
    }
    json.at("best_epoch").get_to(state.best_epoch);
    json.at("classes").get_to(state.classes);
    json.at("height").get_to(state.height);
    json.at("width").get_to(state.width);
    json.at("mean").get_to(state.mean);
    json.at("std").get_to(state.std);
    json.at("train_set_id").get_to(state.train_set_id);
    json.at("ranks").get_to(state.ranks);
    json.at("threads").get_to(state.threads);
    json.at("cpu_capability").get_to(state.cpu_capability);
    return state;
  } catch (const nlohmann::json::exception& error) {
    throw Error("cannot use '" + source + "'", error.what(),
                "use a checkpoint written by this program");
  }
}

}  // namespace lockstep::train
