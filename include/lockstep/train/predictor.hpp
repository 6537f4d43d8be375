#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/train/forward_pass.hpp"

namespace lockstep::train {

struct Prediction {
  std::int64_t id = 0;                ///< of the sample
  std::int64_t label = 0;             ///< -1: not known
  std::vector<std::int64_t> classes;  ///< the k most probable, the most probable first
  std::vector<double> probabilities;  ///< of each of them
  [[nodiscard]] bool finite() const;  ///< false: the network has answered with no numbers
};

/// The k largest of `classes` logits, softmaxed over all. Of equal ones the lower class comes
/// first, as evaluation ranks them; one that is not a number comes last, and no probability is
/// finite then.
[[nodiscard]] Prediction top_classes(const double* logits, std::int64_t classes, std::int64_t k);

/// Predicts the classes of samples, in their order.
class Predictor {
 public:
  /// As ForwardPass; rank and size are taken from `control`. k is cut to the number of classes.
  Predictor(const data::PictureSource& set, std::vector<std::int64_t> ids, std::int64_t batch_size,
            std::int64_t k, data::LoaderOptions options, comm::Collectives& control,
            c10::Device device);

  /// The next batch's predictions, of all ranks and on all ranks, in the order of the samples;
  /// false at the end. Collective.
  [[nodiscard]] bool next(model::Network& network, std::vector<Prediction>& predictions);

 private:
  comm::Collectives& control_;
  std::int64_t k_;
  std::unique_ptr<ForwardPass> pass_;
};

}  // namespace lockstep::train
