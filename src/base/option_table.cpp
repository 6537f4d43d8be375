#include "option_table.hpp"

#include <utility>

namespace lockstep {
namespace {

constexpr NumberRange at_least(double low) { return {.low = low, .high = kMaxCount}; }
constexpr NumberRange between(double low, double high) { return {.low = low, .high = high}; }
constexpr NumberRange above_to(double low, double high) {
  return {.low = low, .high = high, .low_open = true};
}
constexpr NumberRange non_negative() { return {.low = 0}; }
/// [0, 1): probabilities and decay factors.
constexpr NumberRange fraction() { return {.low = 0, .high = 1, .high_open = true}; }
/// (0, 1].
constexpr NumberRange positive_fraction() { return above_to(0, 1); }
/// Seconds and MiB end where a clock or a size in bytes still holds them on every machine, rates
/// where float32 does.
constexpr double kMaxSeconds = 1e7;
constexpr double kMaxMebibytes = 1e6;
constexpr double kMaxRate = 1e6;
/// A count of epochs that may be a fraction.
constexpr double kMaxEpochs = kMaxCount;

/// Appends the options of one section, whose fields lie in the struct S; `rule` is that of most of
/// them.
template <typename S>
class Section {
 public:
  Section(std::vector<Option>& table, std::string name, S RunConfig::*member, OptionRole role,
          ResumeRule rule, bool hidden = false)
      : table_(table),
        name_(std::move(name)),
        member_(member),
        role_(role),
        rule_(rule),
        hidden_(hidden) {}

  // Each returns the new option, for what most options do not need.
  Option& text(const char* key, std::string S::*field, const char* placeholder, const char* help) {
    return add(key, field, {}, placeholder, help);
  }
  Option& word(const char* key, std::string S::*field, std::vector<std::string> words,
               const char* help) {
    Option& option = add(key, field, {}, "WORD", help);
    option.words = std::move(words);
    return option;
  }
  /// A word of a table that another layer keeps.
  Option& choice(const char* key, std::string S::*field, const char* help) {
    Option& option = add(key, field, {}, "WORD", help);
    option.chosen = true;
    return option;
  }
  Option& count(const char* key, std::int64_t S::*field, NumberRange range, const char* help) {
    return add(key, field, range, "N", help);
  }
  Option& seed(const char* key, std::uint64_t S::*field, const char* help) {
    return add(key, field, {}, "N", help);
  }
  Option& real(const char* key, double S::*field, NumberRange range, const char* help) {
    return add(key, field, range, "X", help);
  }
  Option& list(const char* key, std::vector<double> S::*field, NumberRange range,
               const char* help) {
    return add(key, field, range, "X,X,X", help);
  }
  Option& flag(const char* key, bool S::*field, const char* help) {
    return add(key, field, {}, "BOOL", help);
  }

 private:
  template <typename T>
  Option& add(const char* key, T S::*field, NumberRange range, const char* placeholder,
              const char* help) {
    Option option;
    option.section = name_;
    option.key = key;
    option.help = help;
    option.value = Binding<T>{
        [member = member_, field](const RunConfig& c) -> const T& { return (c.*member).*field; },
        [member = member_, field](RunConfig& c) -> T& { return (c.*member).*field; }};
    option.range = range;
    option.placeholder = placeholder;
    option.role = role_;
    option.on_resume = rule_;
    option.hidden = hidden_;
    return table_.emplace_back(std::move(option));
  }

