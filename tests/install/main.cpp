// Trains a network of Lockstep's from a program of its own, on a set that it makes, on any number
// of ranks: mpirun -np 2 outside FOLDER. The loss has to fall and the network to know its set.

#include <cmath>
#include <cstdio>
#include <numeric>
#include <vector>

#include "every_header.hpp"
#include "lockstep/comm/mpi_session.hpp"
#include "lockstep/data/shard_reader.hpp"
#include "lockstep/data/shard_writer.hpp"
#include "lockstep/model/models.hpp"
#include "lockstep/train/evaluator.hpp"
#include "lockstep/train/trainer.hpp"

namespace {

using namespace lockstep;

constexpr std::int64_t kSide = 16;
constexpr std::int64_t kSamples = 96;
constexpr std::int64_t kBatch = 16;
constexpr std::int64_t kUpdates = 24;
constexpr std::uint64_t kSeed = 7;

/// Three classes: bright at the top, in the middle, at the bottom.
void make_set(const std::string& folder) {
  data::SetWriter writer(folder, {.height = kSide,
                                  .width = kSide,
                                  .classes = {"top", "middle", "bottom"},
                                  .planned_samples = kSamples,
                                  .path_bytes = 8});
  for (std::int64_t i = 0; i < kSamples; ++i) {
    const auto label = static_cast<std::int32_t>(i % 3);
    std::vector<std::uint8_t> rgb(kSide * kSide * 3);
    for (std::int64_t byte = 0; byte < std::ssize(rgb); ++byte) {
      const bool bright = byte / (kSide * 3) * 3 / kSide == label;
      rgb[byte] = static_cast<std::uint8_t>((bright ? 150 : 50) + (byte * 37 + i * 59) % 50);
    }
    writer.append(rgb, data::digest_sample(rgb), label, std::to_string(i));
  }
  writer.finish();
}

/// Returns the exit code.
int train_on(const std::string& folder, comm::MpiSession& session) {
  const auto control = session.make_collectives({.name = "control"});
  const auto gradients = session.make_collectives({.name = "gradients"});
  const comm::World& world = session.world();
  comm::agreed_phase(*control, [&] {
    if (world.is_root()) make_set(folder);
  });
  const data::ShardSet set(folder);
  std::vector<std::int64_t> ids(kSamples);
  std::iota(ids.begin(), ids.end(), 0);

  const auto network = model::make_model({.name = "simple_cnn",
                                          .classes = std::ssize(set.info().classes),
                                          .height = set.height(),
                                          .width_pixels = set.width(),
                                          .seed = kSeed},
                                         *gradients);
  std::vector<optim::NamedParameter> parameters;
  for (const auto& item : network->named_parameters()) {
    parameters.emplace_back(item.key(), item.value());
  }
  const auto optimizer = optim::make_optimizer({.momentum = 0.9}, parameters);
  comm::GradientReducer reducer(parameters, *gradients);
  const data::Sampler sampler({.samples = kSamples, .batch_size = kBatch, .seed = kSeed});
  data::LoaderOptions loading{.seed = kSeed, .rank = world.rank, .size = world.size};
  loading.augmentation.mean = set.info().mean;
  loading.augmentation.std = set.info().std;
  data::Loader loader(set, ids, sampler, loading);
  const c10::Device cpu(c10::kCPU);
  train::Trainer trainer(*network, *optimizer, reducer, *control, cpu, {.seed = kSeed});

  double first = 0;
  double loss = 0;
  const std::int64_t per_epoch = sampler.updates_per_epoch();
  for (std::int64_t update = 0; update < kUpdates; ++update) {
    if (update % per_epoch == 0) loader.start_epoch(update / per_epoch, 0, per_epoch);
    const train::StepResult step = trainer.compute_gradients(loader, {.update = update});
    trainer.apply(step, 0.02);
    loss = step.loss_sum / static_cast<double>(step.samples);
    if (update == 0) first = loss;
    if (world.is_root()) std::printf("update %2d  loss %.4f\n", static_cast<int>(update), loss);
  }
  train::Evaluator evaluator(set, ids, kBatch, loading, *control, cpu);
  const report::Scores scores = evaluator.score(*network);
  if (world.is_root()) {
    std::printf("%d ranks: loss %.4f -> %.4f, %d of %d right\n", world.size, first, loss,
                static_cast<int>(scores.correct1), static_cast<int>(scores.samples));
  }
  return loss < first / 2 && scores.correct1 > kSamples * 9 / 10 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: outside FOLDER (empty; for the set)\n", stderr);
    return 2;
  }
  try {
    comm::MpiSession session(argc, argv);
    try {
      return train_on(argv[1], session);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "outside: %s\n", error.what());
      comm::MpiSession::abort(1);
    }
  } catch (const std::exception& error) {  // MPI itself could not start
    std::fprintf(stderr, "outside: %s\n", error.what());
    return 1;
  }
}
