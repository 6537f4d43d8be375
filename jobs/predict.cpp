#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "build.hpp"
#include "job.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/cli.hpp"
#include "lockstep/base/fault.hpp"
#include "lockstep/data/picture_files.hpp"
#include "lockstep/report/predictions.hpp"
#include "lockstep/train/predictor.hpp"
#include "trained_model.hpp"
#include "workplace.hpp"

namespace lockstep::jobs {
namespace {

/// What predict was asked for besides the configuration.
struct Request {
  std::vector<std::string> inputs;
  std::int64_t top = 5;
  report::PredictionFormat format = report::PredictionFormat::kTable;
  std::string output;  ///< empty: the standard output
  data::ResizeOptions resize;
};

/// As the training pictures were packed, unless --fit says otherwise. Training pictures that were
/// packed in the size they had say nothing: then others are cropped to it.
data::ResizeOptions resize_of(const std::string& word, const train::TrainingState& state) {
  data::ResizeOptions resize{state.height, state.width, data::Fit::kCrop, state.packed.background};
  if (!word.empty()) {
    const auto fit = data::fit_from_name(word);
    if (!fit) {
      throw UsageError("there is no --fit " + word, "the ways are crop, pad and stretch",
                       "leave it out: then it is the one that pack_images was given");
    }
    resize.fit = *fit;
  } else {
    resize.fit = data::fit_from_name(state.packed.fit).value_or(resize.fit);
  }
  return resize;
}

Request request_of(const CommandLine& line, const train::TrainingState& state) {
  Request request;
  request.inputs = line.verb_values("input");
  if (request.inputs.empty()) {
    throw UsageError("no picture is given", "predict works on pictures or shards",
                     "add --input PATH, a picture, a folder of pictures, or a set of shards");
  }
  if (const std::string top = line.verb_value("top"); !top.empty()) {
    request.top = parse_int(top, "--top");
    if (request.top < 1) {
      throw UsageError("--top cannot be " + top, "it counts classes", "give a number from 1");
    }
  }
  const std::string format = line.verb_value("format");
  request.format = report::prediction_format(format.empty() ? "table" : format);
  request.output = line.verb_value("output");
  request.resize = resize_of(line.verb_value("fit"), state);
  return request;
}

/// A source of pictures and how its samples are called.
struct Input {
  std::unique_ptr<data::PictureSource> source;
  const data::PictureFiles* files = nullptr;  ///< the source, when it is made of files
  std::vector<std::string> paths;
  std::vector<std::string> classes;  ///< names of its labels
};

/// The picture files of all inputs that are no sets, as rank 0 finds them.
std::vector<std::string> agreed_pictures(comm::Collectives& control,
                                         const std::vector<std::string>& inputs) {
  std::string joined;
  comm::agreed_phase(control, [&] {
    if (control.world().is_root()) {
      for (const std::string& input : inputs) {
        for (const std::string& path : data::list_pictures(input)) {
          joined += path + '\0';
        }
      }
    }
  });
  joined = control.broadcast(joined);
  std::vector<std::string> paths;
  for (std::size_t begin = 0; begin < joined.size();) {
    const std::size_t end = joined.find('\0', begin);
    paths.push_back(joined.substr(begin, end - begin));
    begin = end + 1;
  }
  return paths;
}

/// For each input 's', a set, or 'p', pictures.
std::string agreed_kinds(comm::Collectives& control, const std::vector<std::string>& inputs) {
  std::string kinds;
  if (control.world().is_root()) {
    for (const std::string& path : inputs) {
      std::error_code ignored;  // what it is will be said when it is opened
      kinds += std::filesystem::exists(path + "/" + data::kSetFile, ignored) ? 's' : 'p';
    }
  }
  return control.broadcast(kinds);
}

Input set_input(comm::Collectives& control, const std::string& folder, const InputShape& shape) {
  auto set = open_set(control, folder, "--input");
  Input input;
  comm::agreed_phase(control, [&] {
    if (set->height() != shape.height || set->width() != shape.width) {
      throw UsageError("'" + folder + "' does not fit the model",
                       "its pictures have " + std::to_string(set->height()) + " x " +
                           std::to_string(set->width()) + " pixels, those it was trained on " +
                           std::to_string(shape.height) + " x " + std::to_string(shape.width),
                       "pack it with the same --size");
    }
    input.paths = set->source_paths();
    input.classes = set->info().classes;
  });
  input.source = std::move(set);
  return input;
}

std::vector<Input> open_inputs(comm::Collectives& control, const Request& request,
                               const InputShape& shape) {
  std::vector<std::string> sets;
  std::vector<std::string> pictures;
  // As rank 0 sees them: what follows is done by all ranks together.
  const std::string kinds = agreed_kinds(control, request.inputs);
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    (kinds[i] == 's' ? sets : pictures).push_back(request.inputs[i]);
  }
  std::vector<Input> inputs;
  if (!pictures.empty()) {
    Input input;
    input.paths = agreed_pictures(control, pictures);
    auto files = std::make_unique<data::PictureFiles>(input.paths, request.resize);
    input.files = files.get();
    input.source = std::move(files);
    inputs.push_back(std::move(input));
  }
  for (const std::string& folder : sets) {
    inputs.push_back(set_input(control, folder, shape));
  }
  return inputs;
}

/// Refuses to write over what the work is done with. On rank 0. Throws UsageError.
void require_output_apart(const std::string& output, const std::vector<Input>& inputs) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (output.empty() || !fs::exists(output, error)) {
    return;
  }
  const fs::path place = fs::canonical(output, error);
  const auto holds = [&](const char* file) {
    return fs::exists(place.parent_path() / file, error);
  };
  std::string what = holds(data::kSetFile)                       ? "a file of a set of shards"
                     : train::is_checkpoint_file(place.string()) ? "a file of a checkpoint"
                                                                 : "";
  for (const Input& input : inputs) {
    for (const std::string& path :
         input.files != nullptr ? input.paths : std::vector<std::string>{}) {
      what = fs::equivalent(path, place, error) ? "one of the pictures" : what;
    }
  }
  if (!what.empty()) {
    throw UsageError("the predictions are not written to '" + output + "'", "it is " + what,
                     "give --output another place");
  }
}

