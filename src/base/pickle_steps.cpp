#include <algorithm>

#include "lockstep/base/utf8.hpp"
#include "pickle_reader.hpp"

namespace lockstep {
namespace {

constexpr std::uint64_t kLatestProtocol = 5;
constexpr std::size_t kDeepest = 10'000;  // marks within marks

/// The calls that are carried out.
constexpr std::string_view kEncode = "_codecs.encode";
constexpr std::string_view kBytes3 = "builtins.bytes";
constexpr std::string_view kBytes2 = "__builtin__.bytes";  // protocol 2 has Python 2's names

constexpr const char* kNoSuchOpcode = "plain data has no such opcode";

bool has(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool PickleReader::step_values(PickleOp op) {
  switch (op) {
    case PickleOp::kProto:
      require_that(start_ == begin_, "it stands in the midst of a pickle");
      require_that(take_number(1) <= kLatestProtocol, "the protocol is newer than 5");
      return true;
    case PickleOp::kFrame:
      // A frame tells how much to read at once; all is read already.
      require_that(take_number(8) <= pickle_.bytes_.size() - at_,
                   "it goes beyond the end of the file");
      return true;
    case PickleOp::kNone:
      push(Kind::kNone);
      return true;
    case PickleOp::kTrue:
    case PickleOp::kFalse:
      push_integer(op == PickleOp::kTrue ? 1 : 0, Kind::kBool);
      return true;
    case PickleOp::kInt4:
      push_integer(static_cast<std::int32_t>(take_number(4)));
      return true;
    case PickleOp::kInt1:
      push_integer(static_cast<std::int64_t>(take_number(1)));
      return true;
    case PickleOp::kInt2:
      push_integer(static_cast<std::int64_t>(take_number(2)));
      return true;
    case PickleOp::kLong1:
      push_integer(take_long());
      return true;
    case PickleOp::kFloat: {
      const double value = take_real();
      push(Kind::kReal).real = value;
      return true;
    }
    case PickleOp::kString:
    case PickleOp::kBytes:
      push_text(Kind::kBytes, take_text(take_number(4)));
      return true;
    case PickleOp::kShortString:
    case PickleOp::kShortBytes:
      push_text(Kind::kBytes, take_text(take_number(1)));
      return true;
    case PickleOp::kBytes8:
    case PickleOp::kByteArray8:
      push_text(Kind::kBytes, take_text(take_number(8)));
      return true;
    case PickleOp::kUnicode:
      push_text(Kind::kText, take_text(take_number(4)));
      return true;
    case PickleOp::kShortUnicode:
      push_text(Kind::kText, take_text(take_number(1)));
      return true;
    case PickleOp::kUnicode8:
      push_text(Kind::kText, take_text(take_number(8)));
      return true;
    default:
      return false;
  }
}

bool PickleReader::step_containers(PickleOp op) {
  switch (op) {
    case PickleOp::kMark:
      require_that(marks_.size() < kDeepest, "it is nested too deeply");
      marks_.push_back(stack_.size());
      return true;
    case PickleOp::kEmptyList:
      push(Kind::kList);
      return true;
    case PickleOp::kAppend:
      append({pop()});
      return true;
    case PickleOp::kAppends:
      append(pop_to_mark());
      return true;
    case PickleOp::kEmptyTuple:
      push(Kind::kTuple);
      return true;
    case PickleOp::kTuple: {
      Items items = pop_to_mark();
      push(Kind::kTuple).items = std::move(items);
      return true;
    }
    case PickleOp::kTuple1:
    case PickleOp::kTuple2:
    case PickleOp::kTuple3:
      push_tuple(static_cast<std::size_t>(op) - static_cast<std::size_t>(PickleOp::kTuple1) + 1);
      return true;
    case PickleOp::kEmptyDict:
      push(Kind::kDict);
      return true;
    case PickleOp::kSetItem: {
      const PickleValue* value = pop();
      const PickleValue* key = pop();
      set_items({key, value});
      return true;
    }
    case PickleOp::kSetItems:
      set_items(pop_to_mark());
      return true;
    default:
      return false;
  }
}

void PickleReader::push_tuple(std::size_t count) {
  Items items(count);
  for (std::size_t i = count; i > 0; --i) items[i - 1] = pop();
  push(Kind::kTuple).items = std::move(items);
}

void PickleReader::append(const Items& items) {
  PickleValue& list = top(Kind::kList, "there is no list to append to");
  list.items.insert(list.items.end(), items.begin(), items.end());
}

void PickleReader::set_items(const Items& items) {
  PickleValue& dict = top(Kind::kDict, "there is no dict to add to");
  require_that(items.size() % 2 == 0, "a key has no value");
  dict.items.insert(dict.items.end(), items.begin(), items.end());
}

bool PickleReader::step_memo(PickleOp op) {
  switch (op) {
    case PickleOp::kPut:
      keep(take_number(1));
      return true;
    case PickleOp::kLongPut:
      keep(take_number(4));
      return true;
    case PickleOp::kMemoize:
      keep(memo_.size());
      return true;
    case PickleOp::kGet:
      recall(take_number(1));
      return true;
    case PickleOp::kLongGet:
      recall(take_number(4));
      return true;
    default:
      return false;
  }
}

void PickleReader::keep(std::uint64_t place) {
  require_that(!empty(), "the stack is empty");
  memo_[place] = stack_.back();
  require_that(memo_.size() <= pickle_.values_.size(), "it keeps more values than there are");
}

void PickleReader::recall(std::uint64_t place) {
  const auto found = memo_.find(place);
  require_that(found != memo_.end(), "it recalls what was not kept");
  count_value();
  stack_.push_back(found->second);
}

void PickleReader::step_names(PickleOp op) {
  switch (op) {
    case PickleOp::kGlobal: {
      const std::string module = take_line();
      push_global(module + "." + take_line());
      return;
    }
    case PickleOp::kStackGlobal: {
      constexpr std::size_t kLongest = 512;
      const PickleValue* name = pop();
      const PickleValue* module = pop();
      require_that(name->kind == Kind::kText && module->kind == Kind::kText &&
                       name->text.size() <= kLongest && module->text.size() <= kLongest,
                   "it finds no name");
      push_global(std::string(module->text) + "." + std::string(name->text));
      return;
    }
    case PickleOp::kPersistentId:
      require_that(rules_.persistent_ids, kNoSuchOpcode);
      push_persistent();
      return;
    case PickleOp::kReduce:
    case PickleOp::kNewObject:
      call();
      return;
    case PickleOp::kBuild:
      build();
      return;
    default:
      refuse(kNoSuchOpcode);
  }
}

void PickleReader::push_global(const std::string& name) {
  if (name != kEncode && name != kBytes3 && name != kBytes2 && !has(rules_.mentioned, name) &&
      !has(rules_.called, name) && !has(rules_.dicts, name)) {
    refuse("the name " + escaped(name) + " is not allowed");
  }
  PickleValue& global = push(Kind::kGlobal);
  global.text = pickle_.texts_.emplace_back(name);
}

void PickleReader::call() {
  const PickleValue* arguments = pop();
  const PickleValue* called = pop();
  require_that(called->kind == Kind::kGlobal && arguments->kind == Kind::kTuple,
               "what is called has no name, or no arguments");
  const Items& items = arguments->items;
  if (called->text == kEncode) {
    require_that(items.size() == 2 && items[0]->kind == Kind::kText && items[1]->is("latin1"),
                 "_codecs.encode is called with something else than a text and latin1");
    push_text(Kind::kBytes, pickle_.texts_.emplace_back(latin1(items[0]->text)));
  } else if (called->text == kBytes3 || called->text == kBytes2) {
    require_that(items.empty(), "bytes is called with arguments");
    push_text(Kind::kBytes, {});
  } else if (has(rules_.dicts, called->text)) {
    make_dict(*called, *arguments);
  } else {
    make_object(*called, *arguments);
  }
}

void PickleReader::make_object(const PickleValue& name, const PickleValue& arguments) {
  if (!has(rules_.called, name.text)) {
    refuse("a call of " + std::string(name.text) + " is not allowed");
  }
  PickleValue& made = push(Kind::kObject);
  made.text = name.text;
  made.arguments = &arguments;
}

// Python 3 makes the dict of nothing and fills it with SETITEMS, Python 2 of one list of pairs.
void PickleReader::make_dict(const PickleValue& name, const PickleValue& arguments) {
  Items items;
  if (!arguments.items.empty()) {
    const PickleValue& pairs = *arguments.items.front();
    require_that(arguments.items.size() == 1 && pairs.kind == Kind::kList,
                 "a dict is made of something else than a list of pairs");
    for (const PickleValue* pair : pairs.items) {
      require_that(
          (pair->kind == Kind::kList || pair->kind == Kind::kTuple) && pair->items.size() == 2,
          "a dict is made of something else than a list of pairs");
      count_value();
      items.insert(items.end(), pair->items.begin(), pair->items.end());
    }
  }
  PickleValue& made = push(Kind::kDict);
  made.text = name.text;
  made.items = std::move(items);
}

void PickleReader::push_persistent() {
  const PickleValue* id = pop();
  PickleValue& made = push(Kind::kPersistent);
  made.arguments = id;
  pickle_.persistent_.push_back(&made);
}

void PickleReader::build() {
  const PickleValue* state = pop();
  require_that(!empty(), "there is no object to give a state to");
  PickleValue& object = *stack_.back();
  require_that(object.kind == Kind::kObject || (object.kind == Kind::kDict && !object.text.empty()),
               "there is no object to give a state to");
  require_that(object.state == nullptr, "the object has a state already");
  object.state = state;
}

std::string PickleReader::latin1(std::string_view utf8) {
  std::string bytes;
  bytes.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto first = static_cast<unsigned char>(utf8[i]);
    if (first < 0x80) {
      bytes += utf8[i];
      continue;
    }
    // The text is well-formed: a letter up to U+00FF is C2 or C3 and one more byte.
    require_that(first <= 0xC3, "a text with letters that are not in latin1");
    const auto second = static_cast<unsigned char>(utf8[++i]);
    bytes += static_cast<char>(((first & 0x03U) << 6U) | (second & 0x3FU));
  }
  // Each text is converted once, then recalled.
  converted_ += bytes.size();
  require_that(converted_ <= pickle_.bytes_.size(), "it converts more text than there is");
  return bytes;
}

}  // namespace lockstep
