#include "lockstep/train/fit.hpp"

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

/// The updates of one epoch (from its first up to `end_update`), summed up for the report.
report::EpochRecord train_epoch(FitParts& p, TrainingState& state, std::int64_t end_update) {
  report::EpochRecord record;
  std::int64_t samples = 0;
  std::int64_t correct = 0;
  const auto begin = Clock::now();
  p.progress.start(
      "epoch " + std::to_string(state.epoch + 1) + "/" + std::to_string(p.config.train.epochs),
      end_update);
  p.loader.start_epoch(state.epoch, 0, end_update);
  for (std::int64_t step = 0; step < end_update; ++step) {
    p.fault.at("step", state.update);
    const double lr = optim::learning_rate(p.schedule, state.update);
    const StepResult result =
        p.trainer.compute_gradients(p.loader, state.update, p.fault.spoils(state.update));
    p.recorder.update(p.network, result, state.update, state.epoch, lr);
    p.trainer.apply(result, lr);
    p.recorder.applied(p.network, state.update);
    ++state.update;

    samples += result.samples;
    correct += result.correct;
    record.train_loss += result.loss_sum;
    record.grad_norm += result.grad_norm;
    record.learning_rate = lr;
    record.exposed_comm_seconds += p.reducer.exposed_seconds();
    p.progress.update(step + 1, samples, record.train_loss / static_cast<double>(samples), lr);
  }
  p.progress.finish();
  ++state.epoch;
  record.epoch = state.epoch;
  record.updates = state.update;
  record.train_loss /= static_cast<double>(samples);
  record.train_top1 = static_cast<double>(correct) / static_cast<double>(samples);
  record.grad_norm /= static_cast<double>(end_update);
  record.train_seconds = seconds_since(begin);
  record.images_per_second = static_cast<double>(samples) / record.train_seconds;
  record.data_wait_seconds = p.loader.waited_seconds();
  return record;
}

/// Whether the epoch gave the best model so far; remembers it in `state`. Without validation the
/// last model is the best there is.
bool note_best(const FitParts& p, const report::EpochRecord& record, TrainingState& state) {
  if (!record.val) {
    state.best_epoch = state.epoch;
    return true;
  }
  const bool by_loss = p.config.train.best_by == "loss";
  double score = by_loss ? record.val->loss : record.val->top1();
  if (std::isnan(score)) {
    score = std::numeric_limits<double>::infinity();  // the worst loss there is
  }
  const bool better =
      !state.best_score || (by_loss ? score < *state.best_score : score > *state.best_score);
  if (better) {
    state.best_score = score;
    state.best_epoch = state.epoch;
  }
  return better;
}

void report_epoch(FitParts& p, const report::EpochRecord& r) {
  std::string line =
      text("epoch %lld/%lld  loss %.4f  top-1 %.2f %%", static_cast<long long>(r.epoch),
           static_cast<long long>(p.config.train.epochs), r.train_loss, 100 * r.train_top1);
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
std::string save(FitParts& p, const TrainingState& state, bool is_best) {
  std::string name;
  p.fault.at("checkpoint", state.epoch);
  comm::require_same(p.control, state_digest(p.network), "the model's weights");
  comm::agreed_phase(p.control, [&] {
    if (p.checkpoints != nullptr) {
      name = p.checkpoints->save(p.network, p.optimizer, state, to_text(p.config), is_best);
      p.log.debug("train", "saved checkpoint " + name);
    }
  });
  return p.control.broadcast(name);
}

}  // namespace

FitResult fit(FitParts& p) {
  TrainingState state = p.state;
  FitResult result;
  const std::int64_t per_epoch = p.sampler.updates_per_epoch();
  while (state.epoch < p.config.train.epochs && state.update < p.schedule.total_updates) {
    const std::int64_t left = p.schedule.total_updates - state.update;
    report::EpochRecord record = train_epoch(p, state, std::min(per_epoch, left));

    if (p.val != nullptr) {
      const auto begin = Clock::now();
      record.val = p.val->score(p.network);
      record.eval_seconds = seconds_since(begin);
    }
    record.best = note_best(p, record, state);
    comm::agreed_phase(p.control, [&] {
      if (p.metrics != nullptr) {
        p.metrics->write(record);
      }
    });
    report_epoch(p, record);
    const std::string name = save(p, state, record.best);
    if (record.best) {
      result.best_checkpoint = name;
    }
    const std::int64_t patience = p.config.train.early_stopping;
    if (patience > 0 && state.epoch - state.best_epoch >= patience) {
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
