#include "job.hpp"

#include <iostream>

#include "lockstep/base/check.hpp"
#include "lockstep/model/models.hpp"
#include "lockstep/optim/optimizer.hpp"
#include "lockstep/optim/schedule.hpp"

namespace lockstep::jobs {
namespace {

using Role = OptionRole;

constexpr const char* kTrainExample =
    R"(  lockstep train --config configs/cifar_cnn.cfg --data.train shards/train
  mpirun -np 4 lockstep train --config configs/cifar_cnn.cfg --data.train shards/train \
      --data.test shards/test --train.epochs 20
)";
constexpr const char* kEvaluateExample =
    R"(  mpirun -np 4 lockstep evaluate --checkpoint runs/NAME/checkpoints/best --data.test shards/test
)";

constexpr const char* kPredictExample =
    R"(  lockstep predict --checkpoint runs/NAME/checkpoints/best photo.jpg
  mpirun -np 4 lockstep predict --checkpoint runs/NAME/checkpoints/best photos/ \
      --top 3 --format csv --output predictions.csv
)";
constexpr const char* kInfoExample =
    R"(  lockstep info runs/NAME/checkpoints/best
)";

}  // namespace

const std::vector<Job>& job_table() {
  static const std::vector<Job> table{
      {{.name = "train",
        .summary = "train a model on a set of shards, validate each epoch, keep checkpoints",
        .example = kTrainExample,
        .takes = {Role::kNetwork, Role::kNumerics, Role::kMachine, Role::kInference, Role::kScoring,
                  Role::kTraining}},
       run_train},
      {{.name = "evaluate",
        .summary = "score a checkpoint on a set of shards (--checkpoint, --data.test)",
        .example = kEvaluateExample,
        .takes = {Role::kNumerics, Role::kMachine, Role::kInference, Role::kScoring},
        .inherits = {Role::kNetwork, Role::kNumerics},
        .options = {{"checkpoint", "PATH", "checkpoint to score"},
                    {"report", "DIR",
                     "folder for confusion.csv and per_class.csv; made if it is not there"}}},
       run_evaluate},
      {{.name = "predict",
        .summary = "name the classes of pictures or shards (--checkpoint)",
        .example = kPredictExample,
        .takes = {Role::kNumerics, Role::kMachine, Role::kInference},
        .inherits = {Role::kNetwork, Role::kNumerics},
        .options = {{"checkpoint", "PATH", "checkpoint to use"},
                    {"input", "PATH",
                     "a picture, a folder of pictures, or a set of shards; may be repeated, and "
                     "--input left out",
                     true},
                    {"top", "N", "classes named for each picture, the most probable first (5)"},
                    {"format", "WORD", "table (default), csv or json"},
                    {"output", "FILE", "where to write; default: the standard output"},
                    {"fit", "WORD",
                     "how pictures are brought to the size of the training pictures: crop, pad or "
                     "stretch (default: as those were packed)"}},
        .positional = "input"},
       run_predict},
      {{.name = "info",
        .summary = "say what a checkpoint is",
        .example = kInfoExample,
        .takes = {},
        .options = {{"checkpoint", "PATH", "checkpoint to look at; --checkpoint may be left out"}},
        .positional = "checkpoint"},
       run_info},
  };
  return table;
}

const Program& program() {
  static const Program made = [] {
    Program all;
    for (const Job& job : job_table()) {
      all.verbs.push_back(job.verb);
    }
    all.choices = {{"model.name", model::model_list()},
                   {"model.stem", model::stem_list()},
                   {"model.init", model::init_list()},
                   {"optim.name", optim::optimizer_list()},
                   {"schedule.name", optim::schedule_list()}};
    return all;
  }();
  return made;
}

void print_output(const std::string& text) {
  std::cout << text << std::flush;
  require(std::cout.good(), "the output cannot be written", errno_text(),
          "free space where the standard output goes");
}

void log_ignored(JobContext& context) {
  const std::vector<std::string>& ignored = context.command_line.ignored;
  if (ignored.empty() || !context.session.world().is_root()) {
    return;
  }
  std::string text;
  for (const std::string& line : ignored) {
    text += (text.empty() ? "" : "; ") + line;
  }
  context.log.warning("config", "ignored: " + text);
}

}  // namespace lockstep::jobs
