#include "lockstep/train/fit.hpp"

#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

namespace lockstep::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <typename... Values>
std::string text(const char* format, Values... values) {
  std::array<char, 512> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, values...);
  return buffer.data();
}

/// One update, added to the sums of its epoch. Whether a stop is wanted after it.
bool run_update(FitParts& p, TrainingState& state, double& exposed_seconds) {
  p.fault.at("step", state.update);
  const double lr = optim::learning_rate(p.schedule, state.update);
  const StepResult result = p.trainer.compute_gradients(
      p.loader, {state.update, p.stop.requested(), p.fault.spoils(state.update)});
  p.recorder.update(p.network, result, state.update, state.epoch, lr);
  p.trainer.apply(result, lr);
  p.recorder.applied(p.network, state.update);

  ++state.update;
  EpochSums& sums = state.running;
  ++sums.updates;
  sums.samples += result.samples;
  sums.correct += result.correct;
  sums.loss += result.loss_sum;
  sums.grad_norm += result.grad_norm;
  sums.learning_rate = lr;
  exposed_seconds += p.reducer.exposed_seconds();
  return result.stop_wanted;
}

/// The last update of an epoch is not followed by a loss that would show what it did.
void require_finite_weights(const FitParts& p, std::int64_t update) {
  const NamedTensors tensors = state_of(p.network);
  const bool finite = std::all_of(tensors.begin(), tensors.end(), [](const auto& entry) {
    return !entry.second.is_floating_point() ||
           at::isfinite(entry.second).all().template item<bool>();
  });
  const bool everywhere = p.control.max(std::int64_t{finite ? 0 : 1}) == 0;
  require_finite(everywhere ? 0 : std::numeric_limits<double>::quiet_NaN(),
                 "a weight after update " + std::to_string(update));
}

/// Whether the epoch gave the best model so far; remembers it in `state`. Without validation the
/// last model is the best there is.
bool note_best(const FitParts& p, const report::EpochRecord& record, TrainingState& state) {
  if (!record.val) {
    state.best_epoch = record.epoch;
    return true;
  }
  const bool by_loss = p.options.best_by_loss;
  const double score = by_loss ? record.val->loss : record.val->top1();
  const bool better =
      !state.best_score || (by_loss ? score < *state.best_score : score > *state.best_score);
  if (better) {
    state.best_score = score;
    state.best_epoch = record.epoch;
  }
  return better;
}

void report_epoch(FitParts& p, const report::EpochRecord& r) {
  std::string line =
      text("epoch %lld/%lld  loss %.4f  top-1 %.2f %%", static_cast<long long>(r.epoch),
           static_cast<long long>(p.options.epochs), r.train_loss, 100 * r.train_top1);
  if (r.val) {
    line += text("  |  validation loss %.4f  top-1 %.2f %%  top-5 %.2f %% of %lld%s", r.val->loss,
                 100 * r.val->top1(), 100 * r.val->top5(), static_cast<long long>(r.val->samples),
                 r.best ? "  (best)" : "");
  }
  line += text("  |  lr %.3g  gradient norm %.3g  |  %.0f images/s  waited for data %.1f %%",
               r.learning_rate, r.grad_norm, r.images_per_second,
               100 * r.data_wait_seconds / r.train_seconds);
  p.log.info("train", line);
}

/// Saves on rank 0; a failure there is agreed, so that all ranks leave in order.
void save(FitParts& p, TrainingState& state, bool is_best) {
  p.fault.at("checkpoint", state.epoch + (state.running.updates > 0 ? 1 : 0));
  comm::require_same(p.control, state_digest(p.network), "the model's weights");
  state.probe_loss = p.probe.score(p.network).loss;
  std::string name;
  comm::agreed_phase(p.control, [&] {
    if (p.checkpoints != nullptr) {
      name = p.checkpoints->save(p.network, p.optimizer, state, p.options.config_text, is_best);
      p.log.debug("train", "saved checkpoint " + name);
      for (const std::string& warning : p.checkpoints->take_warnings()) {
        p.log.warning("train", warning);
      }
    }
  });
  name = p.control.broadcast(name);
  if (is_best) {
    state.best_checkpoint = name;
  }
}

/// What the clock says of the part of an epoch that this process has trained.
struct EpochClock {
  double train_seconds = 0;
  double data_wait_seconds = 0;
  double exposed_comm_seconds = 0;
  std::int64_t samples = 0;
};

