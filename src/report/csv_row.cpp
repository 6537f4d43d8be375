#include "csv_row.hpp"

namespace lockstep::report {

CsvRow& CsvRow::operator<<(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return add(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  quoted += '"';
  return add(quoted);
}

CsvRow& CsvRow::empty(int count) {
  for (int i = 0; i < count; ++i) add({});
  return *this;
}

CsvRow& CsvRow::add(std::string_view field) {
  if (!first_) text_ += ',';
  first_ = false;
  text_ += field;
  return *this;
}

}  // namespace lockstep::report
