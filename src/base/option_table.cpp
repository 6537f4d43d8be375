#include "option_table.hpp"

#include <algorithm>
#include <utility>

#include "lockstep/base/check.hpp"

namespace lockstep {
namespace {

constexpr NumberRange at_least(double low) { return {.low = low, .high = kMaxCount}; }
constexpr NumberRange above(double low) { return {.low = low, .low_open = true}; }
constexpr NumberRange between(double low, double high) { return {.low = low, .high = high}; }
constexpr NumberRange non_negative() { return {.low = 0}; }
/// [0, 1): probabilities and decay factors.
constexpr NumberRange fraction() { return {.low = 0, .high = 1, .high_open = true}; }
/// (0, 1].
constexpr NumberRange positive_fraction() { return {.low = 0, .high = 1, .low_open = true}; }

/// Appends the options of one section, whose fields lie in the struct S.
template <typename S>
class Section {
 public:
  Section(std::vector<Option>& table, std::string name, S RunConfig::*member, bool hidden = false)
      : table_(table), name_(std::move(name)), member_(member), hidden_(hidden) {}

  void text(const char* key, std::string S::*field, const char* placeholder, const char* help) {
    add(key, field, {}, {}, placeholder, help);
  }
  void word(const char* key, std::string S::*field, std::vector<std::string> words,
            const char* help) {
    add(key, field, {}, std::move(words), "WORD", help);
  }
  void count(const char* key, std::int64_t S::*field, NumberRange range, const char* help) {
    add(key, field, range, {}, "N", help);
  }
  void seed(const char* key, std::uint64_t S::*field, const char* help) {
    add(key, field, {}, {}, "N", help);
  }
  void real(const char* key, double S::*field, NumberRange range, const char* help) {
    add(key, field, range, {}, "X", help);
  }
  void list(const char* key, std::vector<double> S::*field, NumberRange range, const char* help) {
    add(key, field, range, {}, "X,X,X", help);
  }
  void flag(const char* key, bool S::*field, const char* help) {
    add(key, field, {}, {}, "BOOL", help);
  }

 private:
  template <typename T>
  void add(const char* key, T S::*field, NumberRange range, std::vector<std::string> words,
           const char* placeholder, const char* help) {
    Binding<T> binding{
        [member = member_, field](const RunConfig& c) -> const T& { return (c.*member).*field; },
        [member = member_, field](RunConfig& c) -> T& { return (c.*member).*field; }};
    table_.push_back(
        {name_, key, help, std::move(binding), range, std::move(words), placeholder, hidden_});
  }

