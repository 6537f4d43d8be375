#include "torch_state_dict.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/base/utf8.hpp"

namespace lockstep::train {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kHint =
    "nothing in a pickle is run: save the weights alone, with torch.save(model.state_dict(), FILE)";

constexpr std::string_view kRebuild1 = "torch._utils._rebuild_tensor";  // before PyTorch 0.4
constexpr std::string_view kRebuild2 = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kParameter1 = "torch.nn.parameter.Parameter";
constexpr std::string_view kParameter2 = "torch._utils._rebuild_parameter";

constexpr std::array<std::pair<std::string_view, at::ScalarType>, 8> kStorages{{
    {"torch.FloatStorage", at::kFloat},
    {"torch.DoubleStorage", at::kDouble},
    {"torch.HalfStorage", at::kHalf},
    {"torch.BFloat16Storage", at::kBFloat16},
    {"torch.LongStorage", at::kLong},
    {"torch.IntStorage", at::kInt},
    {"torch.ByteStorage", at::kByte},
    {"torch.BoolStorage", at::kBool},
}};

/// Entries of checkpoints that hold the weights, where others are dicts of tensors too.
constexpr std::array<std::string_view, 3> kUsualEntries{"state_dict", "model_state_dict", "model"};

/// Tensors may share a storage; together they may be so many times as large as all storages. (With
/// strides of 0 a small file could ask for any amount of memory.)
constexpr std::int64_t kMostSharing = 100;

bool is_name(const PickleValue& value) {
  return (value.kind == Kind::kText || value.kind == Kind::kBytes) && is_utf8(value.text);
}

bool is_call(const PickleValue& value, std::string_view one, std::string_view other) {
  return value.kind == Kind::kObject && (value.text == one || value.text == other);
}

bool is_tensor(const PickleValue& value) {
  return is_call(value, kRebuild1, kRebuild2) || is_call(value, kParameter1, kParameter2);
}

bool is_dict_of_tensors(const PickleValue& value) {
  if (value.kind != Kind::kDict || value.items.empty()) {
    return false;
  }
  for (std::size_t i = 0; i < value.items.size(); i += 2) {
    if (!is_name(*value.items[i]) || !is_tensor(*value.items[i + 1])) {
      return false;
    }
  }
  return true;
}

/// Reads the parts of a state dict.
class StateDictReader {
 public:
  explicit StateDictReader(const Pickle& pickle) : pickle_(pickle) {}

  TorchStateDict read() {
    for (const PickleValue* value : pickle_.persistent()) {
      add_storage(*value);
    }
    const PickleValue& dict = choose_dict();
    for (std::size_t i = 0; i < dict.items.size(); i += 2) {
      const std::string name(dict.items[i]->text);
      check(names_.insert(name).second, "it has the name '" + escaped(name) + "' twice");
      add_tensor(name, *dict.items[i + 1]);
    }
    check_size();
    return std::move(result_);
  }

 private:
  void check(bool holds, const std::string& why) const {
    if (!holds) {
      refuse_torch_file(pickle_.source(), why);
    }
  }

  /// ("storage", type, key, device, elements), and in older files a view of another storage.
  void add_storage(const PickleValue& value) {
    const PickleValue& id = *value.arguments;
    const auto& parts = id.items;
    check(id.kind == Kind::kTuple && (parts.size() == 5 || parts.size() == 6) &&
              parts[0]->is("storage") && parts[1]->kind == Kind::kGlobal && is_name(*parts[2]) &&
              parts[4]->kind == Kind::kInteger && parts[4]->integer >= 0,
          "it refers to something else than a storage of numbers");
    check(parts.size() == 5 || parts[5]->kind == Kind::kNone,
          "a storage is a part of another, as very old versions of PyTorch had it");
    const auto* const type =
        std::find_if(kStorages.begin(), kStorages.end(),
                     [&](const auto& known) { return known.first == parts[1]->text; });
    check(type != kStorages.end(), "a storage is a " + std::string(parts[1]->text));
    const TorchStorage storage{type->second, parts[4]->integer};
    std::int64_t bytes = 0;
    check(!__builtin_mul_overflow(
              storage.elements, static_cast<std::int64_t>(c10::elementSize(storage.type)), &bytes),
          "its storages are too large");
    const std::string key(parts[2]->text);
    const auto place = result_.storages.emplace(key, storage).first;
    check(place->second.type == storage.type && place->second.elements == storage.elements,
          "storage '" + escaped(key) + "' is described in two ways");
    keys_.emplace(&value, key);
  }

  const PickleValue& choose_dict() {
    const PickleValue& root = pickle_.root();
    check(root.kind == Kind::kDict, "it holds no state dict");
    check(!root.items.empty(), "its state dict is empty");
    if (is_dict_of_tensors(root)) {
      return root;
    }
    std::vector<std::pair<std::string, const PickleValue*>> found;
    for (std::size_t i = 0; i < root.items.size(); i += 2) {
      const PickleValue& key = *root.items[i];
      const PickleValue& value = *root.items[i + 1];
      check(is_name(key), "it is a dict with other keys than names");
      check(!is_tensor(value), "its dict has tensors beside other things");
      if (is_dict_of_tensors(value)) {
        found.emplace_back(key.text, &value);
      }
    }
    if (found.size() > 1) {
      std::erase_if(found, [](const auto& entry) {
        return std::find(kUsualEntries.begin(), kUsualEntries.end(), entry.first) ==
               kUsualEntries.end();
      });
      check(found.size() == 1, "several entries of its dict may be the weights");
    }
    check(!found.empty(), "none of the entries of its dict is a dict of tensors");
    result_.entry = found.front().first;
    return *found.front().second;
  }

