#include <gtest/gtest.h>

#include "lockstep/base/check.hpp"
#include "lockstep/base/restricted_pickle.hpp"
#include "support/pickles.hpp"

namespace lockstep {
namespace {

using namespace pickles;
using Kind = PickleValue::Kind;

/// Names as a reader of arrays allows them.
PickleRules some_rules() {
  return {.mentioned = {"numpy.ndarray"},
          .called = {"numpy.core.multiarray._reconstruct", "numpy.dtype"}};
}

/// The value of a pickle's text, which must be one.
struct Read {
  explicit Read(const std::string& text, const PickleRules& rules = {})
      : pickle(to_bytes(text), "it", rules), value(pickle.root()) {}
  Pickle pickle;
  const PickleValue& value;
};

/// What is said of it; "" when it is read.
std::string refusal(const std::string& text, const PickleRules& rules = some_rules()) {
  try {
    const Pickle pickle(to_bytes(text), "it", rules);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kFailed);
    return error.what();
  }
  return {};
}

TEST(Pickle, PlainValues) {
  EXPECT_EQ(Read("N.").value.kind, Kind::kNone);
  const Read yes("\x80\x02\x88.");
  EXPECT_EQ(yes.value.kind, Kind::kBool);
  EXPECT_EQ(yes.value.integer, 1);
  EXPECT_EQ(Read("\x89.").value.integer, 0);
  EXPECT_EQ(Read("K\xff.").value.integer, 255);
  EXPECT_EQ(Read("M\x10\x27.").value.integer, 10'000);
  EXPECT_EQ(Read("J\xff\xff\xff\xff.").value.integer, -1);
  EXPECT_EQ(Read("J\x01\x02\x03\x04.").value.integer, 0x04030201);
  EXPECT_EQ(Read("\x8a\x00."s).value.integer, 0);
  EXPECT_EQ(Read("\x8a\x01\xfe.").value.integer, -2);
  EXPECT_EQ(Read("\x8a\x02\xfe\x00."s).value.integer, 254);
  EXPECT_EQ(Read("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."s).value.integer, INT64_MIN);
  EXPECT_EQ(Read("G\x3f\xf8\x00\x00\x00\x00\x00\x00."s).value.real, 1.5);
}

TEST(Pickle, BytesAndTexts) {
  const std::string long_text(300, 'x');
  for (const std::string& made : {string2("abc"), bytes3("abc"), encoded("abc"),
                                  "\x8e" + little(3, 8) + "abc", "\x96" + little(3, 8) + "abc"}) {
    const Read read(made + ".");
    EXPECT_EQ(read.value.kind, Kind::kBytes);
    EXPECT_EQ(read.value.text, "abc");
  }
  EXPECT_EQ(Read(string2(long_text) + ".").value.text, long_text);
  EXPECT_EQ(Read(bytes3(long_text) + ".").value.text, long_text);
  for (const std::string& made :
       {unicode("\xC3\xA9"), short_unicode("\xC3\xA9"), "\x8d" + little(2, 8) + "\xC3\xA9"}) {
    const Read read(made + ".");
    EXPECT_EQ(read.value.kind, Kind::kText);
    EXPECT_EQ(read.value.text, "\xC3\xA9");
  }
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(Read(encoded(all) + ".").value.text, all);
  EXPECT_EQ(Read(global("__builtin__", "bytes") + ")R.").value.kind, Kind::kBytes);
  EXPECT_EQ(Read(short_unicode("builtins") + short_unicode("bytes") + "\x93)R.").value.text, "");
}

TEST(Pickle, Containers) {
  const Read list(
      "](K\x01K\x02"
      "eK\x03"
      "a.");
  ASSERT_EQ(list.value.kind, Kind::kList);
  ASSERT_EQ(list.value.items.size(), 3U);
  EXPECT_EQ(list.value.items[2]->integer, 3);
  EXPECT_EQ(Read(").").value.items.size(), 0U);
  EXPECT_EQ(Read("NNN\x87.").value.items.size(), 3U);
  const Read tuple("K\x01K\x02\x86.");
  EXPECT_EQ(tuple.value.kind, Kind::kTuple);
  EXPECT_EQ(tuple.value.items[0]->integer, 1);
  EXPECT_EQ(Read("(K\x01K\x02K\x03K\x04t.").value.items[3]->integer, 4);
  const Read dict(
      "}U\x01"
      "aK\x01sU\x01"
      "bK\x02s(X\x01\x00\x00\x00"
      "cK\x03u."s);
  ASSERT_EQ(dict.value.kind, Kind::kDict);
  EXPECT_EQ(dict.pickle.at(dict.value, "a").integer, 1);
  EXPECT_EQ(dict.pickle.at(dict.value, "b").integer, 2);
  EXPECT_EQ(dict.pickle.at(dict.value, "c").integer, 3);
  EXPECT_EQ(dict.pickle.find(dict.value, "d"), nullptr);
  EXPECT_THROW((void)dict.pickle.at(dict.value, "d"), Error);
  EXPECT_THROW((void)list.pickle.find(list.value, "a"), Error);
  const Read twice(
      "}U\x01"
      "aK\x01sU\x01"
      "aK\x02s.");
  EXPECT_THROW((void)twice.pickle.at(twice.value, "a"), Error);
}

TEST(Pickle, ValuesAreRecalled) {
  const Read put(
      "](U\x01"
      "aq\x05h\x05r\x01\x02\x03\x04j\x01\x02\x03\x04"
      "e.");
  ASSERT_EQ(put.value.items.size(), 3U);
  EXPECT_EQ(put.value.items[0], put.value.items[2]);
  const Read memo(
      "\x80\x04](\x8c\x01"
      "a\x94h\x00"
      "e."s);
  ASSERT_EQ(memo.value.items.size(), 2U);
  EXPECT_EQ(memo.value.items[0], memo.value.items[1]);
  // A list within itself: no reader of it goes deeper than it has to.
  const Read circle(
      "]q\x00h\x00"
      "a."s);
  EXPECT_EQ(circle.value.items[0], &circle.value);
}

TEST(Pickle, OpcodesThatPlainDataHasNotAreNamedWithTheirOffset) {
  const std::vector<std::pair<char, std::string>> refused{{'0', "POP"},
                                                          {'1', "POP_MARK"},
                                                          {'2', "DUP"},
                                                          {'F', "FLOAT"},
                                                          {'I', "INT"},
                                                          {'L', "LONG"},
                                                          {'P', "PERSID"},
                                                          {'Q', "BINPERSID"},
                                                          {'S', "STRING"},
                                                          {'V', "UNICODE"},
                                                          {'d', "DICT"},
                                                          {'g', "GET"},
                                                          {'i', "INST"},
                                                          {'l', "LIST"},
                                                          {'o', "OBJ"},
                                                          {'p', "PUT"},
                                                          {'\x82', "EXT1"},
                                                          {'\x83', "EXT2"},
                                                          {'\x84', "EXT4"},
                                                          {'\x8b', "LONG4"},
                                                          {'\x8f', "EMPTY_SET"},
                                                          {'\x90', "ADDITEMS"},
                                                          {'\x91', "FROZENSET"},
                                                          {'\x92', "NEWOBJ_EX"},
                                                          {'\x97', "NEXT_BUFFER"},
                                                          {'\x98', "READONLY_BUFFER"},
                                                          {'\0', "an unknown opcode"},
                                                          {'\xff', "an unknown opcode"}};
  for (const auto& [opcode, name] : refused) {
    const std::string said = refusal("\x80\x02NN)" + std::string(1, opcode) + ".");
    EXPECT_NE(said.find(name + " at offset 5: plain data has no such opcode"), std::string::npos)
        << name << ": " << said;
  }
}

TEST(Pickle, NothingButTheNamesOfTheRulesIsMentioned) {
  for (const auto& [module, name] :
       {std::pair("os", "system"), std::pair("builtins", "eval"), std::pair("numpy", "load"),
        std::pair("numpy.core", "multiarray._reconstruc"), std::pair("numpy", "dtype\x01"),
        std::pair("_codecs", "decode"), std::pair("builtins", "bytearray")}) {
    const std::string by_line = refusal("\x80\x02" + global(module, name) + "U\x02id\x85R.");
    EXPECT_NE(by_line.find("GLOBAL at offset 2: the name"), std::string::npos) << by_line;
    const std::string by_stack =
        refusal("\x80\x04" + short_unicode(module) + short_unicode(name) + "\x93.");
    EXPECT_NE(by_stack.find("STACK_GLOBAL at offset"), std::string::npos) << by_stack;
    EXPECT_NE(by_stack.find("is not allowed"), std::string::npos) << by_stack;
  }
  EXPECT_NE(refusal(global("numpy", "ndarray") + ".", PickleRules{}), "");
}

TEST(Pickle, NothingButTheCallsOfTheRulesIsMade) {
  EXPECT_NE(refusal(global("numpy", "ndarray") + ")R.").find("a call of numpy.ndarray"),
            std::string::npos);
  EXPECT_NE(refusal("U\x06"
                    "system)R.")
                .find("what is called has no name"),
            std::string::npos);
  EXPECT_NE(refusal(global("numpy", "dtype") + "]R.").find("REDUCE"), std::string::npos);
  EXPECT_NE(refusal(global("builtins", "bytes") + "K\x09\x85R.").find("with arguments"),
            std::string::npos);
  const std::string encode = global("_codecs", "encode");
  for (const std::string& arguments :
       {unicode("a") + unicode("rot13") + "\x86", unicode("a") + "\x85", std::string(")"),
        string2("a") + unicode("latin1") + "\x86",
        unicode("\xE2\x82\xAC") + unicode("latin1") + "\x86"}) {
    EXPECT_NE(refusal(encode + arguments + "R.").find("REDUCE at offset"), std::string::npos);
  }
  const std::string made = global("numpy", "dtype") + "U\x02u1\x85R";
  EXPECT_EQ(refusal(made + "."), "");
  EXPECT_EQ(refusal(made + "Nb."), "");
  EXPECT_NE(refusal(made + "NbNb.").find("has a state already"), std::string::npos);
  for (const char* plain : {"]Nb.", "}Nb.", "Nb."}) {
    EXPECT_NE(refusal(plain).find("no object to give a state to"), std::string::npos) << plain;
  }
}

// cls.__new__(cls, ...) is described as cls(...) is.
TEST(Pickle, ANewObjectIsDescribed) {
  const Read read(global("numpy", "dtype") + "U\x02u1\x85\x81.", some_rules());
  EXPECT_EQ(read.value.kind, Kind::kObject);
  EXPECT_EQ(read.value.text, "numpy.dtype");
  EXPECT_TRUE(read.value.arguments->items.at(0)->is("u1"));
  const std::string said = refusal(global("numpy", "ndarray") + ")\x81.");
  EXPECT_NE(said.find("NEWOBJ at offset 16: a call of numpy.ndarray is not allowed"),
            std::string::npos)
      << said;
}

const PickleRules kDicts{.dicts = {"collections.OrderedDict"}};

TEST(Pickle, ADictThatACallMakes) {
  const std::string pairs = unicode("a") + int1(1) + unicode("b") + int1(2);
  // Python 3, with attributes of the dict; Python 2.
  for (const std::string& text :
       {ordered_dict() + ")R(" + pairs + "u}" + unicode("_metadata") + "Nsb.",
        ordered_dict() + "](](" + unicode("a") + int1(1) + "e](" + unicode("b") + int1(2) +
            "ee\x85R}" + unicode("_metadata") + "Nsb."}) {
    const Read read(text, kDicts);
    ASSERT_EQ(read.value.kind, Kind::kDict);
    EXPECT_EQ(read.value.text, "collections.OrderedDict");
    ASSERT_EQ(read.value.items.size(), 4U);
    EXPECT_EQ(read.pickle.at(read.value, "a").integer, 1);
    EXPECT_EQ(read.pickle.at(read.value, "b").integer, 2);
    EXPECT_EQ(read.pickle.at(*read.value.state, "_metadata").kind, Kind::kNone);
  }
  EXPECT_NE(refusal(ordered_dict() + ")R."), "") << "not without a rule";
  for (const char* arguments : {"N\x85", "]]\x86", "]Na\x85", "]](Nea\x85"}) {
    const std::string said = refusal(ordered_dict() + arguments + "R.", kDicts);
    EXPECT_NE(said.find("something else than a list of pairs"), std::string::npos) << said;
  }
  EXPECT_NE(refusal(ordered_dict() + ")RNbNb.", kDicts).find("a state already"), std::string::npos);
}

TEST(Pickle, WhatLiesOutsideIsNamedByItsId) {
  const PickleRules rules{.persistent_ids = true};
  const Read read(
      "(U\x01"
      "aQU\x01"
      "bQt.",
      rules);
  ASSERT_EQ(read.pickle.persistent().size(), 2U);
  EXPECT_EQ(read.pickle.persistent()[1], read.value.items[1]);
  EXPECT_EQ(read.value.items[0]->kind, Kind::kPersistent);
  EXPECT_TRUE(read.value.items[0]->arguments->is("a"));
  EXPECT_NE(refusal("Q.", rules).find("the stack is empty"), std::string::npos);
}

TEST(Pickle, SeveralInARow) {
  const std::string bytes = "--" + proto(2) + "K\x07.\x80\x04\x8c\x01x\x94.N.rest";
  const Pickle first(bytes, 2, "it", {});
  EXPECT_EQ(first.root().integer, 7);
  const Pickle second(bytes, first.end(), "it", {});
  EXPECT_EQ(second.root().text, "x");
  const Pickle third(bytes, second.end(), "it", {});
  EXPECT_EQ(third.root().kind, Kind::kNone);
  EXPECT_EQ(bytes.substr(third.end()), "rest");
  try {
    const Pickle beyond(bytes, third.end(), "it", {.hint = "do this"});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "cannot read the pickle 'it' (LONG_BINPUT at offset 16: it goes beyond the end of the "
        "file) - do this");
  }
  EXPECT_THROW(Pickle(bytes, bytes.size(), "it", {}), Error);
}

TEST(Pickle, WhatIsWrongWithTheStackIsTold) {
  for (const auto& [text, word] : std::vector<std::pair<std::string, std::string>>{
           {"", "the end at offset 0"},
           {".", "does not hold one value"},
           {"NN.", "does not hold one value"},
           {"(N.", "does not hold one value"},
           {"N", "ends before the pickle does"},
           {"N.N", "more bytes follow"},
           {"e.", "no mark"},
           {"(t)u.", "no mark"},
           {"N(e.", "no list to append to"},
           {"](a.", "the stack is empty"},
           {"}(Nu.", "a key has no value"},
           {"](Nu.", "no dict to add to"},
           {"N\x86.", "the stack is empty"},
           {"h\x01.", "recalls what was not kept"},
           {"q\x01.", "the stack is empty"},
           {"R.", "the stack is empty"},
           {"NN\x93.", "finds no name"},
           {"\x80\x06N.", "newer than 5"},
           {"N\x80\x02.", "in the midst"},
           {"K", "beyond the end"},
           {"T\xff\xff\xff\xff.", "beyond the end"},
           {"\x8e\xff\xff\xff\xff\xff\xff\xff\xff.", "beyond the end"},
           {"\x95\x02\x00\x00\x00\x00\x00\x00\x00N."s, ""},
           {"\x95\x03\x00\x00\x00\x00\x00\x00\x00N."s, "beyond the end"},
           {"\x8a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01.", "more than 64 bits"},
           {"X\x01\x00\x00\x00\xff."s, "not UTF-8"},
           {"c" + std::string(300, 'a'), "a name is too long"},
       }) {
    const std::string said = refusal(text);
    EXPECT_TRUE(word.empty() ? said.empty() : said.find(word) != std::string::npos)
        << testing::PrintToString(text) << ": " << said;
  }
}

}  // namespace
}  // namespace lockstep
