#include "lib/numpy_pickle.hpp"

#include "lockstep/base/check.hpp"

namespace lockstep::tools {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kArray = "numpy.ndarray";
constexpr std::string_view kType = "numpy.dtype";
// Up to protocol 4 an array is _reconstruct(ndarray, (0,), b"b") with the state
// (1, shape, dtype, column major, bytes); in protocol 5 it is _frombuffer(bytes, dtype, shape,
// "C").
constexpr std::string_view kReconstruct1 = "numpy.core.multiarray._reconstruct";
constexpr std::string_view kReconstruct2 = "numpy._core.multiarray._reconstruct";
constexpr std::string_view kFromBuffer1 = "numpy.core.numeric._frombuffer";
constexpr std::string_view kFromBuffer2 = "numpy._core.numeric._frombuffer";

/// Reads the parts of one array.
class ArrayReader {
 public:
  ArrayReader(const Pickle& pickle, std::string what)
      : source_(pickle.source()), what_(std::move(what)) {}

  [[nodiscard]] PickledArray read(const PickleValue& value) const {
    check(value.kind == Kind::kObject, "it is no array of numpy");
    if (value.text == kReconstruct1 || value.text == kReconstruct2) return reconstructed(value);
    check(value.text == kFromBuffer1 || value.text == kFromBuffer2, "it is no array of numpy");
    return from_buffer(value);
  }

 private:
  void check(bool holds, const std::string& why) const {
    require(holds, "cannot use " + what_ + " of '" + source_ + "'", why,
            "give the file as it was downloaded");
  }

  [[nodiscard]] PickledArray reconstructed(const PickleValue& value) const {
    const auto& arguments = value.arguments->items;
    check(arguments.size() == 3 && arguments[0]->kind == Kind::kGlobal &&
              arguments[0]->text == kArray,
          "it is another kind of array");
    check(value.state != nullptr && value.state->kind == Kind::kTuple &&
              value.state->items.size() == 5,
          "the array has no contents");
    const auto& state = value.state->items;
    check_type(*state[2]);
    check(state[3]->kind == Kind::kBool || state[3]->kind == Kind::kInteger,
          "its order is not told");
    return make(*state[1], *state[4], state[3]->integer != 0);
  }

  [[nodiscard]] PickledArray from_buffer(const PickleValue& value) const {
    const auto& arguments = value.arguments->items;
    check(arguments.size() == 4 && value.state == nullptr, "the array has no contents");
    check_type(*arguments[1]);
    check(arguments[3]->is("C") || arguments[3]->is("F"), "its order is not told");
    return make(*arguments[2], *arguments[0], arguments[3]->is("F"));
  }

  /// numpy.dtype("u1", ...), of which the state says nothing about plain bytes.
  void check_type(const PickleValue& type) const {
    const bool known = type.kind == Kind::kObject && type.text == kType &&
                       !type.arguments->items.empty() &&
                       (type.arguments->items[0]->is("u1") || type.arguments->items[0]->is("|u1"));
    check(known, "its values are not unsigned bytes (numpy.uint8)");
  }

  [[nodiscard]] PickledArray make(const PickleValue& shape, const PickleValue& bytes,
                                  bool column_major) const {
    check(bytes.kind == Kind::kBytes && shape.kind == Kind::kTuple, "it has no bytes, or no shape");
    PickledArray array{{}, bytes.text, column_major};
    std::uint64_t count = 1;
    bool fits = true;
    for (const PickleValue* size : shape.items) {
      fits = fits && size->kind == Kind::kInteger && size->integer >= 0;
      const auto n = fits ? static_cast<std::uint64_t>(size->integer) : 0;
      // A product beyond the bytes at hand is wrong already, and could overflow.
      fits = fits && (n == 0 || count <= bytes.text.size() / n);
      count = fits ? count * n : 0;
      array.shape.push_back(n);
    }
    check(fits && count == bytes.text.size(), "its shape is not that of its bytes");
    return array;
  }

  std::string source_;
  std::string what_;
};

}  // namespace

const PickleRules& numpy_rules() {
  static const PickleRules kRules{
      {kArray}, {kReconstruct1, kReconstruct2, kFromBuffer1, kFromBuffer2, kType}};
  return kRules;
}

PickledArray pickled_array(const Pickle& pickle, const PickleValue& value,
                           const std::string& what) {
  return ArrayReader(pickle, what).read(value);
}

}  // namespace lockstep::tools
