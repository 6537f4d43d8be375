// An optimizer goes on from saved state as if it had never stopped, or says what does not fit.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "lockstep/base/check.hpp"
#include "small_parameters.hpp"

namespace lockstep::optim {
namespace {

using State = std::vector<std::pair<std::string, at::Tensor>>;

OptimizerOptions with(const std::string& name, double momentum) {
  OptimizerOptions options;
  options.name = name;
  options.momentum = momentum;
  options.weight_decay = 0.05;
  return options;
}

const std::vector<OptimizerOptions> kKinds{with("sgd", 0.9),     with("sgd", 0),
                                           with("adamw", 0),     with("adam", 0),
                                           with("rmsprop", 0.9), with("rmsprop", 0)};

void take_steps(Optimizer& optimizer, const std::vector<NamedParameter>& parameters, int from,
                int to) {
  for (int step = from; step < to; ++step) {
    set_gradients(parameters, step);
    optimizer.step(0.01 / (1 + step));
  }
}

/// The same parameters in memory of their own.
std::vector<NamedParameter> copies_of(const std::vector<NamedParameter>& parameters) {
  std::vector<NamedParameter> copies;
  copies.reserve(parameters.size());
  for (const auto& [name, p] : parameters) {
    copies.emplace_back(name, p.detach().clone().requires_grad_(true));
  }
  return copies;
}

/// As a file brings it: in memory of its own, in logical order.
State saved(const Optimizer& optimizer) {
  const State own = optimizer.state();
  State state;
  state.reserve(own.size());
  for (const auto& [name, tensor] : own) {
    state.emplace_back(name, tensor.clone(at::MemoryFormat::Contiguous));
  }
  return state;
}

TEST(OptimizerStateTest, GoesOnBitForBit) {
  for (const OptimizerOptions& options : kKinds) {
    for (const auto type : {at::kDouble, at::kFloat}) {
      SCOPED_TRACE(options.name + (options.momentum > 0 ? " with momentum" : ""));
      const auto parameters = make_parameters(type);
      const auto optimizer = make_optimizer(options, parameters);
      take_steps(*optimizer, parameters, 0, 5);

      const auto others = copies_of(parameters);
      const auto other = make_optimizer(options, others);
      other->load(saved(*optimizer), optimizer->steps());
      EXPECT_EQ(other->steps(), 5);
      take_steps(*optimizer, parameters, 5, 12);
      take_steps(*other, others, 5, 12);
      for (std::size_t i = 0; i < others.size(); ++i) {
        EXPECT_TRUE(at::equal(others[i].second, parameters[i].second)) << others[i].first;
      }
      const State mine = optimizer->state();
      const State theirs = other->state();
      ASSERT_EQ(theirs.size(), mine.size());
      for (std::size_t i = 0; i < mine.size(); ++i) {
        EXPECT_EQ(theirs[i].first, mine[i].first);
        EXPECT_TRUE(at::equal(theirs[i].second, mine[i].second)) << mine[i].first;
        EXPECT_EQ(theirs[i].second.strides(), mine[i].second.strides()) << mine[i].first;
      }
      EXPECT_EQ(other->steps(), 12);
    }
  }
}

// Without its state an optimizer with memory goes elsewhere: the test above can fail.
TEST(OptimizerStateTest, WithoutItTheStepsDiffer) {
  for (const OptimizerOptions& options : kKinds) {
    if (make_optimizer(options, make_parameters(at::kDouble))->state_tensors() == 0) continue;
    const auto parameters = make_parameters(at::kDouble);
    const auto optimizer = make_optimizer(options, parameters);
    take_steps(*optimizer, parameters, 0, 5);
    const auto others = copies_of(parameters);
    const auto other = make_optimizer(options, others);
    take_steps(*optimizer, parameters, 5, 6);
    take_steps(*other, others, 5, 6);
    EXPECT_FALSE(at::equal(others[0].second, parameters[0].second)) << options.name;
  }
}

// Momentum of zeros is what it begins with.
TEST(OptimizerStateTest, MomentumComesAndGoesWithItsOption) {
  for (const std::string name : {"sgd", "rmsprop"}) {
    OptimizerOptions with_it;
    with_it.name = name;
    with_it.momentum = 0.9;
    OptimizerOptions without = with_it;
    without.momentum = 0;
    const auto parameters = make_parameters(at::kDouble);
    const auto optimizer = make_optimizer(with_it, parameters);
    const auto plain = make_optimizer(without, parameters);
    const State zeros = saved(*optimizer);
    take_steps(*optimizer, parameters, 0, 3);

    ASSERT_NO_THROW(plain->load(saved(*optimizer), 3)) << name;
    EXPECT_EQ(plain->steps(), 3);
    ASSERT_NO_THROW(optimizer->load(saved(*plain), 5)) << name;
    EXPECT_EQ(optimizer->steps(), 5);
    const State now = optimizer->state();
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i].first.starts_with("momentum.")) {
        EXPECT_TRUE(at::equal(now[i].second, zeros[i].second)) << now[i].first;
      }
    }
    State part = saved(*make_optimizer(with_it, parameters));
    std::erase_if(part, [&](const auto& entry) {
      return entry.first == "momentum." + parameters.front().first;
    });
    EXPECT_THROW(optimizer->load(part, 5), Error) << "momentum of some parameters alone";
  }
}

