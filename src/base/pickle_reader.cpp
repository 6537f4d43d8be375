#include "pickle_reader.hpp"

#include <bit>

#include "lockstep/base/check.hpp"
#include "lockstep/base/utf8.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kLongestLine = 256;  // of names

}  // namespace

void PickleReader::refuse(const std::string& why) const {
  const std::string opcode = start_ < pickle_.bytes_.size()
                                 ? pickle_op_name(static_cast<std::uint8_t>(pickle_.bytes_[start_]))
                                 : "the end";
  throw Error("cannot read the pickle '" + pickle_.source_ + "'",
              opcode + " at offset " + std::to_string(start_) + ": " + why, rules_.hint);
}

void PickleReader::require_that(bool holds, const char* why) const {
  if (!holds) refuse(why);
}

void PickleReader::read() {
  while (true) {
    start_ = at_;
    require_that(at_ < pickle_.bytes_.size(), "the file ends before the pickle does");
    const auto op = static_cast<PickleOp>(static_cast<std::uint8_t>(pickle_.bytes_[at_++]));
    if (op == PickleOp::kStop) break;
    if (!step_values(op) && !step_containers(op) && !step_memo(op)) step_names(op);
  }
  require_that(stack_.size() == 1 && marks_.empty(), "the stack does not hold one value");
  pickle_.root_ = stack_.front();
  pickle_.end_ = at_;
}

void PickleReader::require_end() const {
  require_that(at_ == pickle_.bytes_.size(), "more bytes follow");
}

// ---- bytes

std::string_view PickleReader::take_text(std::uint64_t bytes) {
  require_that(bytes <= pickle_.bytes_.size() - at_, "it goes beyond the end of the file");
  const std::string_view text = pickle_.bytes_.substr(at_, static_cast<std::size_t>(bytes));
  at_ += text.size();
  return text;
}

std::uint64_t PickleReader::take_number(std::size_t bytes) {
  std::uint64_t value = 0;
  const std::string_view digits = take_text(bytes);
  for (std::size_t i = bytes; i > 0; --i) {
    value = (value << 8U) | static_cast<unsigned char>(digits[i - 1]);
  }
  return value;
}

std::int64_t PickleReader::take_long() {
  const auto bytes = static_cast<std::size_t>(take_number(1));
  require_that(bytes <= 8, "a number of more than 64 bits");
  if (bytes == 0) return 0;
  const std::uint64_t value = take_number(bytes);
  const auto unused = static_cast<unsigned>(64 - 8 * bytes);
  return static_cast<std::int64_t>(value << unused) >> unused;  // its highest bit is the sign
}

double PickleReader::take_real() {
  std::uint64_t bits = 0;  // the one kind of number that has its highest byte first
  for (const char byte : take_text(8)) bits = (bits << 8U) | static_cast<unsigned char>(byte);
  return std::bit_cast<double>(bits);
}

std::string PickleReader::take_line() {
  std::string line;
  while (true) {
    const std::string_view next = take_text(1);
    if (next[0] == '\n') return line;
    line += next;
    require_that(line.size() <= kLongestLine, "a name is too long");
  }
}

// ---- the stack

void PickleReader::count_value() {
  require_that(++counted_ <= rules_.most_values, "there are too many values");
}

PickleValue& PickleReader::push(Kind kind) {
  count_value();
  PickleValue& value = pickle_.values_.emplace_back();
  value.kind = kind;
  stack_.push_back(&value);
  return value;
}

void PickleReader::push_integer(std::int64_t value, Kind kind) { push(kind).integer = value; }

void PickleReader::push_text(Kind kind, std::string_view text) {
  require_that(kind == Kind::kBytes || is_utf8(text), "a text that is not UTF-8");
  push(kind).text = text;
}

bool PickleReader::empty() const { return stack_.size() <= (marks_.empty() ? 0 : marks_.back()); }

PickleValue* PickleReader::pop() {
  require_that(!empty(), "the stack is empty");
  PickleValue* value = stack_.back();
  stack_.pop_back();
  return value;
}

PickleReader::Items PickleReader::pop_to_mark() {
  require_that(!marks_.empty(), "there is no mark on the stack");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  Items items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return items;
}

PickleValue& PickleReader::top(Kind kind, const char* otherwise) {
  require_that(!empty() && stack_.back()->kind == kind, otherwise);
  return *stack_.back();
}

}  // namespace lockstep
