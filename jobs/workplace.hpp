#pragma once

#include "job.hpp"
#include "lockstep/base/config.hpp"
#include "lockstep/train/device.hpp"

namespace lockstep::jobs {

/// Where this rank computes, with how many threads, and how it speaks to the others about tensors.
struct Workplace {
  train::DeviceChoice choice;
  train::ThreadPlan plan;
  train::TrainingCollectives collectives;
  [[nodiscard]] const c10::Device& device() const { return choice.device; }
};

/// Takes the device and threads that the configuration asks for. Before the first tensor operation.
/// Collective; failures are agreed.
[[nodiscard]] Workplace take_workplace(JobContext& context, const RunConfig& config);

}  // namespace lockstep::jobs
