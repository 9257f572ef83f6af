// SPDX-License-Identifier: BSD-3-Clause
#include "app/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "io/file.hpp"
#include "io/json.hpp"
#include "io/output_file.hpp"
#include "io/text.hpp"

namespace speedwell {

namespace {

/// Writes the text, with one write() if possible, so that lines of several ranks do not mix.
/// Returns 0 or errno.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EAGAIN) {
      ::usleep(1000);  // another program made the terminal or pipe non-blocking
      continue;
    }
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void write_or_throw(int descriptor, std::string_view text, const std::string& where) {
  if (const int error = write_all(descriptor, text); error != 0)
    throw Fault(fmt::format("cannot write {}: {}", where, error_text(error)));
}

constexpr const char* to_output = "to standard output";
constexpr const char* to_error = "to standard error";

/// What could not be written. As the streams, it is the process's.
struct Losses {
  bool outlived = false;             ///< streams may be lost
  bool stream = false;               ///< one is lost
  std::map<std::string, int> files;  ///< the exit status of each file that has failed once
};
Losses& losses() {
  static Losses all;
  return all;
}

void write_report(int descriptor, std::string_view text, const std::string& where) {
  Losses& lost = losses();
  if (lost.stream) return;
  try {
    write_or_throw(descriptor, text, where);
  } catch (const Fault& fault) {
    if (!lost.outlived) throw;
    lost.stream = true;
    complain(fault.what());
  }
}

/// Where print() writes.
int& report_descriptor() {
  static int descriptor = STDOUT_FILENO;
  return descriptor;
}

bool is_closed(int descriptor) {
  return ::fcntl(descriptor, F_GETFD) == -1;
}

}  // namespace

void prepare_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const bool no_output = is_closed(STDOUT_FILENO);
  // open() returns the lowest free number, so this fills those of closed standard streams.
  while (is_closed(STDIN_FILENO) || is_closed(STDOUT_FILENO) || is_closed(STDERR_FILENO))
    if (::open("/dev/null", O_RDWR) < 0) break;
  if (no_output) throw Fault("standard output is closed");
}

void print(std::string_view text) {
  const int where = report_descriptor();
  write_report(where, text, where == STDOUT_FILENO ? to_output : to_error);
}

void leave_output_to_json() {
  report_descriptor() = STDERR_FILENO;
}

void outlive_streams() {
  losses().outlived = true;
}

void try_file(const std::string& path, const std::function<void()>& write) {
  const Ending ending = ending_of([&] {
    write();
    return 0;
  });
  std::map<std::string, int>& files = losses().files;
  if (ending.status != 0 && !files.contains(path)) complain(ending.complaint);
  if (ending.status != 0 || files.contains(path)) files[path] = ending.status;
}

void try_json(const std::string& path, const std::function<nlohmann::ordered_json()>& document) {
  try_file(path, [&] {
    if (path == standard_output)
      write_or_throw(STDOUT_FILENO, json_text(document()), to_output);
    else
      write_json(path, document());
  });
}

bool is_rewritten(const std::string& path) {
  return path != standard_output && is_replaced(path);
}

int lost_status() {
  constexpr int fault = 3;
  int status = losses().stream ? fault : 0;
  for (const auto& [path, of_file] : losses().files) status = std::max(status, of_file);
  return status;
}

ReportOutput::ReportOutput(const HplDat& dat)
    : to_error_(dat.device_out == 7), file_(dat.report_file()) {}

void ReportOutput::print(std::string_view text) {
  printed_ += text;
  if (!file_.empty() && is_replaced(file_)) save();
  if (to_error_)
    write_report(STDERR_FILENO, text, to_error);
  else
    speedwell::print(text);
}

void ReportOutput::save() const {
  try_file(file_, [&] { write_whole(file_, printed_); });
}

void ReportOutput::finish() const {
  if (!file_.empty() && !is_replaced(file_)) save();
}

void complain(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  write_all(STDERR_FILENO, fmt::format("speedwell: {}\n", printable(text, text.npos)));
}

Ending ending_of(const std::function<int()>& work) {
  constexpr int bad_usage = 2;
  constexpr int fault = 3;
  try {
    return {work(), "", true};
  } catch (const UsageError& error) {
    return {bad_usage, error.what(), true};
  } catch (const AgreedFault& error) {
    return {fault, error.what(), true};
  } catch (const std::exception& error) {
    return {fault, error.what(), false};
  }
}

int finish(const Ending& ending) {
  if (!ending.complaint.empty()) complain(ending.complaint);
  return ending.status;
}

void print_progress(const std::string& line) {
  write_all(STDERR_FILENO, line + "\n");
}

bool error_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

}  // namespace speedwell
