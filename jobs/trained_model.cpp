#include "trained_model.hpp"

#include <string>
#include <tuple>

#include "lockstep/base/check.hpp"

namespace lockstep::jobs {
namespace {

/// A configuration that leaves mean and std to the training set says "empty": what the model
/// computes with is in the checkpoint's state.
void show_normalisation(const train::TrainingState& state, CommandLine& command_line) {
  RunConfig::Augment& shown = command_line.config.augment;
  for (const auto& [key, values, trained] : {std::tuple("augment.mean", &shown.mean, &state.mean),
                                             std::tuple("augment.std", &shown.std, &state.std)}) {
    if (values->empty()) {
      values->assign(trained->begin(), trained->end());
      command_line.origin[key] = "checkpoint";
    }
  }
}

}  // namespace

std::optional<TrainedModel> load_trained_model(JobContext& context) {
  comm::Collectives& control = context.control;
  const std::string given = context.command_line.verb_value("checkpoint");
  comm::agreed_phase(control, [&] {
    if (given.empty()) {
      throw UsageError("no checkpoint is given",
                       context.command_line.verb + " works on a trained model",
                       "add --checkpoint runs/NAME/checkpoints/best");
    }
  });
  TrainedModel trained;
  trained.checkpoint = train::load_checkpoint_everywhere(control, given);
  CommandLine command_line;
  comm::agreed_phase(control, [&] {
    command_line = parse_command_line(context.args, program(), trained.checkpoint.config_text,
                                      trained.checkpoint.folder + "/config.cfg");
    validate(command_line.config);
  });
  comm::require_same(control, config_hash(command_line.config), "the configuration");
  if (command_line.print_config) {
    show_normalisation(trained.checkpoint.state, command_line);
    if (context.session.world().is_root()) {
      print_output(print_config_text(command_line));
    }
    return std::nullopt;
  }
  trained.config = command_line.config;
  return trained;
}

}  // namespace lockstep::jobs
