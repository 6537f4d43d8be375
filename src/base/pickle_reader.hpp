#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lockstep/base/restricted_pickle.hpp"
#include "pickle_opcodes.hpp"

namespace lockstep {

/// The stack machine that fills a Pickle. pickle_reader.cpp has its stack, pickle_steps.cpp what
/// each opcode does to it.
class PickleReader {
 public:
  /// For the pickle that begins at the offset `begin`.
  PickleReader(Pickle& pickle, const PickleRules& rules, std::size_t begin)
      : pickle_(pickle), rules_(rules), begin_(begin), at_(begin) {}
  /// Fills the pickle, up to its STOP. Throws Error with opcode and offset.
  void read();
  /// Throws Error when more follows.
  void require_end() const;

 private:
  using Kind = PickleValue::Kind;
  using Items = std::vector<const PickleValue*>;
  [[noreturn]] void refuse(const std::string& why) const;
  void require_that(bool holds, const char* why) const;

  // The bytes of the pickle, from at_ on; beyond the end is an error.
  [[nodiscard]] std::uint64_t take_number(std::size_t bytes);
  [[nodiscard]] std::string_view take_text(std::uint64_t bytes);
  [[nodiscard]] std::string take_line();
  [[nodiscard]] std::int64_t take_long();
  [[nodiscard]] double take_real();

  // The stack, of which nothing below the last mark is touched.
  PickleValue& push(Kind kind);
  void push_integer(std::int64_t value, Kind kind = Kind::kInteger);
  void push_text(Kind kind, std::string_view text);
  void count_value();
  [[nodiscard]] bool empty() const;
  [[nodiscard]] PickleValue* pop();
  [[nodiscard]] Items pop_to_mark();
  [[nodiscard]] PickleValue& top(Kind kind, const char* otherwise);

  // What opcodes do. Each of the first three says whether the opcode was one of its own.
  bool step_values(PickleOp op);
  bool step_containers(PickleOp op);
  bool step_memo(PickleOp op);
  void step_names(PickleOp op);
  void push_tuple(std::size_t count);
  void append(const Items& items);
  void set_items(const Items& items);
  void keep(std::uint64_t place);
  void recall(std::uint64_t place);
  void push_global(const std::string& name);
  void push_persistent();
  void call();
  void make_object(const PickleValue& name, const PickleValue& arguments);
  void make_dict(const PickleValue& name, const PickleValue& arguments);
  void build();
  [[nodiscard]] std::string latin1(std::string_view utf8);

  Pickle& pickle_;
  const PickleRules& rules_;
  std::size_t begin_;
  std::size_t at_;
  std::size_t start_ = 0;      // of the current opcode
  std::size_t counted_ = 0;    // values made or recalled
  std::size_t converted_ = 0;  // bytes of texts that were made
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::unordered_map<std::uint64_t, PickleValue*> memo_;
};

}  // namespace lockstep
