#include <cmath>
#include <optional>

#include "build.hpp"
#include "class_report.hpp"
#include "job.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/fault.hpp"
#include "lockstep/train/checkpoint.hpp"
#include "lockstep/train/evaluator.hpp"
#include "lockstep/train/trainer.hpp"
#include "trained_model.hpp"
#include "workplace.hpp"

namespace lockstep::jobs {
ExitCode run_evaluate(JobContext& context) {
  const std::optional<TrainedModel> trained = load_trained_model(context);
  if (!trained) {
    return ExitCode::kDone;
  }
  const RunConfig& config = trained->config;
  const train::LoadedCheckpoint& loaded = trained->checkpoint;
  comm::Collectives& control = context.control;
  const comm::World& world = context.session.world();
  comm::agreed_phase(control, [&] { FaultPoint(config.fault, world.rank).at("evaluate"); });

  const InputShape input{loaded.state.classes, loaded.state.height, loaded.state.width};
  const auto set = open_set(control, config.data.test, "data.test");
  comm::agreed_phase(control,
                     [&] { require_like(*set, input, "the checkpoint '" + loaded.folder + "'"); });
  const Workplace place = take_workplace(context, config);
  const std::string folder = context.command_line.verb_value("report");
  std::shared_ptr<model::Network> network;
  std::optional<train::Evaluator> evaluator;
  comm::agreed_phase(control, [&] {
    network = build_network(config, input, place.device(), place.collectives.batch_norm());
    train::copy_state(*network, loaded.model);
    evaluator.emplace(*set, all_ids(set->size()), config.train.eval_batch_size,
                      loader_options(config, world, loaded.state.mean, loaded.state.std), control,
                      place.device());
    if (world.is_root() && !folder.empty()) {
      make_report_folder(folder);
    }
  });
  context.log.info(
      "evaluate",
      "checkpoint " + loaded.folder + " (" + config.model.name + " after " +
          std::to_string(loaded.state.update) + " updates), device " +
          train::device_text(place.choice, place.plan.threads, config.run.deterministic));
  report::ConfusionMatrix confusion(static_cast<std::int64_t>(input.classes.size()));
  const report::Scores scores = evaluator->score(*network, &confusion);
  context.log.result("evaluate", "'" + set->folder() + "': " + scores_text(scores));
  if (std::isfinite(scores.loss)) {
    report_classes(context, confusion, input.classes, folder);
  }
  comm::agreed_phase(control, [&] {
    require(!context.log.console_failed(), "the scores could not be written to the console",
            "see the message above, if it could be", "free space where the standard output goes");
  });
  train::require_finite(scores.loss, "the loss of this model on '" + set->folder() + "'");
  return ExitCode::kDone;
}

}  // namespace lockstep::jobs