/// The updates of an epoch that are left, up to `end_update`. Returns early, with all saved, when a
/// stop is wanted; `stop` says so also when it came with the last update.
EpochClock train_updates(FitParts& p, TrainingState& state, std::int64_t end_update,
                         std::int64_t stop_at, bool& stop) {
  EpochClock clock;
  const auto begin = Clock::now();
  const EpochSums& sums = state.running;
  const std::int64_t samples_before = sums.samples;
  p.progress.start(
      "epoch " + std::to_string(state.epoch + 1) + "/" + std::to_string(p.options.epochs),
      end_update, sums.updates, sums.samples);
  p.loader.start_epoch(state.epoch, sums.updates, end_update);
  while (sums.updates < end_update && !stop) {
    stop = run_update(p, state, clock.exposed_comm_seconds) || state.update == stop_at;
    p.progress.update(sums.updates, sums.samples, sums.loss / static_cast<double>(sums.samples),
                      sums.learning_rate);
    const std::int64_t interval = p.options.save_every_updates;
    if (sums.updates < end_update && (stop || (interval > 0 && state.update % interval == 0))) {
      require_finite_weights(p, state.update);
      save(p, state, false);
    }
  }
  p.progress.finish();
  clock.samples = sums.samples - samples_before;
  clock.train_seconds = seconds_since(begin);
  clock.data_wait_seconds = p.loader.waited_seconds();
  return clock;
}

/// What the metrics say of the epoch that `state` has come to the end of.
report::EpochRecord make_record(const TrainingState& state, const EpochClock& clock) {
  const EpochSums& sums = state.running;
  const auto samples = static_cast<double>(sums.samples);
  report::EpochRecord record;
  record.epoch = state.epoch + 1;
  record.updates = state.update;
  record.train_loss = sums.loss / samples;
  record.train_top1 = static_cast<double>(sums.correct) / samples;
  record.learning_rate = sums.learning_rate;
  record.grad_norm = sums.grad_norm / static_cast<double>(sums.updates);
  record.exposed_comm_seconds = clock.exposed_comm_seconds;
  record.train_seconds = clock.train_seconds;
  record.images_per_second = static_cast<double>(clock.samples) / clock.train_seconds;
  record.data_wait_seconds = clock.data_wait_seconds;
  return record;
}

bool stopped_early(const TrainingState& state, const FitOptions& options) {
  return options.early_stopping > 0 && state.best_epoch > 0 &&
         state.epoch - state.best_epoch >= options.early_stopping;
}

}  // namespace

bool is_finished(const TrainingState& state, const FitOptions& options,
                 std::int64_t total_updates) {
  return state.epoch >= options.epochs || state.update >= total_updates ||
         stopped_early(state, options);
}

FitResult fit(FitParts& p) {
  FitResult result;
  TrainingState& state = result.state;
  state = p.state;
  const std::int64_t per_epoch = p.sampler.updates_per_epoch();
  const std::int64_t stop_at =
      p.options.stop_after_updates > 0 ? state.update + p.options.stop_after_updates : -1;
  while (!result.stopped && !is_finished(state, p.options, p.schedule.total_updates)) {
    const std::int64_t left = p.schedule.total_updates - state.update;
    const std::int64_t end_update = std::min(per_epoch, state.running.updates + left);
    const EpochClock clock = train_updates(p, state, end_update, stop_at, result.stopped);
    if (state.running.updates < end_update) {
      break;
    }
    require_finite_weights(p, state.update);

    report::EpochRecord record = make_record(state, clock);
    if (p.val != nullptr) {
      const auto begin = Clock::now();
      record.val = p.val->score(p.network);
      record.eval_seconds = seconds_since(begin);
      require_finite(record.val->loss,
                     "the validation loss after epoch " + std::to_string(record.epoch));
    }
    record.best = note_best(p, record, state);
    comm::agreed_phase(p.control, [&] {
      if (p.metrics != nullptr) {
        p.metrics->write(record);
      }
    });
    report_epoch(p, record);
    if (end_update == per_epoch) {
      ++state.epoch;
      state.running = {};
    }
    save(p, state, record.best);
    if (stopped_early(state, p.options)) {
      p.log.info("train", "stopped early: no better model in " +
                              std::to_string(p.options.early_stopping) +
                              " epochs; the best is of epoch " + std::to_string(state.best_epoch));
    }
  }
  result.stopped = result.stopped && !is_finished(state, p.options, p.schedule.total_updates);
  p.recorder.finish(p.network, state.update);
  return result;
}

}  // namespace lockstep::train
