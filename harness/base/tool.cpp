#include "base/tool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/library.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Everything the child writes until it ends; false when it takes too long. Throws Interrupted.
bool read_output(const ChildProcess& child, int fd, double timeout_s, std::size_t max_bytes,
                 std::string& output) {
  std::array<char, 4096> buffer;
  for (double left_s = timeout_s;;) {
    std::array<pollfd, 2> waits = {pollfd{fd, POLLIN, 0}, pollfd{interrupt_fd(), POLLIN, 0}};
    if (child.poll(waits, left_s) <= 0) return false;
    if (waits[0].revents == 0) throw Interrupted();
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    if (output.size() < max_bytes) output.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

fs::path find_tool(const std::string& name) {
  std::vector<std::string> folders = toolkit_roots();
  for (std::string& folder : folders) folder += "/bin";
  const char* path = std::getenv("PATH");
  std::istringstream rest(path == nullptr ? "" : path);
  for (std::string folder; std::getline(rest, folder, ':');) folders.push_back(folder);
  for (const std::string& folder : folders) {
    const fs::path program = fs::path(folder) / name;
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

std::string ToolRun::last_line() const {
  const std::string text = output.substr(0, output.find_last_not_of(" \t\r\n") + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

ToolRun run_tool(const fs::path& program, std::vector<std::string> words, double timeout_s,
                 std::size_t max_bytes) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("cannot open a pipe");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  words.insert(words.begin(), program.string());
  const std::array<std::pair<int, int>, 2> descriptors = {
      {{write_end.get(), STDOUT_FILENO}, {write_end.get(), STDERR_FILENO}}};
  const pid_t pid = spawn(program.filename().string(), program, std::move(words), descriptors);
  const ChildProcess child(pid);
  write_end.reset();

  ToolRun run;
  bool ended = false;
  try {
    ended = read_output(child, read_end.get(), timeout_s, max_bytes, run.output);
  } catch (const Interrupted&) {
    ::kill(-pid, SIGKILL);  // and what it has started
    throw;
  }
  if (ended) {
    run.end = child.end(1);
  } else {
    ::kill(-pid, SIGKILL);
  }
  return run;
}

}  // namespace assay
