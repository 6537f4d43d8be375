#include "lockstep/report/metrics.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <vector>

#include "csv_row.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/durable_file.hpp"

namespace lockstep::report {

namespace {

constexpr const char* kMetricsFile = "/metrics.csv";
constexpr const char* kTimingsFile = "/timings.csv";
constexpr std::string_view kMetricsHeader =
    "epoch,updates,train_loss,train_top1,val_loss,val_top1,val_top5,val_samples,lr,grad_norm,best";
constexpr std::string_view kTimingsHeader =
    "epoch,train_seconds,eval_seconds,images_per_second,data_wait_seconds,exposed_comm_seconds,"
    "rss_mib,peak_mib";

/// The lines of a file that are whole.
std::vector<std::string> whole_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// Leaves of an existing file the header and the rows of the first `epochs` epochs.
void keep_rows(const std::string& path, std::string_view header, std::int64_t epochs) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  const std::vector<std::string> lines = whole_lines(read_file(path));
  std::string kept;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 0) {
      require(lines[i] == header, path + " cannot be continued",
              "its columns are not those of this program",
              "go on with the program that wrote it, or move the file away");
    }
    std::int64_t epoch = 0;
    std::from_chars(lines[i].data(), lines[i].data() + lines[i].size(), epoch);
    if (i == 0 || epoch <= epochs) kept += lines[i] + "\n";
  }
  replace_durable(path, kept);
}

/// A CSV file that grows by whole lines, each on the disk before put() returns.
class CsvFile {
 public:
  CsvFile(const std::string& path, std::string_view header)
      : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail(errno_text());
    try {
      if (size() == 0) put(std::string(header));
    } catch (...) {
      ::close(fd_);
      throw;
    }
  }
  ~CsvFile() { ::close(fd_); }
  CsvFile(const CsvFile&) = delete;
  CsvFile& operator=(const CsvFile&) = delete;

  void put(std::string line) {
    line += '\n';
    const off_t before = size();
    std::size_t done = 0;
    while (done < line.size()) {
      const ssize_t count = ::write(fd_, line.data() + done, line.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        const std::string why = count < 0 ? errno_text() : "nothing was taken";
        // No half line may stay behind: whoever reads the file would take it for a row. If even
        // that fails, the error thrown says enough.
        if (done > 0 && ::ftruncate(fd_, before) != 0) fail(why + "; its last line is incomplete");
        fail(why);
      }
      done += static_cast<std::size_t>(count);
    }
    if (::fdatasync(fd_) != 0 && errno != EINVAL) fail(errno_text());
  }

 private:
  [[nodiscard]] off_t size() const {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail(errno_text());
    return status.st_size;
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(path_ + " cannot be written", why, "free space on the disk or check permissions");
  }

  std::string path_;
  int fd_;
};

}  // namespace

struct MetricsWriter::Impl {
  explicit Impl(const std::string& folder)
      : metrics(folder + kMetricsFile, kMetricsHeader),
        timings(folder + kTimingsFile, kTimingsHeader) {}
  CsvFile metrics;
  CsvFile timings;
};

MetricsWriter::MetricsWriter(const std::string& run_folder, std::int64_t epochs) {
  keep_rows(run_folder + kMetricsFile, kMetricsHeader, epochs);
  keep_rows(run_folder + kTimingsFile, kTimingsHeader, epochs);
  impl_ = std::make_unique<Impl>(run_folder);
}

MetricsWriter::~MetricsWriter() = default;

void MetricsWriter::write(const EpochRecord& record) {
  CsvRow row;
  row << record.epoch << record.updates << record.train_loss << record.train_top1;
  if (record.val) {
    row << record.val->loss << record.val->top1() << record.val->top5() << record.val->samples;
  } else {
    row.empty(4);
  }
  row << record.learning_rate << record.grad_norm << (record.best ? 1 : 0);
  impl_->metrics.put(row.text());

  CsvRow clock;
  clock << record.epoch << record.train_seconds << record.eval_seconds << record.images_per_second
        << record.data_wait_seconds << record.exposed_comm_seconds << record.rss_mib
        << record.peak_mib;
  impl_->timings.put(clock.text());
}

}  // namespace lockstep::report
