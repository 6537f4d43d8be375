#include "base/option_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/config_file.hpp"
#include "error_text.hpp"
#include "lockstep/base/cli.hpp"

namespace lockstep {
namespace {

/// Another allowed value than the option has by default.
std::string other_value(const Option& option) {
  const std::string now = option_text(RunConfig{}, option);
  if (!option.words.empty()) {
    return option.words.front() == now ? option.words.back() : option.words.front();
  }
  if (std::holds_alternative<Binding<bool>>(option.value)) {
    return now == "true" ? "false" : "true";
  }
  if (std::holds_alternative<Binding<std::vector<double>>>(option.value)) {
    return "0.1, 0.2, 0.3";
  }
  if (std::holds_alternative<Binding<std::string>>(option.value)) {
    return "some where";
  }
  if (std::holds_alternative<Binding<double>>(option.value)) {
    return now == "0.5" ? "0.25" : "0.5";
  }
  return now == "7" ? "8" : "7";
}

class EveryOption : public testing::TestWithParam<Option> {};

TEST_P(EveryOption, HasAHelpTextAndOneName) {
  const Option& option = GetParam();
  EXPECT_FALSE(option.help.empty());
  EXPECT_FALSE(option.placeholder.empty());
  EXPECT_EQ(find_option(option.name())->key, option.key);
  EXPECT_EQ(std::count_if(option_table().begin(), option_table().end(),
                          [&](const Option& o) { return o.name() == option.name(); }),
            1);
}

TEST_P(EveryOption, ReadsItsOwnDefaultBack) {
  const Option& option = GetParam();
  const RunConfig defaults;
  RunConfig config;
  set_option(config, option, other_value(option), "x");
  ASSERT_NE(option_text(config, option), option_text(defaults, option));
  set_option(config, option, option_text(defaults, option), "x");
  EXPECT_EQ(to_text(config), to_text(defaults));
}

TEST_P(EveryOption, ChangesTextHashAndThatFieldAlone) {
  const Option& option = GetParam();
  RunConfig config;
  set_option(config, option, other_value(option), "x");
  EXPECT_NE(config_hash(config), config_hash(RunConfig{}));
  for (const Option& other : option_table()) {
    if (other.name() != option.name()) {
      EXPECT_EQ(option_text(config, other), option_text(RunConfig{}, other)) << other.name();
    }
  }
  RunConfig read;
  std::map<std::string, std::string> origin;
  apply_assignments(read_config_text(to_text(config), "saved"), {}, read, origin);
  EXPECT_EQ(to_text(read), to_text(config));
  apply_assignments({{&option, other_value(option), false, kCommandLineOrigin}}, {}, read = {},
                    origin);
  EXPECT_EQ(to_text(read), to_text(config));
}

TEST_P(EveryOption, RefusesWhatItDoesNotAllow) {
  const Option& option = GetParam();
  RunConfig config;
  const auto refused = [&](const std::string& text) {
    return error_text([&] { set_option(config, option, text, option.name()); })
        .starts_with(option.name() + ": ");
  };
  const bool text_kind = std::holds_alternative<Binding<std::string>>(option.value);
  if (!text_kind) {
    EXPECT_TRUE(refused("word"));
    EXPECT_TRUE(refused("1;5"));
  } else if (!option.words.empty()) {
    EXPECT_TRUE(refused("no such word"));
  }
  const bool whole = std::holds_alternative<Binding<std::int64_t>>(option.value);
  const bool real = std::holds_alternative<Binding<double>>(option.value) ||
                    std::holds_alternative<Binding<std::vector<double>>>(option.value);
  if (whole || real) {
    ASSERT_TRUE(std::isfinite(option.range.low)) << "a number without a lower bound";
    EXPECT_FALSE(option.range.text().empty());
    const auto spell = [&](double value) {
      RunConfig scratch;
      scratch.optim.lr = value;
      return option_text(scratch, *find_option("optim.lr"));
    };
    EXPECT_TRUE(refused(spell(option.range.low - 1)));
    EXPECT_EQ(refused(spell(option.range.low)), option.range.low_open);
    if (std::isfinite(option.range.high)) {
      EXPECT_TRUE(refused(spell(option.range.high + 1)));
      EXPECT_EQ(refused(spell(option.range.high)), option.range.high_open);
    }
  } else if (std::holds_alternative<Binding<std::uint64_t>>(option.value)) {
    EXPECT_TRUE(refused("-1"));
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryOption, testing::ValuesIn(option_table()),
                         [](const auto& test) {
                           return test.param.section + "_" + test.param.key;
                         });

// Counts the fields of an aggregate by how many initialisers it takes.
struct AnyValue {
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor): stands for any initialiser
};

template <typename T, typename... Fields>
constexpr std::size_t field_count() {
  if constexpr (requires { T{Fields{}..., AnyValue{}}; }) {
    return field_count<T, Fields..., AnyValue>();
  } else {
    return sizeof...(Fields);
  }
}

TEST(OptionTable, HasEveryFieldOfTheConfig) {
  using C = RunConfig;
  const std::size_t fields =
      field_count<C::Run>() + field_count<C::Data>() + field_count<C::Augment>() +
      field_count<C::Model>() + field_count<C::Train>() + field_count<C::Optim>() +
      field_count<C::Schedule>() + field_count<C::Checkpoint>() + field_count<C::Comm>() +
      field_count<C::Record>() + field_count<C::Fault>();
  EXPECT_EQ(field_count<C::Checkpoint>(), 3U);
  EXPECT_EQ(option_table().size(), fields);
  EXPECT_EQ(option_sections().size(), field_count<C>());
  std::set<const void*> places;
  RunConfig config;
  for (const Option& option : option_table()) {
    std::visit([&](const auto& binding) { places.insert(&binding.ref(config)); }, option.value);
  }
  EXPECT_EQ(places.size(), fields) << "two options are bound to one field";
}

TEST(OptionTable, RolesSayWhatIsPartOfAModelAndWhatOfAMachine) {
  const auto keys = [](OptionRole role) {
    std::set<std::string> names;
    for (const Option& option : option_table()) {
      if (option.role == role) {
        names.insert(option.name());
      }
    }
    return names;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(keys(OptionRole::kNetwork),
            (Names{"model.name", "model.stem", "model.width", "model.dropout", "model.init",
                   "model.bn_momentum", "model.freeze", "fault.unused_parameter"}));
  EXPECT_EQ(keys(OptionRole::kNumerics),
            (Names{"run.dtype", "augment.mean", "augment.std", "model.memory_format"}));
  EXPECT_EQ(keys(OptionRole::kMachine),
            (Names{"run.device", "run.deterministic", "run.threads", "run.log_level",
                   "data.threads", "data.prefetch", "comm.timeout", "fault.point", "fault.rank",
                   "fault.action", "fault.step", "fault.seconds"}));
  EXPECT_EQ(keys(OptionRole::kInference), (Names{"train.eval_batch_size"}));
  EXPECT_EQ(keys(OptionRole::kScoring), (Names{"data.test"}));
}

TEST(OptionTable, HidesOnlyTheSectionsForTests) {
  for (const Option& option : option_table()) {
    EXPECT_EQ(option.hidden, option.section == "record" || option.section == "fault");
  }
}

}  // namespace
}  // namespace lockstep
