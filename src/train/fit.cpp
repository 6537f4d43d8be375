#include "lockstep/train/fit.hpp"

#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

#include "lockstep/base/system.hpp"

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

/// What the updates of an epoch add up to.
struct EpochSums {
  std::int64_t updates = 0;
  std::int64_t samples = 0;
  std::int64_t correct = 0;
  double loss = 0;
  double grad_norm = 0;
  double exposed_comm_seconds = 0;
  double learning_rate = 0;  ///< of the last update
  report::GradNormAlarm grad_norm_alarm;
};

void run_update(FitParts& p, TrainingState& state, EpochSums& sums) {
  p.fault.at("step", state.update);
  const double lr = optim::learning_rate(p.schedule, state.update, state.schedule);
  const StepResult result =
      p.trainer.compute_gradients(p.loader, state.update, p.fault.spoils(state.update));
  p.recorder.update(p.network, result, state.update, state.epoch, lr);
  p.trainer.apply(result, lr);
  p.recorder.applied(p.network, state.update);

  ++state.update;
  state.data_position += result.samples;
  ++sums.updates;
  sums.samples += result.samples;
  sums.correct += result.correct;
  sums.loss += result.loss_sum;
  sums.grad_norm += result.grad_norm;
  sums.exposed_comm_seconds += p.reducer.exposed_seconds();
  sums.learning_rate = lr;
  warn(p, sums.grad_norm_alarm.note(state.update, result.grad_norm));
}

/// The updates of one epoch, up to `end_update`, which may cut it short.
report::EpochRecord train_epoch(FitParts& p, TrainingState& state, std::int64_t end_update) {
  const auto begin = Clock::now();
  const std::int64_t epoch = state.epoch + 1;
  p.progress.start("epoch " + std::to_string(epoch) + "/" + std::to_string(p.options.epochs),
                   end_update);
  p.loader.start_epoch(state.epoch, 0, end_update);
  EpochSums sums{.grad_norm_alarm = report::GradNormAlarm(p.options.grad_norm)};
  while (sums.updates < end_update) {
    run_update(p, state, sums);
    p.progress.update(sums.updates, sums.samples, sums.loss / static_cast<double>(sums.samples),
                      sums.learning_rate);
  }
  p.progress.finish();
  if (end_update == p.sampler.updates_per_epoch()) {
    ++state.epoch;
    state.data_position = 0;
  }

  report::EpochRecord record;
  const auto samples = static_cast<double>(sums.samples);
  record.epoch = epoch;
  record.updates = state.update;
  record.train_loss = sums.loss / samples;
  record.train_top1 = static_cast<double>(sums.correct) / samples;
  record.learning_rate = sums.learning_rate;
  record.grad_norm = sums.grad_norm / static_cast<double>(sums.updates);
  record.low_norms = sums.grad_norm_alarm.below();
  record.high_norms = sums.grad_norm_alarm.above();
  record.exposed_comm_seconds = sums.exposed_comm_seconds;
  record.train_seconds = seconds_since(begin);
  record.images_per_second = samples / record.train_seconds;
  record.data_wait_seconds = p.loader.waited_seconds();
  return record;
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
  std::string line =
      text("epoch %lld/%lld  loss %.4f  top-1 %.2f %%", static_cast<long long>(r.epoch),
           static_cast<long long>(p.options.epochs), r.train_loss, 100 * r.train_top1);
  if (r.val) {
    line += text("  |  validation loss %.4f  top-1 %.2f %%  top-5 %.2f %% of %lld%s", r.val->loss,
                 100 * r.val->top1(), 100 * r.val->top5(), static_cast<long long>(r.val->samples),
                 r.best ? "  (best)" : "");
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
std::string save(FitParts& p, const TrainingState& state, const report::EpochRecord& record) {
  std::string name;
  p.fault.at("checkpoint", record.epoch);
  comm::require_same(p.control, state_digest(p.network), "the model's weights");
  comm::agreed_phase(p.control, [&] {
    if (p.checkpoints != nullptr) {
      name = p.checkpoints->save(p.network, p.optimizer, state, p.options.config_text, record.best);
      p.log.debug("train", "saved checkpoint " + name);
      for (const std::string& warning : p.checkpoints->take_warnings()) {
        p.log.warning("train", warning);
      }
    }
  });
  return p.control.broadcast(name);
}

}  // namespace

FitResult fit(FitParts& p) {
  TrainingState state = p.state;
  FitResult result;
  report::MemoryAlarm memory_alarm;
  const std::int64_t per_epoch = p.sampler.updates_per_epoch();
  while (state.epoch < p.options.epochs && state.update < p.schedule.total_updates) {
    const std::int64_t left = p.schedule.total_updates - state.update;
    report::EpochRecord record = train_epoch(p, state, std::min(per_epoch, left));
    require_finite_weights(p, state.update);

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
    note_schedule(p, record, state);
    const std::string name = save(p, state, record);
    if (record.best) {
      result.best_checkpoint = name;
    }
    const std::int64_t patience = p.options.early_stopping;
    if (patience > 0 && record.epoch - state.best_epoch >= patience) {
      p.log.info("train", "stopped early: no better model in " + std::to_string(patience) +
                              " epochs; the best is of epoch " + std::to_string(state.best_epoch));
      break;
    }
  }
  p.recorder.finish(p.network, state.update);
  result.state = state;
  return result;
}

}  // namespace lockstep::train
