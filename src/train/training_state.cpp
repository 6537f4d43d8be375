#include "training_state.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "lockstep/base/check.hpp"
#include "lockstep/base/json_text.hpp"
#include "lockstep/data/image_resize.hpp"

namespace lockstep::train {
namespace {

[[noreturn]] void unusable(const std::string& source, const std::string& why) {
  throw Error("cannot use '" + source + "'", why, "use a checkpoint written by this program");
}

/// The whole number at `key`. (The JSON library would round 2.5 down and wrap what is too large.)
std::int64_t count_at(const nlohmann::json& json, const char* key, std::int64_t least,
                      const std::string& source) {
  const auto& value = json.at(key);
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kLargest ||
      value.get<std::int64_t>() < least) {
    unusable(source, std::string(key) + " is no whole number from " + std::to_string(least));
  }
  return value.get<std::int64_t>();
}

std::array<double, 3> channels_at(const nlohmann::json& json, const char* key,
                                  const std::string& source) {
  if (json.at(key).size() != 3) {
    unusable(source, std::string(key) + " has not three values");
  }
  const auto values = json.at(key).get<std::array<double, 3>>();
  if (!std::all_of(values.begin(), values.end(), [](double v) { return v >= 0 && v <= 1; })) {
    unusable(source, std::string(key) + " is not within 0 and 1");
  }
  return values;
}

EpochSums sums_at(const nlohmann::json& json, const char* key, const std::string& source) {
  const auto& part = json.at(key);
  EpochSums sums;
  sums.updates = count_at(part, "updates", 0, source);
  sums.samples = count_at(part, "samples", 0, source);
  sums.correct = count_at(part, "correct", 0, source);
  part.at("loss").get_to(sums.loss);
  part.at("grad_norm").get_to(sums.grad_norm);
  part.at("learning_rate").get_to(sums.learning_rate);
  part.at("validated").get_to(sums.validated);
  return sums;
}

nlohmann::ordered_json schedule_json(const optim::ScheduleState& state) {
  nlohmann::ordered_json json = {
      {"reductions", state.reductions}, {"bad_epochs", state.bad_epochs}, {"best", nullptr}};
  if (state.best) {
    json["best"] = *state.best;
  }
  return json;
}

optim::ScheduleState schedule_from(const nlohmann::json& json, const std::string& source) {
  optim::ScheduleState state;
  state.reductions = count_at(json, "reductions", 0, source);
  state.bad_epochs = count_at(json, "bad_epochs", 0, source);
  if (!json.at("best").is_null()) {
    state.best = json.at("best").get<double>();
  }
  return state;
}

data::PackedFit packed_from(const nlohmann::json& json, const std::string& source) {
  data::PackedFit packed;
  json.at("fit").get_to(packed.fit);
  if (packed.fit != data::kNoFit && !data::fit_from_name(packed.fit)) {
    unusable(source, "fit is none of crop, pad, stretch and none");
  }
  const auto& colour = json.at("background");
  if (colour.size() != packed.background.size()) {
    unusable(source, "background has not three values");
  }
  for (std::size_t c = 0; c < packed.background.size(); ++c) {
    constexpr std::uint64_t kLargest = std::numeric_limits<std::uint8_t>::max();
    if (!colour[c].is_number_unsigned() || colour[c].get<std::uint64_t>() > kLargest) {
      unusable(source, "background is no colour of whole numbers from 0 to 255");
    }
    packed.background[c] = colour[c].get<std::uint8_t>();
  }
  return packed;
}

}  // namespace

std::string state_to_json(const TrainingState& state) {
  nlohmann::ordered_json json = {
      {"epoch", state.epoch},
      {"update", state.update},
      {"running",
       {{"updates", state.running.updates},
        {"samples", state.running.samples},
        {"correct", state.running.correct},
        {"loss", state.running.loss},
        {"grad_norm", state.running.grad_norm},
        {"learning_rate", state.running.learning_rate},
        {"validated", state.running.validated}}},
      {"best_score", nullptr},
      {"best_epoch", state.best_epoch},
      {"best_checkpoint", state.best_checkpoint},
      {"probe_loss", nullptr},
      {"schedule", schedule_json(state.schedule)},
      {"classes", state.classes},
      {"height", state.height},
      {"width", state.width},
      {"mean", state.mean},
      {"std", state.std},
      {"fit", state.packed.fit},
      {"background", state.packed.background},
      {"train_set_id", state.train_set_id},
      {"val_set_id", state.val_set_id},
      {"train_samples", state.train_samples},
      {"ranks", state.ranks},
      {"threads", state.threads},
      {"cpu_capability", state.cpu_capability},
  };
  if (state.best_score) {
    json["best_score"] = *state.best_score;
  }
  if (state.probe_loss) {
    json["probe_loss"] = *state.probe_loss;
  }
  return json.dump(2) + "\n";
}

TrainingState state_from_json(const std::string& text, const std::string& source) {
  if (const std::string fault = json_fault(text); !fault.empty()) {
    unusable(source, fault);
  }
  try {
    const auto json = nlohmann::json::parse(text);
    TrainingState state;
    state.epoch = count_at(json, "epoch", 0, source);
    state.update = count_at(json, "update", 0, source);
    state.running = sums_at(json, "running", source);
    if (!json.at("best_score").is_null()) {
      state.best_score = json.at("best_score").get<double>();
    }
    state.best_epoch = count_at(json, "best_epoch", 0, source);
    json.at("best_checkpoint").get_to(state.best_checkpoint);
    if (!json.at("probe_loss").is_null()) {
      state.probe_loss = json.at("probe_loss").get<double>();
    }
    state.schedule = schedule_from(json.at("schedule"), source);
    json.at("classes").get_to(state.classes);
    state.height = count_at(json, "height", 1, source);
    state.width = count_at(json, "width", 1, source);
    state.mean = channels_at(json, "mean", source);
    state.std = channels_at(json, "std", source);
    state.packed = packed_from(json, source);
    json.at("train_set_id").get_to(state.train_set_id);
    json.at("val_set_id").get_to(state.val_set_id);
    state.train_samples = count_at(json, "train_samples", 0, source);
    state.ranks = count_at(json, "ranks", 1, source);
    state.threads = count_at(json, "threads", 1, source);
    json.at("cpu_capability").get_to(state.cpu_capability);
    return state;
  } catch (const nlohmann::json::exception& error) {
    unusable(source, error.what());
  }
}

}  // namespace lockstep::train
