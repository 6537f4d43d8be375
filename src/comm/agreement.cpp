#include <algorithm>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::comm {
namespace {

/// Values may be whole texts (a manifest): an error shows where they part, not all of them.
std::string around(const std::string& value, std::size_t position) {
  constexpr std::size_t kBefore = 20;
  constexpr std::size_t kLength = 80;
  const std::size_t begin = position > kBefore ? position - kBefore : 0;
  std::string text = value.substr(std::min(begin, value.size()), kLength);
  if (begin > 0) text.insert(0, "...");
  if (begin + kLength < value.size()) text += "...";
  return "'" + text + "'";
}

}  // namespace

void all_agree(Collectives& control, const std::string& failure, ExitCode code) {
  const World& world = control.world();
  // The largest distance from the end belongs to the lowest failing rank; 0 says that none failed.
  const std::int64_t mine = failure.empty() ? 0 : world.size - world.rank;
  const std::int64_t lowest = control.max(mine);
  if (lowest == 0) return;
  const int speaker = world.size - static_cast<int>(lowest);
  auto agreed_code = static_cast<std::int64_t>(code);
  control.broadcast(&agreed_code, 1, DataType::kInt64, speaker);
  const std::string message = control.broadcast(failure, speaker);
  throw AgreedError(message, static_cast<ExitCode>(agreed_code), speaker);
}

void require_same(Collectives& control, const std::string& mine, const std::string& what) {
  const std::vector<std::string> all = control.all_gather(mine);
  const auto other = std::find_if(all.begin(), all.end(),
                                  [&](const std::string& value) { return value != all.front(); });
  if (other == all.end()) return;
  const std::string& first = all.front();
  const std::size_t shorter = std::min(first.size(), other->size());
  const auto parting = static_cast<std::size_t>(
      std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(shorter),
                    other->begin())
          .first -
      first.begin());
  const auto rank = std::distance(all.begin(), other);
  const Error error("rank " + std::to_string(rank) + " differs from rank 0 in " + what,
                    "rank 0 has " + around(first, parting) + ", rank " + std::to_string(rank) +
                        " has " + around(*other, parting),
                    "start every rank from the same program, files and options");
  throw AgreedError(error.what(), error.code(), 0);
}

}  // namespace lockstep::comm
