#include "lockstep/train/evaluator.hpp"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "lockstep/base/check.hpp"

namespace lockstep::train {
namespace {

constexpr std::int64_t kTop = 5;

/// Adds one sample's loss and hits; logits are `classes` doubles.
void add_sample(const double* logits, std::int64_t classes, std::int64_t label,
                report::Scores& scores) {
  const double target = logits[label];
  double highest = target;
  std::int64_t better = 0;
  for (std::int64_t k = 0; k < classes; ++k) {
    highest = std::max(highest, logits[k]);
    // Written so that a NaN on either side counts against the target.
    const bool worse = logits[k] < target || (logits[k] == target && k >= label);
    better += worse ? 0 : 1;
  }
  double sum = 0;
  for (std::int64_t k = 0; k < classes; ++k) {
    sum += std::exp(logits[k] - highest);
  }
  scores.loss += std::log(sum) + highest - target;
  const bool known = !std::isnan(target);
  scores.correct1 += known && better == 0 ? 1 : 0;
  scores.correct5 += known && better < kTop ? 1 : 0;
  ++scores.samples;
}

/// Sums the counts over the ranks and holds them against the scores of the same samples.
void sum_confusion(comm::Collectives& control, const report::Scores& scores,
                   report::ConfusionMatrix& confusion) {
  std::vector<std::int64_t>& counts = confusion.counts();
  control.all_reduce(counts.data(), counts.size(), comm::DataType::kInt64, comm::ReduceOp::kSum);
  // Where a logit is no number the loss is none either, and hits are not those of the maximum.
  const bool agree = confusion.samples() == scores.samples &&
                     (!std::isfinite(scores.loss) || confusion.correct() == scores.correct1);
  require(agree, "the confusion matrix does not agree with the scores",
          std::to_string(confusion.correct()) + " of " + std::to_string(confusion.samples()) +
              " correct against " + std::to_string(scores.correct1) + " of " +
              std::to_string(scores.samples),
          "report this as a defect");
}

}  // namespace

Evaluator::Evaluator(const data::PictureSource& set, std::vector<std::int64_t> ids,
                     std::int64_t batch_size, data::LoaderOptions options,
                     comm::Collectives& control, c10::Device device)
    : control_(control) {
  options.rank = control.world().rank;
  options.size = control.world().size;
  pass_ = std::make_unique<ForwardPass>(set, std::move(ids), batch_size, options, device);
}

report::Scores Evaluator::score(model::Network& network, report::ConfusionMatrix* confusion) {
  report::Scores mine;
  pass_->start();
  data::Batch batch;
  at::Tensor logits;
  while (pass_->next(network, batch, logits)) {
    for (std::int64_t i = 0; i < batch.size(); ++i) {
      const std::int64_t classes = logits.size(1);
      require(confusion == nullptr || confusion->classes() == classes,
              "the confusion matrix has other classes than the network",
              std::to_string(classes) + " logits", "report this as a defect");
      const double* row = logits.const_data_ptr<double>() + i * classes;
      const std::int64_t label = batch.labels[static_cast<std::size_t>(i)];
      add_sample(row, classes, label, mine);
      if (confusion != nullptr) {
        confusion->add(label, std::max_element(row, row + classes) - row);
      }
    }
  }
  std::vector<double> totals{mine.loss, static_cast<double>(mine.correct1),
                             static_cast<double>(mine.correct5), static_cast<double>(mine.samples)};
  control_.sum(totals);
  report::Scores scores;
  scores.samples = std::llround(totals[3]);
  require(scores.samples == pass_->samples(), "evaluation lost samples",
          std::to_string(scores.samples) + " scored of " + std::to_string(pass_->samples()),
          "report this as a defect");
  scores.loss = scores.samples > 0 ? totals[0] / totals[3] : 0;
  scores.correct1 = std::llround(totals[1]);
  scores.correct5 = std::llround(totals[2]);
  if (confusion != nullptr) {
    sum_confusion(control_, scores, *confusion);
  }
  return scores;
}

}  // namespace lockstep::train
