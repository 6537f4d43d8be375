#include "workplace.hpp"

#include <ATen/Parallel.h>

namespace lockstep::jobs {

Workplace take_workplace(JobContext& context, const RunConfig& config) {
  Workplace place;
  place.choice = train::choose_device(config.run.device, context.control);
  train::choose_kernels(place.device(), config.run.deterministic);
  place.plan = train::plan_threads(config.run.threads, context.control);
  at::set_num_threads(place.plan.threads);
  place.collectives = train::make_training_collectives(place.device(), context.session,
                                                       context.control, config.comm.timeout);
  return place;
}

}  // namespace lockstep::jobs
