#include "device/sanitizer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <sstream>

#include "base/child_process.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/library.h"
#include "base/spawn.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// A tool makes a launch slower by a factor of ten to a thousand.
constexpr double kTimeoutS = 300;
constexpr std::size_t kMostOutputBytes = 1 << 20;
// What it ends with when it has found something: no exit code of this program's own.
constexpr int kFoundCode = 86;
constexpr std::string_view kMark = "=========";

/// Everything the child writes until it ends; false when it takes too long. Throws Interrupted.
bool read_output(const ChildProcess& child, int fd, std::string& output) {
  std::array<char, 4096> buffer;
  for (double left_s = kTimeoutS;;) {
    std::array<pollfd, 2> waits = {pollfd{fd, POLLIN, 0}, pollfd{interrupt_fd(), POLLIN, 0}};
    if (child.poll(waits, left_s) <= 0) return false;
    if (waits[0].revents == 0) throw Interrupted();
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    if (output.size() < kMostOutputBytes) {
      output.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }
}

/// The first lines of what the tool says, behind its name: "Invalid __global__ read of size 4
/// bytes at gemm+0x90".
std::string finding_of(const std::string& output) {
  constexpr std::size_t kLines = 2;
  std::istringstream lines(output);
  std::string finding;
  std::size_t count = 0;
  for (std::string line; count < kLines && std::getline(lines, line);) {
    if (!line.starts_with(kMark) || line.find("COMPUTE-SANITIZER") != std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", kMark.size());
    if (begin == std::string::npos) continue;
    finding += (finding.empty() ? "" : " ") + line.substr(begin);
    ++count;
  }
  return finding;
}

std::string last_line_of(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

}  // namespace

fs::path find_sanitizer() {
  std::vector<std::string> folders = toolkit_roots();
  for (std::string& folder : folders) folder += "/bin";
  const char* path = std::getenv("PATH");
  std::istringstream rest(path == nullptr ? "" : path);
  for (std::string folder; std::getline(rest, folder, ':');) folders.push_back(folder);
  for (const std::string& folder : folders) {
    const fs::path program = fs::path(folder) / "compute-sanitizer";
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

VerificationCheck sanitize(const fs::path& sanitizer, std::string_view tool,
                           const fs::path& program, const std::vector<std::string>& words) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("cannot open a pipe");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  // The driver's errors that the harness asks for are none: a variable that is not there.
  std::vector<std::string> all = {sanitizer.string(),
                                  "--tool",
                                  std::string(tool),
                                  "--error-exitcode",
                                  std::to_string(kFoundCode),
                                  "--report-api-errors",
                                  "no",
                                  program.string()};
  all.insert(all.end(), words.begin(), words.end());
  const std::array<std::pair<int, int>, 2> descriptors = {
      {{write_end.get(), STDOUT_FILENO}, {write_end.get(), STDERR_FILENO}}};
  const pid_t pid = spawn("compute-sanitizer", sanitizer, all, descriptors);
  const ChildProcess child(pid);
  write_end.reset();

  const std::string name(tool);
  std::string output;
  bool ended = false;
  try {
    ended = read_output(child, read_end.get(), output);
  } catch (const Interrupted&) {
    ::kill(-pid, SIGKILL);  // and what it has started
    throw;
  }
  if (!ended) {
    ::kill(-pid, SIGKILL);
    return {name, CheckResult::skipped, fmt::format("no answer within {} seconds", kTimeoutS)};
  }
  const auto end = child.end(1);
  if (end && end->text == "exit code 0") return {name, CheckResult::passed};
  if (end && end->text == fmt::format("exit code {}", kFoundCode)) {
    return {name, CheckResult::failed, finding_of(output)};
  }
  return {name, CheckResult::skipped,
          fmt::format("compute-sanitizer cannot work here: {}: {}", end ? end->text : "no end",
                      last_line_of(output))};
}

}  // namespace assay
