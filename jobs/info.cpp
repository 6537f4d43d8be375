#include <cstdio>
#include <sstream>

#include "job.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/config_changes.hpp"
#include "lockstep/base/wording.hpp"
#include "lockstep/train/checkpoint.hpp"

namespace lockstep::jobs {
namespace {

std::string percent_or_number(double score, bool is_loss) {
  if (is_loss) {
    return "validation loss " + loss_text(score);
  }
  char text[48] = {};
  std::snprintf(text, sizeof(text), "validation top-1 %.2f %%", 100 * score);
  return text;
}

std::int64_t elements(const train::NamedTensors& tensors) {
  std::int64_t count = 0;
  for (const auto& [name, tensor] : tensors) {
    count += tensor.numel();
  }
  return count;
}

/// What a person wants to know of a checkpoint, one thing a line.
std::string text_of(const train::LoadedCheckpoint& loaded, const RunConfig& config) {
  const train::TrainingState& state = loaded.state;
  std::ostringstream text;
  text << "checkpoint   " << loaded.folder << '\n'
       << "model        " << config.model.name << ", " << elements(loaded.model)
       << " values in weights and buffers, trained in " << config.run.dtype << '\n'
       << "trained      " << counted(state.epoch, "epoch") << ", "
       << counted(state.update, "update");
  if (state.running.updates > 0) {
    text << " (inside epoch " << state.epoch + 1 << ", " << state.running.samples
         << " of its samples done)";
  }
  text << "\nbest         ";
  if (state.best_epoch == 0) {
    text << "none yet";
  } else {
    text << "epoch " << state.best_epoch << ", "
         << (state.best_score ? percent_or_number(*state.best_score, config.train.best_by == "loss")
                              : std::string("without validation"))
         << " (" << state.best_checkpoint << ")";
  }
  text << "\noptimizer    " << config.optim.name << ", " << loaded.optimizer_steps << " steps, "
       << elements(loaded.optimizer) << " values\n"
       << "pictures     " << state.height << " x " << state.width << ", mean " << state.mean[0]
       << ", " << state.mean[1] << ", " << state.mean[2] << ", std " << state.std[0] << ", "
       << state.std[1] << ", " << state.std[2] << ", fit " << state.packed.fit << '\n'
       << "training set " << state.train_set_id << '\n'
       << "made on      " << counted(state.ranks, "rank") << ", "
       << counted(state.threads, "thread") << ", " << state.cpu_capability << '\n'
       << "classes      " << state.classes.size() << ":";
  for (const std::string& name : state.classes) {
    text << ' ' << name;
  }
  text << '\n';
  return text.str();
}

}  // namespace

ExitCode run_info(JobContext& context) {
  comm::agreed_phase(context.control, [&] {
    const std::string path = context.command_line.verb_value("checkpoint");
    if (path.empty()) {
      throw UsageError("no checkpoint is given", "info looks at a trained model",
                       "add --checkpoint runs/NAME/checkpoints/best");
    }
    if (context.session.world().is_root()) {
      const train::LoadedCheckpoint loaded = train::load_checkpoint(path, train::LoadParts::kAll);
      const RunConfig config =
          config_from_text(loaded.config_text, loaded.folder + "/config.cfg", program());
      print_output(text_of(loaded, config));
    }
  });
  return ExitCode::kDone;
}

}  // namespace lockstep::jobs
