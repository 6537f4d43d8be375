#include "grouped_optimizer.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "lockstep/base/check.hpp"

namespace lockstep::optim {
namespace {

/// Counts what does not fit and words the first few.
class Mismatches {
 public:
  void note(const std::string& what) {
    constexpr int kShown = 5;
    if (count_++ < kShown) text_ += (text_.empty() ? "" : "; ") + what;
  }
  [[nodiscard]] bool none() const { return count_ == 0; }
  [[nodiscard]] std::string text() const {
    return std::to_string(count_) + (count_ == 1 ? " mismatch: " : " mismatches: ") + text_;
  }

 private:
  int count_ = 0;
  std::string text_;
};

/// "Float [5, 7]".
std::string kind_of(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.scalar_type() << ' ' << tensor.sizes();
  return text.str();
}

}  // namespace

GroupedOptimizer::GroupedOptimizer(const OptimizerOptions& options,
                                   const std::vector<NamedParameter>& parameters,
                                   std::vector<std::string> slots, std::string optional)
    : slots_(std::move(slots)), optional_(std::move(optional)) {
  for (auto& group : make_groups(options, parameters)) {
    SlotTensors tensors;
    tensors.reserve(slots_.size());
    for (std::size_t i = 0; i < slots_.size(); ++i) tensors.push_back(group.make_state());
    groups_.push_back({std::move(group), std::move(tensors)});
  }
}

void GroupedOptimizer::step(double lr) {
  const at::NoGradGuard no_grad;
  ++steps_;
  for (const GroupState& each : groups_) {
    update(each.group, each.group.gradients(), each.slots, lr * each.group.lr_scale);
  }
}

std::vector<std::pair<std::string, at::Tensor>> GroupedOptimizer::state() const {
  std::vector<std::pair<std::string, at::Tensor>> all;
  for (const GroupState& each : groups_) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      append_state(each.group, slots_[i], each.slots[i], all);
    }
  }
  return all;
}

void GroupedOptimizer::load(const std::vector<std::pair<std::string, at::Tensor>>& state,
                            std::int64_t steps) {
  Mismatches mismatches;
  std::map<std::string, at::Tensor> given;
  for (const auto& [name, tensor] : state) {
    if (!given.emplace(name, tensor).second) mismatches.note(name + " is there twice");
  }
  const auto is_optional = [&](const std::string& name) {
    return !optional_.empty() && name.starts_with(optional_ + ".");
  };
  const bool has_optional = std::any_of(
      state.begin(), state.end(), [&](const auto& entry) { return is_optional(entry.first); });
  if (std::find(slots_.begin(), slots_.end(), optional_) == slots_.end()) {
    std::erase_if(given, [&](const auto& entry) { return is_optional(entry.first); });
  }
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  // made when all of them fit
  for (const auto& [name, target] : this->state()) {
    const auto found = given.find(name);
    if (found == given.end() && is_optional(name) && !has_optional) {
      copies.emplace_back(target, at::zeros_like(target));
      continue;
    }
    if (found == given.end()) {
      mismatches.note(name + " is missing");
      continue;
    }
    const at::Tensor& source = found->second;
    if (source.sizes() == target.sizes() && source.scalar_type() == target.scalar_type()) {
      copies.emplace_back(target, source);
    } else {
      mismatches.note(name + " is " + kind_of(source) + ", the optimizer's " + kind_of(target));
    }
    given.erase(found);
  }
  for (const auto& [name, tensor] : given) mismatches.note(name + " is not in the optimizer");
  if (steps < 0) mismatches.note("the count of steps is " + std::to_string(steps));
  require(mismatches.none(), "the saved state does not fit the optimizer", mismatches.text(),
          "use the model and the optim.name that it was saved from");
  const at::NoGradGuard no_grad;
  for (const auto& [target, source] : copies) target.copy_(source);
  steps_ = steps;
}

}  // namespace lockstep::optim
