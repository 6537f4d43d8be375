#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/data/shard_format.hpp"
#include "lockstep/model/network.hpp"
#include "lockstep/optim/optimizer.hpp"
#include "lockstep/optim/schedule.hpp"
#include "lockstep/train/safetensors.hpp"

namespace lockstep::train {

/// What the updates of an epoch add up to.
struct EpochSums {
  std::int64_t updates = 0;
  std::int64_t samples = 0;
  std::int64_t correct = 0;
  double loss = 0;
  double grad_norm = 0;
  double learning_rate = 0;  ///< of the last update
  bool validated = false;    ///< cut short by the end of training, its row is written
  bool operator==(const EpochSums&) const = default;
};

/// What state.json holds: everything beside tensors and config that a later program needs.
struct TrainingState {
  std::int64_t epoch = 0;            ///< epochs done
  std::int64_t update = 0;           ///< optimizer updates done
  EpochSums running;                 ///< of the epoch under way; all 0 between epochs
  std::optional<double> best_score;  ///< of train.best_by, in its own unit; none before the first
  std::int64_t best_epoch = 0;       ///< counted from 1; 0: none yet
  std::string best_checkpoint;       ///< name of its folder; empty: none yet
  /// Mean loss of a few fixed pictures, to see after loading that all is as it was; none when it is
  /// not finite.
  std::optional<double> probe_loss;
  optim::ScheduleState schedule;
  std::vector<std::string> classes;
  std::int64_t height = 0;  ///< pixels of the pictures the network was trained on
  std::int64_t width = 0;
  std::array<double, 3> mean{};  ///< normalisation, values in [0, 1]
  std::array<double, 3> std{};
  data::PackedFit packed;  ///< how the training pictures were brought to their size
  std::string train_set_id;
  std::string val_set_id;          ///< of data.val; empty: a part of the training set
  std::int64_t train_samples = 0;  ///< of the training set without what validates
  // Where it was made: equal bits are promised on equal ones only.
  std::int64_t ranks = 1;
  std::int64_t threads = 1;
  std::string cpu_capability;
};

/// The folder runs/<name>/checkpoints. Used on rank 0 alone. One folder per save, built under a
/// temporary name, synced, and renamed; MANIFEST.json, with the size and XXH3-128 of every file, is
/// written last. `best` and `latest` are pointer files replaced by rename.
class CheckpointStore {
 public:
  /// Creates the folder, and removes what an interrupted save left in it. keep_last newest, the
  /// best, and every multiple of keep_every epochs (0: no such) are kept.
  CheckpointStore(std::string folder, std::int64_t keep_last, std::int64_t keep_every);

  /// Saves and moves `latest` (and `best` when `is_best`, in the saved state too); then removes
  /// what is not kept. A failure throws Error and leaves everything saved before as it was. Returns
  /// the new folder's name.
  std::string save(const model::Network& network, const optim::Optimizer& optimizer,
                   const TrainingState& state, const std::string& config_text, bool is_best);

  /// What went wrong beside saving (an old checkpoint that cannot be removed); each is told once.
  [[nodiscard]] std::vector<std::string> take_warnings();

  /// Names of the checkpoints, the one of the most updates first; damaged ones are among them.
  [[nodiscard]] std::vector<std::string> newest_first() const;

  /// Lets `latest` point to the checkpoint that a run goes on from: a kill may have come between
  /// its save and the pointer's.
  void restore_latest(const std::string& name);

  /// Whether there is such a checkpoint, whole; not for "".
  [[nodiscard]] bool holds(const std::string& name) const;

  /// Lets `best` point to `name`, as it did when the checkpoint was saved that a run goes on from.
  /// False when there is no such checkpoint, or it is damaged: then the best of before, if any,
  /// stays until there is a new one.
  [[nodiscard]] bool restore_best(const std::string& name);

  [[nodiscard]] std::string path_of(const std::string& name) const { return folder_ + "/" + name; }

 private:
  void sweep();
  void prune();
  void remove(const std::string& name);

  std::string folder_;
  std::string best_;  ///< name of the best checkpoint, if any
  std::vector<std::string> warnings_;
  std::int64_t keep_last_;
  std::int64_t keep_every_;
};

/// Whether a file is a part of a checkpoint, or points to one.
[[nodiscard]] bool is_checkpoint_file(const std::string& path);

/// A checkpoint in memory.
struct LoadedCheckpoint {
  std::string folder;  ///< where it was found, pointers resolved
  std::string config_text;
  TrainingState state;
  NamedTensors model;
  NamedTensors optimizer;  ///< for going on with the training; else empty
  std::int64_t optimizer_steps = 0;
};

enum class LoadParts {
  kModel,  ///< what scoring needs
  kAll,    ///< what going on with the training needs
};

/// Reads a checkpoint folder, or the one a pointer file (best, latest) names. Checks the manifest:
/// every file, its size and digest. Throws Error naming the file that is missing or damaged.
[[nodiscard]] LoadedCheckpoint load_checkpoint(const std::string& path,
                                               LoadParts parts = LoadParts::kModel);

/// The newest checkpoint of a store that can be read, with all its parts; nothing when there is
/// none at all. Each one that is passed over is told in `warnings`; when none can be read, Error.
[[nodiscard]] std::optional<LoadedCheckpoint> load_newest(const CheckpointStore& store,
                                                          std::vector<std::string>& warnings);

/// What rank 0 has loaded, on every rank (ranks need not see the file system). Collective.
void broadcast_checkpoint(comm::Collectives& control, LoadedCheckpoint& loaded);

/// load_checkpoint on rank 0, the result on every rank. Collective; a failure is agreed.
[[nodiscard]] LoadedCheckpoint load_checkpoint_everywhere(comm::Collectives& control,
                                                          const std::string& path,
                                                          LoadParts parts = LoadParts::kModel);

/// Parameters and buffers by name, in the network's order.
[[nodiscard]] NamedTensors state_of(const model::Network& network);

/// Copies tensors into a network, converting dtype, strict: every name on both sides, equal shapes.
/// Throws Error naming the first mismatches.
void copy_state(model::Network& network, const NamedTensors& tensors);

/// XXH3-128 over all parameters and buffers, the same on all ranks of a sound run.
[[nodiscard]] std::string state_digest(const model::Network& network);

}  // namespace lockstep::train