class StrictLoad : public testing::Test {
 protected:
  StrictLoad() {
    take_steps(*optimizer_, parameters_, 0, 3);
    good_ = saved(*optimizer_);
  }

  /// The message that loading ends in; makes sure that a refusal has changed nothing.
  std::string refusal(const State& state, std::int64_t steps = 9) {
    try {
      optimizer_->load(state, steps);
    } catch (const Error& error) {
      const State now = saved(*optimizer_);
      for (std::size_t i = 0; i < good_.size(); ++i) {
        EXPECT_TRUE(at::equal(now[i].second, good_[i].second)) << good_[i].first;
      }
      EXPECT_EQ(optimizer_->steps(), 3);
      return error.what();
    }
    return "(no error)";
  }

  /// The good state with every tensor at its double, but for what `change` does to it.
  template <typename Change>
  State changed(Change change) const {
    State state;
    state.reserve(good_.size());
    for (const auto& [name, tensor] : good_) state.emplace_back(name, tensor * 2);
    change(state);
    return state;
  }

  std::vector<NamedParameter> parameters_ = make_parameters(at::kFloat);
  std::unique_ptr<Optimizer> optimizer_ = make_optimizer(with("adamw", 0), parameters_);
  State good_;
};

void expect_says(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << part << " is missing: " << message;
  EXPECT_EQ(message.rfind("the saved state does not fit the optimizer (", 0), 0U) << message;
}

TEST_F(StrictLoad, TakesTheSameInAnyOrder) {
  EXPECT_EQ(refusal(changed([](State& state) { std::swap(state.front(), state.back()); })),
            "(no error)");
  EXPECT_EQ(optimizer_->steps(), 9);
  EXPECT_TRUE(at::equal(optimizer_->state()[0].second, good_[0].second * 2));
}

TEST_F(StrictLoad, ANameOnOneSideAloneIsNamed) {
  expect_says(refusal(changed([](State& state) { state.erase(state.begin() + 1); })),
              "(1 mismatch: exp_avg.fc.weight is missing) - ");
  expect_says(refusal(changed(
                  [](State& state) { state.emplace_back("exp_avg.fc2.weight", at::zeros({2})); })),
              "1 mismatch: exp_avg.fc2.weight is not in the optimizer");
  expect_says(refusal(changed([](State& state) { state.push_back(state.front()); })),
              "1 mismatch: exp_avg.conv.weight is there twice");
}

TEST_F(StrictLoad, NothingIsConvertedButMemoryOrder) {
  expect_says(
      refusal(changed([](State& state) { state[1].second = state[1].second.to(at::kDouble); })),
      "exp_avg.fc.weight is Double [7, 11], the optimizer's Float [7, 11]");
  expect_says(refusal(changed([](State& state) { state[1].second = state[1].second.t(); })),
              "exp_avg.fc.weight is Float [11, 7], the optimizer's Float [7, 11]");
  expect_says(refusal(changed([](State& state) { state[4].second = at::zeros({1}); })),
              "exp_avg.fc.bias is Float [1]");
}

TEST_F(StrictLoad, TheFirstMismatchesAreShownAndAllCounted) {
  const std::string message = refusal({}, -1);
  expect_says(message, "7 mismatches: exp_avg.conv.weight is missing; exp_avg.fc.weight is");
  expect_says(message, "exp_avg.fc.bias is missing)");
  EXPECT_EQ(message.find("exp_avg_sq.fc.bias"), std::string::npos) << message;
  expect_says(refusal(good_, -1), "1 mismatch: the count of steps is -1");
}

}  // namespace
}  // namespace lockstep::optim