  void add_tensor(const std::string& name, const PickleValue& value) {
    const std::string it = "tensor '" + escaped(name) + "'";
    const PickleValue* tensor = &value;
    if (is_call(value, kParameter1, kParameter2)) {
      // (tensor, requires_grad, hooks)
      check(!value.arguments->items.empty(), it + " is no parameter");
      tensor = value.arguments->items.front();
    }
    // (storage, offset, sizes, strides), then requires_grad, hooks, and what is lazily done to it
    check(is_call(*tensor, kRebuild1, kRebuild2), it + " is none of numbers in a storage");
    const auto& parts = tensor->arguments->items;
    const bool known =
        tensor->text == kRebuild1 ? parts.size() == 4 : parts.size() == 6 || parts.size() == 7;
    check(known && parts[0]->kind == Kind::kPersistent, it + " is none of numbers in a storage");
    const bool lazy = parts.size() == 7 && parts[6]->kind != Kind::kNone &&
                      !(parts[6]->kind == Kind::kDict && parts[6]->items.empty());
    check(!lazy, it + " is conjugated or negated when it is read");
    TorchView view{name, keys_.at(parts[0]), count(*parts[1], it), counts(*parts[2], it),
                   counts(*parts[3], it)};
    check(view.sizes.size() == view.strides.size(), it + " has not one stride for each size");
    check_inside(view, it);
    result_.tensors.push_back(std::move(view));
  }

  [[nodiscard]] std::int64_t count(const PickleValue& value, const std::string& it) const {
    check(value.kind == Kind::kInteger && value.integer >= 0,
          it + " has an offset, size or stride that is no number from 0");
    return value.integer;
  }

  [[nodiscard]] std::vector<std::int64_t> counts(const PickleValue& value,
                                                 const std::string& it) const {
    check(value.kind == Kind::kTuple, it + " has no sizes or strides");
    std::vector<std::int64_t> numbers;
    for (const PickleValue* item : value.items) {
      numbers.push_back(count(*item, it));
    }
    return numbers;
  }

  void check_inside(const TorchView& view, const std::string& it) {
    const TorchStorage& storage = result_.storages.at(view.storage);
    std::int64_t last = view.offset;
    auto bytes = static_cast<std::int64_t>(c10::elementSize(storage.type));
    bool empty = false;
    bool fits = true;
    for (std::size_t i = 0; i < view.sizes.size(); ++i) {
      // Without its zeros the shape must still be one that can be counted.
      const std::int64_t size = std::max<std::int64_t>(view.sizes[i], 1);
      std::int64_t step = 0;
      empty = empty || view.sizes[i] == 0;
      fits = fits && !__builtin_mul_overflow(bytes, size, &bytes) &&
             !__builtin_mul_overflow(size - 1, view.strides[i], &step) &&
             !__builtin_add_overflow(last, step, &last);
    }
    check(fits && (empty || last < storage.elements), it + " reaches beyond its storage");
    fits = !__builtin_add_overflow(needed_bytes_, empty ? 0 : bytes, &needed_bytes_);
    check(fits, "its tensors are too large");
  }

  /// Of the storages those count that tensors lie in: they alone must be in the file.
  void check_size() const {
    std::set<std::string> used;
    std::int64_t stored_bytes = 0;
    for (const TorchView& view : result_.tensors) {
      if (used.insert(view.storage).second) {
        check(!__builtin_add_overflow(stored_bytes, result_.storages.at(view.storage).bytes(),
                                      &stored_bytes),
              "its storages are too large");
      }
    }
    check(needed_bytes_ / kMostSharing <= stored_bytes,
          "its tensors repeat what is stored more than " + std::to_string(kMostSharing) + " times");
  }

  const Pickle& pickle_;
  TorchStateDict result_;
  std::map<const PickleValue*, std::string> keys_;  // of storages
  std::set<std::string> names_;
  std::int64_t needed_bytes_ = 0;
};

}  // namespace

const PickleRules& torch_rules() {
  static const PickleRules kRules = [] {
    PickleRules rules;
    for (const auto& [name, type] : kStorages) {
      rules.mentioned.push_back(name);
    }
    rules.called = {kRebuild1, kRebuild2, kParameter1, kParameter2};
    rules.dicts = {"collections.OrderedDict"};
    rules.persistent_ids = true;
    rules.hint = kHint;
    return rules;
  }();
  return kRules;
}

TorchStateDict read_state_dict(const Pickle& pickle) { return StateDictReader(pickle).read(); }

void refuse_torch_file(const std::string& file, const std::string& why) {
  throw Error("cannot use the weights of '" + file + "'", why, kHint);
}

}  // namespace lockstep::train
