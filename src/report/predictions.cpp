#include "lockstep/report/predictions.hpp"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "csv_row.hpp"
#include "lockstep/base/check.hpp"
#include "output_file.hpp"

namespace lockstep::report {
namespace {

std::string csv_header(std::int64_t k) {
  CsvRow row;
  row << std::string("path") << std::string("label");
  for (std::int64_t i = 1; i <= k; ++i) {
    row << "class_" + std::to_string(i) << "probability_" + std::to_string(i);
  }
  return row.text() + "\n";
}

std::string csv_line(const PredictionRow& prediction) {
  CsvRow row;
  row << prediction.path << prediction.label;
  for (const auto& guess : prediction.top) {
    row << guess.name << guess.probability;
  }
  return row.text() + "\n";
}

std::string json_object(const PredictionRow& row) {
  nlohmann::ordered_json json = {{"path", row.path}, {"label", nullptr}};
  if (!row.label.empty()) json["label"] = row.label;
  json["top"] = nlohmann::ordered_json::array();
  for (const auto& guess : row.top) {
    json["top"].push_back({{"class", guess.name}, {"probability", guess.probability}});
  }
  // A path may hold any bytes.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string table_line(const PredictionRow& row) {
  std::string line = row.path + " ";
  for (const auto& guess : row.top) {
    std::array<char, 32> percent{};
    std::snprintf(percent.data(), percent.size(), " %.2f %%", 100 * guess.probability);
    line += " " + guess.name + percent.data() + " ";
  }
  line.pop_back();
  return line + (row.label.empty() ? "" : "  (is " + row.label + ")") + "\n";
}

}  // namespace

PredictionFormat prediction_format(const std::string& word) {
  if (word == "table") return PredictionFormat::kTable;
  if (word == "csv") return PredictionFormat::kCsv;
  if (word == "json") return PredictionFormat::kJson;
  throw UsageError("there is no format '" + word + "'", "the formats are table, csv and json",
                   "choose one of them");
}

struct PredictionWriter::Impl {
  PredictionFormat format;
  std::string path;  // empty: the standard output
  OutputFile output;
  std::FILE* file = nullptr;
  std::int64_t rows = 0;

  void put(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file) != text.size()) fail();
  }
  [[noreturn]] void fail() const {
    throw Error("the predictions cannot be written to " +
                    (path.empty() ? "the standard output" : "'" + path + "'"),
                errno_text(), "free space or choose another place");
  }
};

PredictionWriter::PredictionWriter(PredictionFormat format, const std::string& file, std::int64_t k)
    : impl_(std::make_unique<Impl>()) {
  impl_->format = format;
  impl_->path = file;
  if (!file.empty() && !impl_->output.open(file)) impl_->fail();
  impl_->file = file.empty() ? stdout : impl_->output.stream();
  if (format == PredictionFormat::kCsv) impl_->put(csv_header(k));
  if (format == PredictionFormat::kJson) impl_->put("[");
}

PredictionWriter::~PredictionWriter() = default;

void PredictionWriter::write(const PredictionRow& row) {
  switch (impl_->format) {
    case PredictionFormat::kCsv:
      impl_->put(csv_line(row));
      break;
    case PredictionFormat::kJson:
      impl_->put((impl_->rows > 0 ? ",\n " : "\n ") + json_object(row));
      break;
    case PredictionFormat::kTable:
      impl_->put(table_line(row));
      break;
  }
  ++impl_->rows;
}

void PredictionWriter::close() {
  if (impl_->format == PredictionFormat::kJson) impl_->put("\n]\n");
  const bool done = impl_->path.empty() ? std::fflush(impl_->file) == 0 : impl_->output.close();
  if (!done) impl_->fail();
}

}  // namespace lockstep::report
