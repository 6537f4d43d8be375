#include "lockstep/base/restricted_pickle.hpp"

#include "lockstep/base/check.hpp"
#include "pickle_reader.hpp"

namespace lockstep {

Pickle::Pickle(std::vector<std::uint8_t> bytes, std::string source, const PickleRules& rules)
    : owned_(std::move(bytes)),
      bytes_(reinterpret_cast<const char*>(owned_.data()), owned_.size()),
      source_(std::move(source)) {
  PickleReader reader(*this, rules, 0);
  reader.read();
  reader.require_end();
}

Pickle::Pickle(std::string_view bytes, std::size_t begin, std::string source,
               const PickleRules& rules)
    : bytes_(bytes), source_(std::move(source)) {
  PickleReader(*this, rules, begin).read();
}

const PickleValue* Pickle::find(const PickleValue& dict, std::string_view key) const {
  const std::string hint = "give a file of the kind that is asked for";
  require(dict.kind == PickleValue::Kind::kDict, "cannot use '" + source_ + "'",
          "where '" + std::string(key) + "' is looked for, it has no dict", hint);
  const PickleValue* found = nullptr;
  for (std::size_t i = 0; i < dict.items.size(); i += 2) {
    if (!dict.items[i]->is(key)) continue;
    require(found == nullptr, "cannot use '" + source_ + "'",
            "it has '" + std::string(key) + "' twice", hint);
    found = dict.items[i + 1];
  }
  return found;
}

const PickleValue& Pickle::at(const PickleValue& dict, std::string_view key) const {
  const PickleValue* found = find(dict, key);
  if (found != nullptr) return *found;
  throw Error("cannot use '" + source_ + "'", "it has no '" + std::string(key) + "'",
              "give a file of the kind that is asked for");
}

}  // namespace lockstep
