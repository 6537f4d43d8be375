#pragma once

#include <string>
#include <vector>

#include "lockstep/base/cli.hpp"

namespace lockstep {

/// Two verbs and a few words, in the manner of the real program.
inline const Program& small_program() {
  using Role = OptionRole;
  static const Program program{
      {{.name = "train",
        .summary = "train a model",
        .example = "  lockstep train --config a.cfg\n",
        .takes = {Role::kNetwork, Role::kNumerics, Role::kMachine, Role::kInference, Role::kScoring,
                  Role::kTraining}},
       {.name = "evaluate",
        .summary = "score a model",
        .example = "  lockstep evaluate --checkpoint best\n",
        .takes = {Role::kNumerics, Role::kMachine, Role::kInference, Role::kScoring},
        .inherits = {Role::kNetwork, Role::kNumerics},
        .options = {{"checkpoint", "PATH", "model to score"}}}},
      {{"model.name",
        {{"simple_cnn", "two convolutions", {"model.dropout"}},
         {"cifar_cnn", "four convolutions", {"model.dropout"}},
         {"resnet18", "", {"model.stem"}}}},
       {"optim.name",
        {{"sgd", "", {"optim.momentum", "optim.nesterov"}},
         {"adamw", "", {"optim.beta1", "optim.beta2", "optim.eps"}}}},
       {"schedule.name",
        {{"constant", ""},
         {"step", "", {"schedule.step_epochs", "schedule.gamma"}},
         {"cosine", "", {"schedule.min_lr"}},
         {"linear", "", {"schedule.min_lr"}}}}}};
  return program;
}

inline CommandLine parse(const std::vector<std::string>& args,
                         const std::string& checkpoint_config = {}) {
  return parse_command_line(args, small_program(), checkpoint_config, "saved.cfg");
}

}  // namespace lockstep
