// A program that does nothing but save, for tests that kill it at every point of a save.
//   save_program save FOLDER     saves the checkpoints of epochs 1 to 3, keeping one and the best
//   save_program check FOLDER    loads the newest one, compares all of it, saves the next, loads it
//                                again; prints the epoch it found, 0 for none
#include <torch/nn/module.h>
#include <torch/types.h>

#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"
#include "lockstep/train/checkpoint.hpp"

namespace {

using namespace lockstep;

constexpr std::int64_t kEpochs = 3;

/// A network whose values tell the epoch.
class Saved : public model::Network {
 public:
  explicit Saved(std::int64_t epoch) {
    register_parameter("weight", at::full({50, 20}, static_cast<double>(epoch)));
    register_buffer("count", at::scalar_tensor(epoch, at::kLong));
  }
  at::Tensor forward(at::Tensor x, const model::StepContext& /*context*/) override { return x; }
};

void save(train::CheckpointStore& store, std::int64_t epoch) {
  const Saved network(epoch);
  const auto optimizer =
      optim::make_optimizer({}, {{"weight", network.named_parameters()["weight"]}});
  train::TrainingState state;
  state.epoch = epoch;
  state.update = 10 * epoch;
  state.classes = {"one"};
  state.height = state.width = 1;
  static_cast<void>(store.save(network, *optimizer, state, "[run]\n", epoch == 1));
}

/// The epoch of the newest checkpoint, 0 when there is none; throws unless it is whole.
std::int64_t newest(const train::CheckpointStore& store) {
  std::vector<std::string> warnings;
  const auto loaded = train::load_newest(store, warnings);
  require(warnings.empty(), "a checkpoint is damaged", warnings.empty() ? "" : warnings.front(),
          "a save must be all or nothing");
  if (!loaded) return 0;
  const std::int64_t epoch = loaded->state.epoch;
  Saved network(0);
  train::copy_state(network, loaded->model);
  const bool equal = network.named_parameters()["weight"].eq(epoch).all().item<bool>() &&
                     network.named_buffers()["count"].item<std::int64_t>() == epoch &&
                     loaded->state.update == 10 * epoch && loaded->optimizer.size() == 1;
  require(equal, "the checkpoint is not what was saved", "its values differ", "see the test");
  return epoch;
}

int run(int argc, char** argv) {
  try {
    require(argc == 3, "wrong use", "two arguments are needed", "save|check FOLDER");
    train::CheckpointStore store(argv[2], 1, 0);
    if (std::string(argv[1]) == "save") {
      for (std::int64_t epoch = 1; epoch <= kEpochs; ++epoch) save(store, epoch);
      return 0;
    }
    const std::int64_t found = newest(store);
    // What the pointers name must be whole too.
    for (const std::string pointer : {"best", "latest"}) {
      const std::string path = store.path_of(pointer);
      if (found > 1) static_cast<void>(train::load_checkpoint(path));
    }
    save(store, found + 1);
    require(newest(store) == found + 1, "the next save is not the newest", "", "see the test");
    std::cout << found << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) { end_process(run(argc, argv)); }
