#include "lockstep/train/fit.hpp"

#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

#include "lockstep/base/system.hpp"
#include "lockstep/base/wording.hpp"

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

/// A warning that every rank has alike, if it has any: rank 0 gives it.
void warn(FitParts& p, const std::string& message) {
  if (!message.empty() && p.control.world().is_root()) {
    p.progress.finish();  // a bar leaves its line
    p.log.warning("train", message);
  }
}

/// What is not carried from one process to the next: the clock, and alarms that were raised.
struct EpochWatch {
  double train_seconds = 0;
  double data_wait_seconds = 0;
  double exposed_comm_seconds = 0;
  std::int64_t samples = 0;
  report::GradNormAlarm grad_norm;
};

/// One update, added to the sums of its epoch. Whether a stop is wanted after it.
bool run_update(FitParts& p, TrainingState& state, EpochWatch& watch) {
  p.fault.at("step", state.update);
  const double lr = optim::learning_rate(p.schedule, state.update, state.schedule);
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
  watch.samples += result.samples;
  watch.exposed_comm_seconds += p.reducer.exposed_seconds();
  warn(p, watch.grad_norm.note(state.update, result.grad_norm));
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

/// The figure of train.best_by.
double figure_of(const FitParts& p, const report::Scores& val) {
  return p.options.best_by_loss ? val.loss : val.top1();
}

/// Whether the epoch gave the best model so far; remembers it in `state`. Without validation the
/// last model is the best there is.
bool note_best(const FitParts& p, const report::EpochRecord& record, TrainingState& state) {
  if (!record.val) {
    state.best_epoch = record.epoch;
    return true;
  }
  const bool by_loss = p.options.best_by_loss;
  const double score = figure_of(p, *record.val);
  const bool better =
      !state.best_score || (by_loss ? score < *state.best_score : score > *state.best_score);
  if (better) {
    state.best_score = score;
    state.best_epoch = record.epoch;
  }
  return better;
}

/// Shows the schedule what validation gave; says when that lowers the rate.
void note_schedule(const FitParts& p, const report::EpochRecord& record, TrainingState& state) {
  if (!record.val) {
    return;
  }
  const double before = optim::learning_rate(p.schedule, state.update, state.schedule);
  state.schedule =
      optim::after_epoch(p.schedule, state.schedule, state.update, figure_of(p, *record.val));
  const double after = optim::learning_rate(p.schedule, state.update, state.schedule);
  if (after < before) {
    p.log.info("train",
               text("learning rate %.3g -> %.3g: validation gets no better", before, after));
  }
}

/// The memory of the rank that holds most.
void note_memory(const FitParts& p, report::EpochRecord& record) {
  constexpr double kMebibyte = 1 << 20;
  const ProcessMemory mine = process_memory();
  record.rss_mib = static_cast<double>(p.control.max(mine.resident)) / kMebibyte;
  record.peak_mib = static_cast<double>(p.control.max(mine.peak)) / kMebibyte;
}

void report_epoch(FitParts& p, const report::EpochRecord& r) {
  std::string line = text("epoch %lld/%lld  loss %s  top-1 %.2f %%",
                          static_cast<long long>(r.epoch), static_cast<long long>(p.options.epochs),
                          loss_text(r.train_loss).c_str(), 100 * r.train_top1);
  if (r.val) {
    line += text("  |  validation loss %s  top-1 %.2f %%  top-5 %.2f %% of %lld%s",
                 loss_text(r.val->loss).c_str(), 100 * r.val->top1(), 100 * r.val->top5(),
                 static_cast<long long>(r.val->samples), r.best ? "  (best)" : "");
  }
  line += text("  |  lr %.3g  gradient norm %.3g", r.learning_rate, r.grad_norm);
  if (r.low_norms + r.high_norms > 0) {
    line += text(" (too small in %lld, too large in %lld updates)",
                 static_cast<long long>(r.low_norms), static_cast<long long>(r.high_norms));
  }
  line += text("  |  %.0f images/s  waited for data %.1f %%  memory %.0f MiB", r.images_per_second,
               100 * r.data_wait_seconds / r.train_seconds, r.rss_mib);
  p.log.info("train", line);
}

/// Saves on rank 0; a failure there is agreed, so that all ranks leave in order.
void save(FitParts& p, TrainingState& state, bool is_best) {
  p.fault.at("checkpoint", state.epoch + (state.running.updates > 0 ? 1 : 0));
  comm::require_same(p.control, state_digest(p.network), "the model's weights");
  const double probe_loss = p.probe.score(p.network).loss;
  state.probe_loss = std::isfinite(probe_loss) ? std::optional(probe_loss) : std::nullopt;
  std::string name;
  comm::agreed_phase(p.control, [&] {
    if (p.folder != nullptr) {
      p.folder->require_held();
    }
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

/// The updates of an epoch that are left, up to `end_update`. Returns early, with all saved, when a
/// stop is wanted; `stop` says so also when it came with the last update.
EpochWatch train_updates(FitParts& p, TrainingState& state, std::int64_t end_update,
                         std::int64_t stop_at, bool& stop) {
  state.running.validated = false;
  EpochWatch watch{.grad_norm = report::GradNormAlarm(p.options.grad_norm)};
  const auto begin = Clock::now();
  const EpochSums& sums = state.running;
  p.progress.start(
      "epoch " + std::to_string(state.epoch + 1) + "/" + std::to_string(p.options.epochs),
      end_update, sums.updates, sums.samples);
  p.loader.start_epoch(state.epoch, sums.updates, end_update);
  while (sums.updates < end_update && !stop) {
    stop = run_update(p, state, watch) || state.update == stop_at;
    p.progress.update(sums.updates, sums.samples, sums.loss / static_cast<double>(sums.samples),
                      sums.learning_rate);
    const std::int64_t interval = p.options.save_every_updates;
    if (sums.updates < end_update && (stop || (interval > 0 && state.update % interval == 0))) {
      require_finite_weights(p, state.update);
      save(p, state, false);
    }
  }
  p.progress.finish();
  watch.train_seconds = seconds_since(begin);
  watch.data_wait_seconds = p.loader.waited_seconds();
  return watch;
}

/// What the metrics say of the epoch that `state` has come to the end of.
report::EpochRecord make_record(const TrainingState& state, const EpochWatch& watch) {
  const EpochSums& sums = state.running;
  const auto samples = static_cast<double>(sums.samples);
  report::EpochRecord record;
  record.epoch = state.epoch + 1;
  record.updates = state.update;
  record.train_loss = sums.loss / samples;
  record.train_top1 = static_cast<double>(sums.correct) / samples;
  record.learning_rate = sums.learning_rate;
  record.grad_norm = sums.grad_norm / static_cast<double>(sums.updates);
  record.low_norms = watch.grad_norm.below();
  record.high_norms = watch.grad_norm.above();
  record.exposed_comm_seconds = watch.exposed_comm_seconds;
  record.train_seconds = watch.train_seconds;
  record.images_per_second = static_cast<double>(watch.samples) / watch.train_seconds;
  record.data_wait_seconds = watch.data_wait_seconds;
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
  report::MemoryAlarm memory_alarm;
  const std::int64_t per_epoch = p.sampler.updates_per_epoch();
  const std::int64_t stop_at =
      p.options.stop_after_updates > 0 ? state.update + p.options.stop_after_updates : -1;
  while (!result.stopped && !is_finished(state, p.options, p.schedule.total_updates)) {
    const std::int64_t left = p.schedule.total_updates - state.update;
    const std::int64_t end_update = std::min(per_epoch, state.running.updates + left);
    const EpochWatch watch = train_updates(p, state, end_update, stop_at, result.stopped);
    if (state.running.updates < end_update) {
      break;
    }
    require_finite_weights(p, state.update);

    report::EpochRecord record = make_record(state, watch);
    if (p.val != nullptr) {
      const auto begin = Clock::now();
      record.val = p.val->score(p.network);
      record.eval_seconds = seconds_since(begin);
      require_finite(record.val->loss,
                     "the validation loss after epoch " + std::to_string(record.epoch));
    }
    record.best = note_best(p, record, state);
    note_memory(p, record);
    comm::agreed_phase(p.control, [&] {
      if (p.metrics != nullptr) {
        p.metrics->write(record);
      }
    });
    report_epoch(p, record);
    warn(p, memory_alarm.note(record.rss_mib));
    if (end_update == per_epoch) {
      note_schedule(p, record, state);
      ++state.epoch;
      state.running = {};
    } else {
      state.running.validated = true;
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
