#pragma once

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <fstream>
#include <string>
#include <string_view>

#include "lockstep/base/check.hpp"
#include "lockstep/train/checkpoint.hpp"
#include "unit/base/temp_folder.hpp"

namespace lockstep::train {

/// Parameters and buffers of every kind a checkpoint holds: channels_last, one dimension, int64.
class SmallNetwork : public model::Network {
 public:
  explicit SmallNetwork(double phase = 0) {
    const auto values = [&](const std::vector<std::int64_t>& shape) {
      return (at::arange(c10::multiply_integers(shape), at::kFloat) + phase).sin().view(shape);
    };
    register_parameter("conv", values({4, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast));
    register_parameter("weight", values({5, 7}));
    register_parameter("bias", values({5}));
    register_buffer("running_mean", values({4}));
    register_buffer("batches", at::scalar_tensor(7, at::kLong));
  }
  at::Tensor forward(at::Tensor x, const model::StepContext& /*context*/) override { return x; }

  /// A parameter or buffer, to read or to write in place.
  [[nodiscard]] at::Tensor at(const std::string& name) const {
    const auto parameters = named_parameters();
    return parameters.contains(name) ? parameters[name].detach() : named_buffers()[name];
  }
};

inline std::vector<optim::NamedParameter> parameters_of(const model::Network& network) {
  std::vector<optim::NamedParameter> parameters;
  for (const auto& item : network.named_parameters()) {
    parameters.emplace_back(item.key(), item.value());
  }
  return parameters;
}

inline TrainingState state_after(std::int64_t epoch, std::int64_t update) {
  TrainingState state;
  state.epoch = epoch;
  state.update = update;
  state.best_score = 0.1 + 0.2;  // no short decimal
  state.best_epoch = 1;
  state.schedule.reductions = 2;
  state.schedule.bad_epochs = 1;
  state.schedule.best = 0.7 + 0.1;
  state.classes = {"cat", "d\"og", "\xC3\xA9t\xC3\xA9"};
  state.height = 24;
  state.width = 32;
  state.mean = {0.1, 0.2, 0.3};
  state.std = {0.4, 0.5, 0.6};
  state.packed = {"pad", {7, 0, 255}};
  state.train_set_id = "0123abcd";
  state.val_set_id = "4567";
  state.train_samples = 54;
  state.ranks = 3;
  state.threads = 2;
  state.cpu_capability = "AVX2";
  return state;
}

/// What `call` throws as Error, or "(no error)". Another exception fails the test.
template <typename Call>
std::string failure(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

/// A message "problem (why) - what to do" that has `word`.
inline void expect_says(const std::string& message, std::string_view word) {
  EXPECT_NE(message.find(word), std::string::npos) << "'" << word << "' is missing: " << message;
  EXPECT_NE(message.find(" ("), std::string::npos) << message;
  EXPECT_NE(message.find(") - "), std::string::npos) << message;
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline void flip_bit(const std::string& path) {
  std::string content = content_of(path);
  ASSERT_FALSE(content.empty()) << path;
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  put(path, content);
}

/// Replaces the one place of `from` in a file.
inline void replace_in(const std::string& path, const std::string& from, const std::string& to) {
  std::string content = content_of(path);
  const std::size_t place = content.find(from);
  ASSERT_NE(place, std::string::npos) << from << " in " << content;
  put(path, content.replace(place, from.size(), to));
}

}  // namespace lockstep::train
