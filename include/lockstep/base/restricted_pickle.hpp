#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// A value of a pickle, as inert data.
struct PickleValue {
  enum class Kind {
    kNone,
    kBool,
    kInteger,
    kReal,
    kBytes,
    kText,
    kList,
    kTuple,
    kDict,
    kGlobal,     ///< a name: "numpy.ndarray"
    kObject,     ///< what Python would get by calling a name; here a description of the call
    kPersistent  ///< something that lies outside the pickle, by its id
  };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;  ///< kInteger; of kBool 0 or 1
  double real = 0;           ///< kReal
  /// kBytes; kText in UTF-8; name of kGlobal, kObject and of a kDict that a call made.
  std::string_view text{};
  /// Of kList and kTuple; of kDict keys and values by turns.
  std::vector<const PickleValue*> items{};
  const PickleValue* arguments = nullptr;  ///< of kObject: a kTuple; of kPersistent: the id
  const PickleValue* state = nullptr;      ///< of what a call made: what BUILD gave it, if anything

  /// Whether it is bytes or text and reads so.
  [[nodiscard]] bool is(std::string_view word) const {
    return (kind == Kind::kBytes || kind == Kind::kText) && text == word;
  }
};

/// The names that a pickle may mention. Every other one is refused.
struct PickleRules {
  std::vector<std::string_view> mentioned{};  ///< as a value: "numpy.ndarray"
  /// With arguments, which makes a kObject: "numpy.dtype".
  std::vector<std::string_view> called{};
  /// Called for a dict, of nothing or of a list of pairs: "collections.OrderedDict".
  std::vector<std::string_view> dicts{};
  bool persistent_ids = false;  ///< whether there may be any
  /// A pickle that has more values, or recalls them more often, is refused.
  std::size_t most_values = 2'000'000;
  /// What to do about a pickle that is refused.
  std::string_view hint = "only plain data is read and nothing is run; download the file again";
};

/// A pickle, read without Python and without running anything: opcodes that plain data needs (see
/// PickleOp) and names that the rules allow, as inert values; all else is an error that names the
/// opcode and its offset. Of calls, only those by which Python 3 writes bytes in protocol 2 are
/// carried out (_codecs.encode of a text to latin1, and bytes without arguments), and those that
/// make a dict. Memory is bounded by the size of the input and the number of values. Values can be
/// cyclic, as in Python.
class Pickle {
 public:
  /// All of `bytes`. `source` names it in errors. Throws Error.
  Pickle(std::vector<std::uint8_t> bytes, std::string source, const PickleRules& rules);
  /// The one that begins at the offset `begin` of `bytes`, which must outlive it. More may follow.
  Pickle(std::string_view bytes, std::size_t begin, std::string source, const PickleRules& rules);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  /// Lives as long as the pickle, as all values do.
  [[nodiscard]] const PickleValue& root() const noexcept { return *root_; }
  [[nodiscard]] const std::string& source() const noexcept { return source_; }
  /// The offset behind its last byte.
  [[nodiscard]] std::size_t end() const noexcept { return end_; }
  /// All that it takes from outside, kPersistent, in the order of the pickle.
  [[nodiscard]] const std::vector<const PickleValue*>& persistent() const noexcept {
    return persistent_;
  }

  /// The value of a key, bytes or text, of a dict. Throws Error when it is no dict, or has the key
  /// not at all or twice.
  [[nodiscard]] const PickleValue& at(const PickleValue& dict, std::string_view key) const;
  /// The same, or null without the key.
  [[nodiscard]] const PickleValue* find(const PickleValue& dict, std::string_view key) const;

 private:
  friend class PickleReader;
  std::vector<std::uint8_t> owned_;
  std::string_view bytes_;
  std::string source_;
  std::size_t end_ = 0;
  std::deque<PickleValue> values_;  // flat, so that no depth of nesting matters
  std::deque<std::string> texts_;   // those that do not stand in the bytes as they are
  std::vector<const PickleValue*> persistent_;
  const PickleValue* root_ = nullptr;
};

}  // namespace lockstep
