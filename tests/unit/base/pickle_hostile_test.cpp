// Little input that asks for much memory or depth.
#include <gtest/gtest.h>

#include "lockstep/base/check.hpp"
#include "lockstep/base/restricted_pickle.hpp"
#include "support/pickles.hpp"

namespace lockstep {
namespace {

using namespace pickles;

const PickleRules kRules{.dicts = {"collections.OrderedDict"}, .persistent_ids = true};

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::string refusal(const std::string& text, std::size_t most_values) {
  PickleRules rules = kRules;
  rules.most_values = most_values;
  try {
    const Pickle pickle(to_bytes(text), "it", rules);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(HostilePickle, LittleInputMakesNoLargeMemory) {
  constexpr std::size_t kMost = 1000;
  const std::string large = unicode(std::string(100'000, 'x'));
  for (const auto& [text, word] : std::vector<std::pair<std::string, std::string>>{
           {"](" + repeated("N", kMost) + "e.", "too many values"},
           {"]q\x01(" + repeated("h\x01", kMost) + "e.", "too many values"},
           {repeated("(", 20'000), "nested too deeply"},
           {"N" + repeated("\x94", 10), "more values than there are"},
           // The same text is converted again and again.
           {global("_codecs", "encode") + "q\x01" + large + unicode("latin1") + "\x86q\x02R" +
                repeated("h\x01h\x02R", 300),
            "more text than there is"},
           // Dicts of the same pairs.
           {ordered_dict() + "](" + repeated("]q\x02(NNe", 100) + "e\x85q\x03R" +
                repeated(ordered_dict() + "h\x03R", 100),
            "too many values"},
       }) {
    const std::string said = refusal(text, kMost);
    EXPECT_NE(said.find(word), std::string::npos) << word << ": " << said;
  }
}

TEST(HostilePickle, DepthDoesNotMatter) {
  constexpr std::size_t kDeep = 200'000;
  EXPECT_EQ(refusal("N" + repeated("\x85", kDeep) + ".", 2 * kDeep), "");
}

}  // namespace
}  // namespace lockstep
