#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// Words of run.resume; any other text is the path of a checkpoint.
inline constexpr const char* kResumeNone = "none";
inline constexpr const char* kResumeAuto = "auto";

/// Everything a run needs to know, as plain values with their defaults. Filled by base/cli, checked
/// by validate(), then never changed. One struct per section; the meaning, unit and allowed values
/// of each key stand in the option table (src/base/option_table.cpp), which also makes the help.
struct RunConfig {
  struct Run {
    std::string name;  // empty: date-time_model_lr_batch
    std::string root = "runs";
    std::string resume = "none";  // none | auto | a checkpoint
    std::uint64_t seed = 1;
    std::string device = "auto";     // auto | cpu | cuda
    bool deterministic = false;      // on GPUs; CPUs always are
    std::string dtype = "float32";   // float32 | float64
    std::int64_t threads = 0;        // intra-op threads per rank; 0: cores of this rank's share
    std::string log_level = "info";  // debug | info | warning | error
    std::string progress = "auto";   // auto | bar | plain | off
    double progress_interval = 10;   // seconds between plain progress lines
  } run;
  struct Data {
    std::string train;
    std::string val;
    std::string test;
    double holdout = 0.1;
    std::uint64_t holdout_seed = 0;
    bool drop_last = false;
    std::int64_t threads = 1;   // loader threads per rank
    std::int64_t prefetch = 4;  // batches a rank holds ready
  } data;
  struct Augment {
    std::int64_t crop_padding = 0;   // pixels on every side
    std::string crop_mode = "zero";  // zero | reflect
    bool flip = false;
    std::vector<double> mean;  // empty: of the training set, in [0, 1]
    std::vector<double> std;   // empty: of the training set, in [0, 1]
  } augment;
  struct Model {
    std::string name = "cifar_cnn";
    std::string stem = "cifar";  // cifar | imagenet
    std::int64_t width = 0;      // channels of the first stage; 0: the model's own
    double dropout = 0;          // probability
    std::string init = "model";  // model | kaiming_fan_in | kaiming_fan_out | xavier
    double bn_momentum = 0.1;
    std::string weights;                          // file to begin with; empty: drawn anew
    bool weights_strict = true;                   // names must agree
    std::string freeze;                           // prefixes of parameter names, comma separated
    std::string memory_format = "channels_last";  // channels_last | contiguous
  } model;
  struct Train {
    std::int64_t epochs = 10;
    std::int64_t max_updates = 0;         // 0: no limit
    std::int64_t stop_after_updates = 0;  // of this process; 0: no stop
    std::int64_t batch_size = 128;        // global: samples per update
    std::int64_t accumulation = 1;        // micro-batches per update
    double label_smoothing = 0;
    double clip_norm = 0;                // 0: off
    double grad_norm_low = 1e-5;         // a smaller one is a warning; 0: off
    double grad_norm_high = 100;         // a larger one is a warning; 0: off
    std::string best_by = "top1";        // top1 | loss
    std::int64_t early_stopping = 0;     // epochs without a better model; 0: off
    std::int64_t eval_batch_size = 512;  // global: samples per evaluation step
  } train;
  struct Optim {
    std::string name = "sgd";  // sgd | adamw | adam | rmsprop
    double lr = 0.1;
    double momentum = 0.9;
    bool nesterov = false;
    double weight_decay = 5e-4;
    bool decay_norm_and_bias = false;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double alpha = 0.99;
    double eps = 1e-8;
    std::string lr_scale;  // factors of lr by prefixes of parameter names: "conv1=0.1, fc=10"
  } optim;
  struct Schedule {
    std::string name = "cosine";
    double warmup_epochs = 0;
    double warmup_start = 0;  // factor of lr at update 0 of the warm-up
    double step_epochs = 30;
    double gamma = 0.1;
    double min_lr = 0;
    std::vector<double> milestones;  // epochs, ascending
    double pct_start = 0.3;          // share of the updates
    double div_factor = 25;
    double final_div_factor = 1e4;
    std::int64_t patience = 10;  // epochs
    double threshold = 1e-4;     // in the unit of train.best_by: top-1 in [0, 1], or loss
  } schedule;
  struct Checkpoint {
    std::int64_t keep_last = 3;
    std::int64_t keep_every = 0;     // epochs; 0: none kept for being a multiple
    std::int64_t every_updates = 0;  // updates; 0: saved after each epoch alone
  } checkpoint;
  struct Comm {
    double bucket_mb = 25;
    double first_bucket_mb = 1;
    double timeout = 600;  // seconds a rank waits for the others
  } comm;
  struct Record {  // hidden: for studies and tests
    std::string dir;
    std::int64_t updates = 20;
  } record;
  struct Fault {        // hidden: for tests of failures
    std::string point;  // config | open | step | checkpoint | evaluate | exit
    std::int64_t rank = 0;
    std::string action = "throw";   // throw | sleep | exit | kill | nan
    std::int64_t step = 0;          // update (step) or epoch (checkpoint) at which it fires
    double seconds = 3600;          // of sleep
    bool unused_parameter = false;  // the model gets a parameter no forward pass uses
  } fault;
};

/// Checks relations between values that no single key can check (ranges of single keys are checked
/// when they are read). Throws UsageError.
void validate(const RunConfig& config);

/// The whole config as a file that reads back to the same values: sections, keys, one line each.
/// Numbers as the shortest text that reads back to the same number, hidden sections only when they
/// differ from their defaults.
[[nodiscard]] std::string to_text(const RunConfig& config);

/// A digest of to_text (16 hex digits, XXH3-64 in spirit: any stable 64-bit hash), compared by the
/// ranks before step 1.
[[nodiscard]] std::string config_hash(const RunConfig& config);

}  // namespace lockstep