  std::vector<Option>& table_;
  std::string name_;
  S RunConfig::*member_;
  bool hidden_;
};

using C = RunConfig;

void add_run(std::vector<Option>& table) {
  using S = C::Run;
  Section<S> run(table, "run", &C::run);
  run.text("name", &S::name, "NAME",
           "folder of this run below run.root; empty: date-time_model_lr_batch");
  run.text("root", &S::root, "PATH", "folder of all runs");
  run.seed("seed", &S::seed, "seed of initial weights, sample order, augmentation and dropout");
  run.word("device", &S::device, {"auto", "cpu", "cuda"},
           "where to train; auto: a GPU if the build and the machine have one");
  run.word("dtype", &S::dtype, {"float32", "float64"},
           "numbers to train in; float64 is for tests and studies");
  run.count("threads", &S::threads, between(0, 1024),
            "threads of one operation on each rank; 0: this rank's share of the cores");
  run.word("log_level", &S::log_level, {"debug", "info", "warning", "error"},
           "least severe message that is logged");
  run.word("progress", &S::progress, {"auto", "bar", "plain", "off"},
           "how progress is shown; auto: a bar on a terminal, else plain lines");
  run.real("progress_interval", &S::progress_interval, above(0),
           "seconds between plain progress lines");
}

void add_data(std::vector<Option>& table) {
  using S = C::Data;
  Section<S> data(table, "data", &C::data);
  data.text("train", &S::train, "PATH", "set of shards to train on");
  data.text(
      "val", &S::val, "PATH",
      "set of shards to choose the best model by; empty: a part of data.train, see data.holdout");
  data.text("test", &S::test, "PATH", "set of shards scored once, at the end, with the best model");
  data.real(
      "holdout", &S::holdout, fraction(),
      "fraction of data.train kept for validation, per class, when data.val is empty; 0: none");
  data.seed("holdout_seed", &S::holdout_seed, "seed of the choice of these samples");
  data.flag("drop_last", &S::drop_last, "leave out the last, smaller batch of an epoch");
  data.count("threads", &S::threads, between(1, 1024), "threads that load samples on each rank");
  data.count("prefetch", &S::prefetch, between(1, 4096),
             "micro-batches that each rank holds ready");
}

void add_augment(std::vector<Option>& table) {
  using S = C::Augment;
  Section<S> augment(table, "augment", &C::augment);
  augment.count(
      "crop_padding", &S::crop_padding, between(0, 4096),
      "pixels added on every side before a random crop of the picture's own size; 0: no crop");
  augment.word("crop_mode", &S::crop_mode, {"zero", "reflect"}, "what the added pixels hold");
  augment.flag("flip", &S::flip, "mirror half of the pictures left to right, at random");
  augment.list("mean", &S::mean, between(0, 1),
               "mean of each channel, of pixels in [0, 1]; empty: of the training set");
  augment.list(
      "std", &S::std, positive_fraction(),
      "standard deviation of each channel, of pixels in [0, 1]; empty: of the training set");
}

void add_model(std::vector<Option>& table) {
  using S = C::Model;
  Section<S> model(table, "model", &C::model);
  model.word("name", &S::name, {"simple_cnn", "cifar_cnn", "resnet18"}, "network to train");
  model.word(
      "stem", &S::stem, {"cifar", "imagenet"},
      "first layer of resnet18; cifar: 3x3 for small pictures, imagenet: 7x7, stride 2, pooling");
  model.count("width", &S::width, between(0, 65536),
              "channels of the first stage; 0: the network's own");
  model.real("dropout", &S::dropout, fraction(),
             "probability of dropping an activation in training");
  model.word("init", &S::init, {"model", "kaiming_fan_in", "kaiming_fan_out", "xavier"},
             "how weights are drawn; model: as the network prescribes");
  model.real("bn_momentum", &S::bn_momentum, positive_fraction(),
             "weight of a new batch in BatchNorm's running statistics");
  model.text("freeze", &S::freeze, "NAMES",
             "beginnings of names of parameters that are not trained, separated by commas");
  model.word("memory_format", &S::memory_format, {"channels_last", "contiguous"},
             "order of activations in memory");
}

void add_train(std::vector<Option>& table) {
  using S = C::Train;
  Section<S> train(table, "train", &C::train);
  train.count("epochs", &S::epochs, at_least(1), "passes over the training samples");
  train.count("max_updates", &S::max_updates, at_least(0),
              "stop after so many updates (smoke runs); 0: no limit");
  train.count("batch_size", &S::batch_size, at_least(1),
              "samples per update, over all ranks and micro-batches");
  train.count("accumulation", &S::accumulation, at_least(1),
              "micro-batches an update is cut into, to save memory");
  train.real("label_smoothing", &S::label_smoothing, fraction(),
             "share of the target spread over all classes, in training only");
  train.real("clip_norm", &S::clip_norm, non_negative(),
             "longest gradient (L2 norm over all parameters), longer ones are scaled down; 0: off");
  train.word("best_by", &S::best_by, {"top1", "loss"},
             "validation figure that chooses the best model");
  train.count("early_stopping", &S::early_stopping, at_least(0),
              "stop after so many epochs without a better model; 0: off");
  train.count("eval_batch_size", &S::eval_batch_size, at_least(1),
              "samples per step of evaluation, over all ranks");
}

void add_optim(std::vector<Option>& table) {
  using S = C::Optim;
  Section<S> optim(table, "optim", &C::optim);
  optim.word("name", &S::name, {"sgd", "adamw"}, "optimizer");
  optim.real("lr", &S::lr, above(0), "highest learning rate; schedule.* says how it changes");
  optim.real("momentum", &S::momentum, fraction(), "momentum of sgd; 0: none");
  optim.flag("nesterov", &S::nesterov, "Nesterov's form of momentum (sgd)");
  optim.real("weight_decay", &S::weight_decay, non_negative(),
             "weight decay: L2 penalty for sgd, decoupled for adamw");
  optim.flag("decay_norm_and_bias", &S::decay_norm_and_bias,
             "decay normalisation and bias parameters too");
  optim.real("beta1", &S::beta1, fraction(), "decay of the mean of gradients (adamw)");
  optim.real("beta2", &S::beta2, fraction(), "decay of the mean of squared gradients (adamw)");
  optim.real("eps", &S::eps, above(0), "added to the root of the mean square (adamw)");
}

void add_schedule(std::vector<Option>& table) {
  using S = C::Schedule;
  Section<S> schedule(table, "schedule", &C::schedule);
  schedule.word("name", &S::name, {"constant", "step", "cosine", "linear"},
                "course of the learning rate after the warm-up");
  schedule.real("warmup_epochs", &S::warmup_epochs, non_negative(),
                "epochs (fractions too) of linear rise at the start; 0: none");
  schedule.real("warmup_start", &S::warmup_start, between(0, 1),
                "factor of optim.lr at the first update of the warm-up");
  schedule.real("step_epochs", &S::step_epochs, above(0), "epochs between two steps (step)");
  schedule.real("gamma", &S::gamma, positive_fraction(),
                "factor of the learning rate at each step (step)");
  schedule.real("min_lr", &S::min_lr, non_negative(), "learning rate at the end (cosine, linear)");
}

void add_rest(std::vector<Option>& table) {
  Section<C::Checkpoint> checkpoint(table, "checkpoint", &C::checkpoint);
  checkpoint.count("keep_last", &C::Checkpoint::keep_last, at_least(1),
                   "newest checkpoints that are kept, besides the best");
  checkpoint.count("keep_every", &C::Checkpoint::keep_every, at_least(0),
                   "checkpoints of every so many epochs are kept too; 0: none");

  Section<C::Comm> comm(table, "comm", &C::comm);
  comm.real("bucket_mb", &C::Comm::bucket_mb, above(0),
            "size of a gradient bucket in MiB: what one all-reduce carries");
  comm.real("first_bucket_mb", &C::Comm::first_bucket_mb, above(0),
            "size of the first bucket in MiB; small, so that the exchange starts early");
  comm.real("timeout", &C::Comm::timeout, above(0),
            "seconds a rank waits for the others before the job ends");

  Section<C::Record> record(table, "record", &C::record, true);
  record.text("dir", &C::Record::dir, "PATH",
              "folder for a record of the first updates; empty: none");
  record.count("updates", &C::Record::updates, at_least(1), "updates to record");

  using F = C::Fault;
  Section<F> fault(table, "fault", &C::fault, true);
  fault.word("point", &F::point, {"", "config", "open", "step", "checkpoint", "evaluate", "exit"},
             "where a failure is injected; empty: nowhere");
  fault.count("rank", &F::rank, at_least(0), "rank that fails");
  fault.word("action", &F::action, {"throw", "sleep", "exit", "kill", "nan"}, "what happens there");
  fault.count("step", &F::step, at_least(0),
              "update (point step) or epoch (point checkpoint) at which it happens");
  fault.real("seconds", &F::seconds, non_negative(), "length of the sleep in seconds");
  fault.flag("unused_parameter", &F::unused_parameter,
             "give the network a parameter that no forward pass uses");
}

std::string key_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : " or ") + name;
  }
  return text;
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

