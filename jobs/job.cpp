#include "job.hpp"

namespace lockstep::jobs {

const std::vector<Job>& job_table() {
  static const std::vector<Job> table{
      {"train", "train a model on a set of shards, validate each epoch, keep checkpoints",
       run_train},
      {"evaluate", "score a checkpoint on a set of shards (--checkpoint, --data.test)",
       run_evaluate},
  };
  return table;
}

std::vector<std::string> job_verbs() {
  std::vector<std::string> verbs;
  for (const Job& job : job_table()) {
    verbs.push_back(job.verb);
  }
  return verbs;
}

}  // namespace lockstep::jobs