/// Why samples of this batch cannot be used, by id, from whichever rank has read them. Collective.
std::map<std::int64_t, std::string> problems_of(comm::Collectives& control, const Input& input,
                                                const std::vector<train::Prediction>& batch) {
  std::string mine;
  if (input.files != nullptr) {
    for (const train::Prediction& prediction : batch) {
      const std::string problem = input.files->problem(prediction.id);
      if (!problem.empty()) {
        mine += std::to_string(prediction.id) + ' ' + problem + '\0';
      }
    }
  }
  std::map<std::int64_t, std::string> problems;
  for (const std::string& part : control.all_gather(mine)) {
    for (std::size_t begin = 0; begin < part.size();) {
      const std::size_t end = part.find('\0', begin);
      const std::size_t space = part.find(' ', begin);
      problems[std::stoll(part.substr(begin, space - begin))] =
          part.substr(space + 1, end - space - 1);
      begin = end + 1;
    }
  }
  return problems;
}

report::PredictionRow row_of(const train::Prediction& prediction, const Input& input,
                             const std::vector<std::string>& classes) {
  report::PredictionRow row;
  row.path = input.paths.at(static_cast<std::size_t>(prediction.id));
  if (prediction.label >= 0) {
    row.label = input.classes.at(static_cast<std::size_t>(prediction.label));
  }
  for (std::size_t i = 0; i < prediction.classes.size(); ++i) {
    row.top.push_back(
        {classes.at(static_cast<std::size_t>(prediction.classes[i])), prediction.probabilities[i]});
  }
  return row;
}

}  // namespace

ExitCode run_predict(JobContext& context) {
  const std::optional<TrainedModel> trained = load_trained_model(context);
  if (!trained) {
    return ExitCode::kDone;
  }
  const RunConfig& config = trained->config;
  const train::TrainingState& state = trained->checkpoint.state;
  comm::Collectives& control = context.control;
  const bool root = context.session.world().is_root();
  Request request;
  comm::agreed_phase(control, [&] {
    FaultPoint(config.fault, context.session.world().rank).at("evaluate");
    request = request_of(context.command_line, state);
  });

  const InputShape shape{state.classes, state.height, state.width};
  const std::vector<Input> inputs = open_inputs(control, request, shape);
  const Workplace place = take_workplace(context, config);
  std::shared_ptr<model::Network> network;
  std::unique_ptr<report::PredictionWriter> writer;
  const auto class_count = static_cast<std::int64_t>(shape.classes.size());
  comm::agreed_phase(control, [&] {
    network = build_network(config, shape, place.device(), place.collectives.batch_norm());
    train::copy_state(*network, trained->checkpoint.model);
    if (root) {
      require_output_apart(request.output, inputs);
      writer = std::make_unique<report::PredictionWriter>(request.format, request.output,
                                                          std::min(request.top, class_count));
    }
  });

  std::int64_t bad = 0;
  std::int64_t all = 0;
  for (const Input& input : inputs) {
    train::Predictor predictor(
        *input.source, all_ids(input.source->size()), config.train.eval_batch_size, request.top,
        loader_options(config, context.session.world(), state.mean, state.std), control,
        place.device());
    std::vector<train::Prediction> batch;
    while (predictor.next(*network, batch)) {
      std::map<std::int64_t, std::string> problems = problems_of(control, input, batch);
      for (const train::Prediction& prediction : batch) {
        if (!prediction.finite()) {
          problems.emplace(prediction.id,
                           "'" + input.paths.at(static_cast<std::size_t>(prediction.id)) +
                               "': the network answers with no finite numbers");
        }
      }
      all += static_cast<std::int64_t>(batch.size());
      bad += static_cast<std::int64_t>(problems.size());
      comm::agreed_phase(control, [&] {
        for (const train::Prediction& prediction : batch) {
          const auto problem = problems.find(prediction.id);
          if (writer && problem == problems.end()) {
            writer->write(row_of(prediction, input, shape.classes));
          } else if (writer) {
            context.log.error("predict", problem->second);
          }
        }
      });
    }
  }
  comm::agreed_phase(control, [&] {
    // Where nothing was predicted an older file stays.
    if (writer && (request.output.empty() || bad < all)) {
      writer->close();
    }
  });
  if (bad > 0) {
    throw comm::AgreedError(std::to_string(bad) + " of " + std::to_string(all) +
                                " pictures have no prediction (each is named above, with the "
                                "reason) - mend or remove them; all others are done",
                            ExitCode::kFailed, 0);
  }
  return ExitCode::kDone;
}

}  // namespace lockstep::jobs