const Option* find_option(std::string_view name) {
  for (const Option& option : option_table()) {
    if (option.name() == name) {
      return &option;
    }
  }
  return nullptr;
}

std::vector<std::string> option_sections() {
  std::vector<std::string> sections;
  for (const Option& option : option_table()) {
    if (sections.empty() || sections.back() != option.section) {
      sections.push_back(option.section);
    }
  }
  return sections;
}

std::string key_suggestion(const std::string& section, const std::string& key) {
  std::vector<std::string> elsewhere;
  std::vector<std::string> keys_of_section;
  std::vector<std::string> names;
  std::vector<std::string> keys;
  for (const Option& option : option_table()) {
    if (option.key == key && option.section != section) {
      elsewhere.push_back(option.name());
    }
    if (option.section == section) {
      keys_of_section.push_back(option.key);
    }
    if (!option.hidden) {
      names.push_back(option.name());
      keys.push_back(option.key);
    }
  }
  std::string found = key_list(elsewhere);
  if (found.empty()) {
    // A shortened key ("batch") is far from the whole one by letters, yet names it.
    const auto whole = std::find_if(keys_of_section.begin(), keys_of_section.end(),
                                    [&](const std::string& k) { return k.starts_with(key); });
    const std::string near = whole == keys_of_section.end() || key.size() < 2
                                 ? nearest_name(key, keys_of_section)
                                 : *whole;
    found = near.empty() ? nearest_name(section + "." + key, names) : section + "." + near;
  }
  if (found.empty()) {
    const std::string near = nearest_name(key, keys);
    found = near.empty() ? near
                         : names[static_cast<std::size_t>(
                               std::find(keys.begin(), keys.end(), near) - keys.begin())];
  }
  return found.empty() ? "see --help for all keys" : "did you mean " + found + "?";
}

}  // namespace lockstep
