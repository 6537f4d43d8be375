#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The few things that several layers ask of the operating system, each with one way to fail.
namespace lockstep {

/// Reads at `offset` until `bytes` are there or the file ends. The number of bytes read, or -1 with
/// errno set.
[[nodiscard]] std::int64_t read_at(int descriptor, void* out, std::size_t bytes,
                                   std::int64_t offset) noexcept;

/// Writes all of the bytes at `offset`; false with errno set when that cannot be done.
[[nodiscard]] bool write_at(int descriptor, const void* data, std::size_t bytes,
                            std::int64_t offset) noexcept;

/// Makes the entries of a folder durable (fsync of the folder). Throws Error ending in `hint`; a
/// file system that has no fsync for folders is no failure.
void sync_folder(const std::string& folder, std::string_view hint);

/// Makes everything on the file system of `folder` durable (syncfs): for many files at once. Throws
/// Error with `hint`.
void sync_file_system(const std::string& folder, std::string_view hint);

/// Ignores `signal` unless somebody handles it already, so that the system call behind it fails
/// with an error that can be told: SIGPIPE (EPIPE, the reader has left), SIGXFSZ (EFBIG, a limit on
/// the size of files).
void turn_signal_into_error(int signal) noexcept;

/// Takes the places of standard streams that are closed, so that no file or socket comes to stand
/// there. Writing to them goes on to fail. First in main.
void hold_standard_streams() noexcept;

/// Ends a program in which everything is closed: flushes the standard streams and leaves without
/// the destructors of globals. LibTorch's would take its operators apart one by one, for a third of
/// the processor time of a short run. (Under a sanitizer they run: its own checks come with them.)
[[noreturn]] void end_process(int code) noexcept;

/// Name of this machine; "unknown" when it has none.
[[nodiscard]] std::string host_name();

/// Memory of this process that lies in RAM, in bytes, now and at its highest; 0 where the system
/// does not tell.
struct ProcessMemory {
  std::int64_t resident = 0;
  std::int64_t peak = 0;
};
[[nodiscard]] ProcessMemory process_memory();

}  // namespace lockstep