  std::vector<Option>& table_;
  std::string name_;
  S RunConfig::*member_;
  OptionRole role_;
  ResumeRule rule_;
  bool hidden_;
};

using C = RunConfig;
using Role = OptionRole;
using Rule = ResumeRule;

void add_run(std::vector<Option>& table) {
  using S = C::Run;
  Section<S> run(table, "run", &C::run, Role::kTraining, Rule::kFree);
  run.text("name", &S::name, "NAME",
           "folder of this run below run.root; empty: date-time_model_lr_batch");
  run.text("root", &S::root, "PATH", "folder of all runs");
  run.text("resume", &S::resume, "WORD|PATH",
           "none: a new run; auto: go on with the run of this run.name, or begin it; or the "
           "checkpoint that a new run goes on from");
  run.seed("seed", &S::seed, "seed of initial weights, sample order, augmentation and dropout")
      .on_resume = Rule::kBetweenEpochs;
  run.word("device", &S::device, {"auto", "cpu", "cuda"},
           "where to compute; auto: a GPU if the build and the machine have one")
      .role = Role::kMachine;
  run.flag("deterministic", &S::deterministic,
           "on GPUs: operations that give the same bits each time, at some cost; a CPU always does")
      .role = Role::kMachine;
  Option& dtype = run.word("dtype", &S::dtype, {"float32", "float64"},
                           "numbers to compute in; float64 is for tests and studies");
  dtype.role = Role::kNumerics;
  dtype.on_resume = Rule::kRefuse;
  run.count("threads", &S::threads, between(0, 1024),
            "threads of one operation on each rank; 0: this rank's share of the cores")
      .role = Role::kMachine;
  run.word("log_level", &S::log_level, {"debug", "info", "warning", "error"},
           "least severe message that is logged")
      .role = Role::kMachine;
  run.word("progress", &S::progress, {"auto", "bar", "plain", "off"},
           "how progress is shown; auto: a bar on a terminal, else plain lines");
  run.real("progress_interval", &S::progress_interval, above_to(0, kMaxSeconds),
           "seconds between plain progress lines");
}

void add_data(std::vector<Option>& table) {
  using S = C::Data;
  Section<S> data(table, "data", &C::data, Role::kTraining, Rule::kFree);
  data.text("train", &S::train, "PATH", "set of shards to train on");
  data.text("val", &S::val, "PATH",
            "set of shards to choose the best model by; empty: a part of data.train, see "
            "data.holdout")
      .on_resume = Rule::kWarn;
  data.text("test", &S::test, "PATH",
            "set of shards to score; training scores it once, at the end, with the best model")
      .role = Role::kScoring;
  data.real(
          "holdout", &S::holdout, fraction(),
          "fraction of data.train kept for validation, per class, when data.val is empty; 0: none")
      .on_resume = Rule::kRefuse;
  data.seed("holdout_seed", &S::holdout_seed, "seed of the choice of these samples").on_resume =
      Rule::kRefuse;
  data.flag("drop_last", &S::drop_last, "leave out the last, smaller batch of an epoch").on_resume =
      Rule::kBetweenEpochs;
  data.count("threads", &S::threads, between(1, 1024), "threads that load samples on each rank")
      .role = Role::kMachine;
  data.count("prefetch", &S::prefetch, between(1, 4096),
             "batches of samples that each rank holds ready")
      .role = Role::kMachine;
}

void add_augment(std::vector<Option>& table) {
  using S = C::Augment;
  Section<S> augment(table, "augment", &C::augment, Role::kTraining, Rule::kWarn);
  augment.count(
      "crop_padding", &S::crop_padding, between(0, 4096),
      "pixels added on every side before a random crop of the picture's own size; 0: no crop");
  augment.word("crop_mode", &S::crop_mode, {"zero", "reflect"}, "what the added pixels hold");
  augment.flag("flip", &S::flip, "mirror half of the pictures left to right, at random");
  Option& mean = augment.list("mean", &S::mean, between(0, 1),
                              "mean of each channel, of pixels in [0, 1]; empty: of the training "
                              "set");
  mean.role = Role::kNumerics;
  mean.on_resume = Rule::kRefuse;
  Option& deviation = augment.list("std", &S::std, between(1e-6, 1),
                                   "standard deviation of each channel, of pixels in [0, 1]; "
                                   "empty: of the training set");
  deviation.role = Role::kNumerics;
  deviation.on_resume = Rule::kRefuse;
}

void add_model(std::vector<Option>& table) {
  using S = C::Model;
  Section<S> model(table, "model", &C::model, Role::kNetwork, Rule::kRefuse);
  model.choice("name", &S::name, "network to train");
  model.choice("stem", &S::stem, "first layer of residual networks");
  model.count("width", &S::width, between(0, 65536),
              "channels of the first stage; 0: the network's own");
  model
      .real("dropout", &S::dropout, fraction(), "probability of dropping an activation in training")
      .on_resume = Rule::kWarn;
  model.choice("init", &S::init, "how weights are drawn");
  model
      .real("bn_momentum", &S::bn_momentum, positive_fraction(),
            "weight of a new batch in BatchNorm's running statistics")
      .on_resume = Rule::kWarn;
  Option& weights = model.text("weights", &S::weights, "FILE",
                               "trained weights to begin with (torchvision's names): a file of "
                               "safetensors, or a state dict of torch.save (.pth); empty: drawn "
                               "anew");
  weights.role = Role::kTraining;
  weights.on_resume = Rule::kFree;
  Option& strict = model.flag("weights_strict", &S::weights_strict,
                              "refuse model.weights with names that the model lacks or misses");
  strict.role = Role::kTraining;
  strict.on_resume = Rule::kFree;
  model.text("freeze", &S::freeze, "NAMES",
             "beginnings of names of parameters that are not trained, separated by commas; a "
             "BatchNorm that is frozen whole uses its running statistics");
  Option& format = model.word("memory_format", &S::memory_format, {"channels_last", "contiguous"},
                              "order of activations in memory");
  format.role = Role::kNumerics;
  format.on_resume = Rule::kWarn;
}

void add_train(std::vector<Option>& table) {
  using S = C::Train;
  Section<S> train(table, "train", &C::train, Role::kTraining, Rule::kWarn);
  train.count("epochs", &S::epochs, at_least(1), "passes over the training samples").on_resume =
      Rule::kFree;
  train
      .count("max_updates", &S::max_updates, at_least(0),
             "end the run after so many updates (smoke runs); 0: no limit")
      .on_resume = Rule::kFree;
  train
      .count("stop_after_updates", &S::stop_after_updates, at_least(0),
             "save and leave (exit code 85) after so many updates of this process, as on a signal; "
             "0: no stop")
      .on_resume = Rule::kFree;
  train
      .count("batch_size", &S::batch_size, at_least(1),
             "samples per update, over all ranks and micro-batches")
      .on_resume = Rule::kBetweenEpochs;
  train.count("accumulation", &S::accumulation, at_least(1),
              "micro-batches an update is cut into, to save memory");
  train.real("label_smoothing", &S::label_smoothing, fraction(),
             "share of the target spread over all classes, in training only");
  train.real("clip_norm", &S::clip_norm, non_negative(),
             "longest gradient (L2 norm over all parameters), longer ones are scaled down; 0: off");
  train
      .real("grad_norm_low", &S::grad_norm_low, non_negative(),
            "warn when the gradient norm of an update is smaller, once per epoch; 0: off")
      .on_resume = Rule::kFree;
  train
      .real("grad_norm_high", &S::grad_norm_high, non_negative(),
            "warn when the gradient norm of an update is larger, once per epoch; 0: off")
      .on_resume = Rule::kFree;
  train
      .word("best_by", &S::best_by, {"top1", "loss"},
            "validation figure that chooses the best model")
      .on_resume = Rule::kRefuse;
  train
      .count("early_stopping", &S::early_stopping, at_least(0),
             "stop after so many epochs without a better model; 0: off")
      .on_resume = Rule::kFree;
  Option& evaluated = train.count("eval_batch_size", &S::eval_batch_size, at_least(1),
                                  "samples per step of evaluation or prediction, over all ranks");
  evaluated.role = Role::kInference;
  evaluated.on_resume = Rule::kFree;
}

void add_optim(std::vector<Option>& table) {
  using S = C::Optim;
  Section<S> optim(table, "optim", &C::optim, Role::kTraining, Rule::kWarn);
  optim.choice("name", &S::name, "optimizer").on_resume = Rule::kRefuse;
  optim.real("lr", &S::lr, above_to(0, kMaxRate),
             "highest learning rate; schedule.* says how it changes");
  optim.real("momentum", &S::momentum, fraction(), "momentum of sgd and rmsprop; 0: none");
  optim.flag("nesterov", &S::nesterov, "Nesterov's form of momentum (sgd)");
  optim.real("weight_decay", &S::weight_decay, between(0, kMaxRate),
             "weight decay: decoupled for adamw, an L2 penalty for the others");
  optim.flag("decay_norm_and_bias", &S::decay_norm_and_bias,
             "decay normalisation and bias parameters too");
  optim.real("beta1", &S::beta1, fraction(), "decay of the mean of gradients (adamw, adam)");
  optim.real("beta2", &S::beta2, fraction(),
             "decay of the mean of squared gradients (adamw, adam)");
  optim.real("alpha", &S::alpha, fraction(), "decay of the mean of squared gradients (rmsprop)");
  optim.real("eps", &S::eps, above_to(0, kMaxRate),
             "added to the root of the mean square (adamw, adam, rmsprop)");
  optim.text("lr_scale", &S::lr_scale, "NAME=X,...",
             "factors of the learning rate for parameters whose names begin so, separated by "
             "commas; the longest beginning counts, all others have 1");
}

void add_schedule(std::vector<Option>& table) {
  using S = C::Schedule;
  Section<S> schedule(table, "schedule", &C::schedule, Role::kTraining, Rule::kWarn);
  schedule.choice("name", &S::name, "course of the learning rate after the warm-up");
  schedule.real("warmup_epochs", &S::warmup_epochs, between(0, kMaxEpochs),
                "epochs (fractions too) of linear rise at the start; 0: none");
  schedule.real("warmup_start", &S::warmup_start, between(0, 1),
                "factor of optim.lr at the first update of the warm-up");
  schedule.real("step_epochs", &S::step_epochs, above_to(0, kMaxEpochs),
                "epochs between two steps (step)");
  schedule.real("gamma", &S::gamma, positive_fraction(),
                "factor of the learning rate each time it falls (step, multistep, plateau)");
  schedule.real("min_lr", &S::min_lr, between(0, kMaxRate),
                "learning rate at the end (cosine, linear), or the lowest (plateau)");
  schedule.list("milestones", &S::milestones, above_to(0, kMaxEpochs),
                "epochs (fractions too), ascending, at which the rate falls (multistep)");
  schedule.real("pct_start", &S::pct_start, between(0, 1),
                "share of the updates in which the rate rises (onecycle)");
  schedule.real("div_factor", &S::div_factor, above_to(0, kMaxRate),
                "optim.lr over the rate of the first update (onecycle)");
  schedule.real("final_div_factor", &S::final_div_factor, above_to(0, kMaxCount),
                "rate of the first update over that of the last (onecycle)");
  schedule.count("patience", &S::patience, at_least(0),
                 "epochs in a row without a better validation figure (train.best_by) that are "
                 "let pass; one more lowers the rate (plateau)");
  schedule.real("threshold", &S::threshold, non_negative(),
                "a figure is better when it is so by more than this: top-1 counts from 0 to 1 "
                "(plateau)");
}

void add_rest(std::vector<Option>& table) {
  Section<C::Checkpoint> checkpoint(table, "checkpoint", &C::checkpoint, Role::kTraining,
                                    Rule::kFree);
  checkpoint.count("keep_last", &C::Checkpoint::keep_last, at_least(1),
                   "newest checkpoints that are kept, besides the best");
  checkpoint.count("keep_every", &C::Checkpoint::keep_every, at_least(0),
                   "checkpoints of every so many epochs are kept too; 0: none");
  checkpoint.count("every_updates", &C::Checkpoint::every_updates, at_least(0),
                   "save inside epochs too, every so many updates of the run; 0: after epochs "
                   "alone");

  Section<C::Comm> comm(table, "comm", &C::comm, Role::kTraining, Rule::kFree);
  comm.real("bucket_mb", &C::Comm::bucket_mb, above_to(0, kMaxMebibytes),
            "size of a gradient bucket in MiB: what one all-reduce carries");
  comm.real("first_bucket_mb", &C::Comm::first_bucket_mb, above_to(0, kMaxMebibytes),
            "size of the first bucket in MiB; small, so that the exchange starts early");
  comm.real("timeout", &C::Comm::timeout, above_to(0, kMaxSeconds),
            "seconds a rank waits for the others before the job ends")
      .role = Role::kMachine;

  Section<C::Record> record(table, "record", &C::record, Role::kTraining, Rule::kFree, true);
  record.text("dir", &C::Record::dir, "PATH",
              "folder for a record of the first updates; empty: none");
  record.count("updates", &C::Record::updates, at_least(1), "updates to record");

  using F = C::Fault;
  Section<F> fault(table, "fault", &C::fault, Role::kMachine, Rule::kFree, true);
  fault.word("point", &F::point, {"", "config", "open", "step", "checkpoint", "evaluate", "exit"},
             "where a failure is injected; empty: nowhere");
  fault.count("rank", &F::rank, at_least(0), "rank that fails");
  fault.word("action", &F::action, {"throw", "sleep", "exit", "kill", "nan"}, "what happens there");
  fault.count("step", &F::step, at_least(0),
              "update (point step) or epoch (point checkpoint) at which it happens");
  fault.real("seconds", &F::seconds, between(0, kMaxSeconds), "length of the sleep in seconds");
  Option& unused = fault.flag("unused_parameter", &F::unused_parameter,
                              "give the network a parameter that no forward pass uses");
  unused.role = Role::kNetwork;
  unused.on_resume = Rule::kRefuse;
}

}  // namespace

const std::vector<Option>& option_table() {
  static const std::vector<Option> table = [] {
    std::vector<Option> options;
    add_run(options);
    add_data(options);
    add_augment(options);
    add_model(options);
    add_train(options);
    add_optim(options);
    add_schedule(options);
    add_rest(options);
    return options;
  }();
  return table;
}

}  // namespace lockstep
