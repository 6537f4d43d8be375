#include "lockstep/train/forward_pass.hpp"

#include <torch/types.h>

#include <utility>

#include "lockstep/data/batch_tensor.hpp"

namespace lockstep::train {
namespace {

data::Sampler in_order(std::int64_t samples, std::int64_t batch_size) {
  data::SamplerOptions options;
  options.samples = samples;
  options.batch_size = batch_size;
  options.shuffle = false;
  return data::Sampler(options);
}

}  // namespace

ForwardPass::ForwardPass(const data::PictureSource& set, std::vector<std::int64_t> ids,
                         std::int64_t batch_size, data::LoaderOptions options, c10::Device device)
    : device_(device), sampler_(in_order(static_cast<std::int64_t>(ids.size()), batch_size)) {
  options.augment = false;
  loader_ = std::make_unique<data::Loader>(set, std::move(ids), sampler_, options);
}

void ForwardPass::start() { loader_->start_epoch(0, 0, sampler_.updates_per_epoch()); }

bool ForwardPass::next(model::Network& network, data::Batch& batch, at::Tensor& logits) {
  if (!loader_->next(batch)) {
    return false;
  }
  logits = at::Tensor();
  if (batch.size() > 0) {
    const torch::NoGradGuard no_grad;
    logits = network.forward(data::images_tensor(batch).to(device_), model::StepContext{})
                 .to(at::kCPU, at::kDouble)
                 .contiguous();
  }
  batch.storage.reset();
  return true;
}

}  // namespace lockstep::train
