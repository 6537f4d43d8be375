#include "class_report.hpp"

#include <filesystem>
#include <system_error>

#include "lockstep/base/check.hpp"
#include "lockstep/base/durable_file.hpp"

namespace lockstep::jobs {
namespace {

constexpr const char* kConfusionFile = "/confusion.csv";
constexpr const char* kPerClassFile = "/per_class.csv";

}  // namespace

void make_report_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, "cannot make folder '" + folder + "'", error.message(),
          "give --report a folder that can be written");
  for (const char* file : {kConfusionFile, kPerClassFile}) {
    if (std::filesystem::exists(folder + file, error)) {
      throw UsageError("'" + folder + file + "' exists", "a report was written there before",
                       "give --report another folder, or move that one away");
    }
  }
}

void report_classes(JobContext& context, const report::ConfusionMatrix& confusion,
                    const std::vector<std::string>& classes, const std::string& folder) {
  const std::vector<report::ClassScores> scores = report::class_scores(confusion);
  const std::string& verb = context.command_line.verb;
  context.log.result(verb, report::macro_text(report::macro_average(scores)));
  comm::agreed_phase(context.control, [&] {
    if (context.session.world().is_root() && !folder.empty()) {
      replace_durable({{folder + kConfusionFile, report::confusion_csv(confusion, classes)},
                       {folder + kPerClassFile, report::per_class_csv(scores, classes)}});
    }
  });
  if (!folder.empty()) {
    context.log.info(verb, "counts of each class in " + folder + kConfusionFile + " and " + folder +
                               kPerClassFile);
  }
}

}  // namespace lockstep::jobs
