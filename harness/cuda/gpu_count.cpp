#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>

#include "cuda/gpu_count.h"

#include "base/child_process.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "cuda/driver.h"

namespace assay {
namespace {

constexpr double kTimeoutS = 60;

/// The child's whole life: writes "2", or a sentence, and ends without running the parent's exit
/// handlers.
[[noreturn]] void answer(int fd) {
  std::string text;
  try {
    const Driver driver;
    int count = 0;
    driver.cuDeviceGetCount(&count);
    text = std::to_string(count);
  } catch (const std::exception& error) {
    text = error.what();
  }
  [[maybe_unused]] const ssize_t written = ::write(fd, text.data(), text.size());
  ::_exit(kExitDone);
}

/// Everything the child writes until it ends; false when it takes too long.
bool read_answer(const ChildProcess& child, int fd, std::string& text) {
  for (double left_s = kTimeoutS;;) {
    std::array<pollfd, 2> waits = {pollfd{fd, POLLIN, 0}, pollfd{interrupt_fd(), POLLIN, 0}};
    if (child.poll(waits, left_s) <= 0) return false;
    if (waits[0].revents == 0) throw Interrupted();
    std::array<char, 4096> buffer;
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

int count_gpus(std::string& reason) {
  reason.clear();
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("cannot open a pipe");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) throw Error("cannot start a process to count the GPUs");
  if (pid == 0) answer(write_end.get());
  const ChildProcess child(pid);
  write_end.reset();

  std::string text;
  if (!read_answer(child, read_end.get(), text)) {
    reason = fmt::format("the NVIDIA driver did not answer within {} seconds", kTimeoutS);
    return 0;
  }
  const auto child_end = child.end(1);
  if (const std::optional<int> count = number_of<int>(text)) {
    if (count == 0) reason = "the NVIDIA driver finds no GPU";
    return *count;
  }
  reason = text.empty()
               ? "the NVIDIA driver fails: " + (child_end ? child_end->text : "it says nothing")
               : text;
  return 0;
}

}  // namespace assay
