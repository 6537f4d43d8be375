#include <ATen/Parallel.h>

#include "build.hpp"
#include "job.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/fault.hpp"
#include "lockstep/train/checkpoint.hpp"
#include "lockstep/train/device.hpp"
#include "lockstep/train/evaluator.hpp"

namespace lockstep::jobs {

void run_evaluate(JobContext& context) {
  comm::Collectives& control = context.control;
  const comm::World& world = context.session.world();
  const std::string& path = context.command_line.checkpoint;
  comm::agreed_phase(control, [&] {
    if (path.empty()) {
      throw UsageError("no checkpoint is given", "evaluate scores a trained model",
                       "add --checkpoint runs/NAME/checkpoints/best");
    }
  });
  const train::LoadedCheckpoint loaded = train::load_checkpoint_everywhere(control, path);

  // The model and its preprocessing come from the checkpoint's own config, under what the command
  // line says.
  RunConfig config;
  comm::agreed_phase(control, [&] {
    config = parse_command_line(context.args, job_verbs(), loaded.config_text,
                                loaded.folder + "/config.cfg")
                 .config;
    validate(config);
    FaultPoint(config.fault, world.rank).at("evaluate");
  });
  comm::require_same(control, config_hash(config), "the configuration");

  const InputShape input{loaded.state.classes, loaded.state.height, loaded.state.width};
  const auto set = open_set(control, config.data.test, "data.test");
  comm::agreed_phase(control, [&] { require_like(*set, input, "the checkpoint '" + path + "'"); });
  c10::Device device(c10::kCPU);
  comm::agreed_phase(control, [&] { device = train::select_device(config.run.device, control); });
  const int threads = train::compute_threads(config.run.threads, control);
  at::set_num_threads(threads);
  const train::TrainingCollectives collectives =
      train::make_training_collectives(device, context.session, control, config.comm.timeout);
  std::shared_ptr<model::Network> network;
  comm::agreed_phase(control, [&] {
    network = build_network(config, input, device, collectives.batch_norm());
    train::copy_state(*network, loaded.model);
  });
  context.log.info("evaluate", "checkpoint " + loaded.folder + " (" + config.model.name +
                                   ", epoch " + std::to_string(loaded.state.epoch) + "), device " +
                                   train::device_text(device, threads));

  train::Evaluator evaluator(*set, all_ids(set->size()), config.train.eval_batch_size,
                             loader_options(config, world, loaded.state.mean, loaded.state.std),
                             control, device);
  context.log.info("evaluate",
                   "'" + set->folder() + "': " + scores_text(evaluator.score(*network)));
}

}  // namespace lockstep::jobs
