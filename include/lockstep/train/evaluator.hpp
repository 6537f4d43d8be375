#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/data/loader.hpp"
#include "lockstep/data/picture_source.hpp"
#include "lockstep/model/network.hpp"
#include "lockstep/report/confusion.hpp"
#include "lockstep/report/metrics.hpp"
#include "lockstep/train/forward_pass.hpp"

namespace lockstep::train {

/// Scores a network on samples of a set, exactly: every sample once, on any number of ranks, no
/// padding. A sample's rank among the logits counts ties with lower class index as better, so that
/// top-1 is the first maximum; a logit that is not a number is a wrong answer.
class Evaluator {
 public:
  /// `set` and `control` must outlive the evaluator. `batch_size` is global. The loader options'
  /// rank and size are taken from `control`; augmentation is off.
  Evaluator(const data::PictureSource& set, std::vector<std::int64_t> ids, std::int64_t batch_size,
            data::LoaderOptions options, comm::Collectives& control, c10::Device device);

  /// Collective. Throws Error when the counted samples differ from the set's. `confusion`, null on
  /// every rank or on none, must be empty and gets the counts of all ranks; a sample is taken for
  /// the class of its highest logit, the first among equals.
  [[nodiscard]] report::Scores score(model::Network& network,
                                     report::ConfusionMatrix* confusion = nullptr);

 private:
  comm::Collectives& control_;
  std::unique_ptr<ForwardPass> pass_;
};

}  // namespace lockstep::train
