#include "lockstep/train/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

namespace lockstep::train {
namespace {

template <typename T>
void append(std::string& bytes, const T* values, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

template <typename T>
void take(const char*& from, T* values, std::size_t count) {
  std::memcpy(values, from, count * sizeof(T));
  from += count * sizeof(T);
}

void append(std::string& bytes, const Prediction& prediction) {
  const std::int64_t head[] = {prediction.id, prediction.label,
                               static_cast<std::int64_t>(prediction.classes.size())};
  append(bytes, head, std::size(head));
  append(bytes, prediction.classes.data(), prediction.classes.size());
  append(bytes, prediction.probabilities.data(), prediction.probabilities.size());
}

Prediction take_prediction(const char*& from) {
  std::int64_t head[3] = {};
  take(from, head, std::size(head));
  Prediction prediction;
  prediction.id = head[0];
  prediction.label = head[1];
  prediction.classes.resize(static_cast<std::size_t>(head[2]));
  prediction.probabilities.resize(static_cast<std::size_t>(head[2]));
  take(from, prediction.classes.data(), prediction.classes.size());
  take(from, prediction.probabilities.data(), prediction.probabilities.size());
  return prediction;
}

}  // namespace

bool Prediction::finite() const {
  return std::all_of(probabilities.begin(), probabilities.end(),
                     [](double p) { return std::isfinite(p); });
}

Prediction top_classes(const double* logits, std::int64_t classes, std::int64_t k) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(classes));
  std::iota(order.begin(), order.end(), 0);
  const auto before = [logits](std::int64_t a, std::int64_t b) {
    const bool a_known = !std::isnan(logits[a]);
    const bool b_known = !std::isnan(logits[b]);
    if (a_known != b_known) return a_known;
    if (a_known && logits[a] != logits[b]) return logits[a] > logits[b];
    return a < b;
  };
  const auto kept = static_cast<std::ptrdiff_t>(std::clamp<std::int64_t>(k, 1, classes));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), before);
  const double highest = logits[order.front()];
  double sum = 0;
  for (std::int64_t i = 0; i < classes; ++i) {
    sum += std::exp(logits[i] - highest);
  }
  Prediction top;
  for (std::ptrdiff_t i = 0; i < kept; ++i) {
    const std::int64_t chosen = order[static_cast<std::size_t>(i)];
    top.classes.push_back(chosen);
    top.probabilities.push_back(std::exp(logits[chosen] - highest) / sum);
  }
  return top;
}

Predictor::Predictor(const data::PictureSource& set, std::vector<std::int64_t> ids,
                     std::int64_t batch_size, std::int64_t k, data::LoaderOptions options,
                     comm::Collectives& control, c10::Device device)
    : control_(control), k_(k) {
  options.rank = control.world().rank;
  options.size = control.world().size;
  pass_ = std::make_unique<ForwardPass>(set, std::move(ids), batch_size, options, device);
  pass_->start();
}

bool Predictor::next(model::Network& network, std::vector<Prediction>& predictions) {
  predictions.clear();
  data::Batch batch;
  at::Tensor logits;
  // Every rank has the same number of batches: an empty part is delivered, too.
  if (!pass_->next(network, batch, logits)) {
    return false;
  }
  std::string mine;
  for (std::int64_t i = 0; i < batch.size(); ++i) {
    const std::int64_t classes = logits.size(1);
    Prediction top = top_classes(logits.const_data_ptr<double>() + i * classes, classes, k_);
    top.id = batch.ids[static_cast<std::size_t>(i)];
    top.label = batch.labels[static_cast<std::size_t>(i)];
    append(mine, top);
  }
  // The parts of a batch lie in the order of the ranks.
  for (const std::string& part : control_.all_gather(mine)) {
    for (const char* from = part.data(); from < part.data() + part.size();) {
      predictions.push_back(take_prediction(from));
    }
  }
  return true;
}

}  // namespace lockstep::train
