#include "device/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/interrupt.h"

namespace assay {
namespace {

constexpr int kWorkerFd = 3;

[[noreturn]] void fail_to_start(const char* what, int code) {
  throw Error("cannot start a worker: {}: {}", what, std::generic_category().message(code));
}

}  // namespace

WorkerProcess::WorkerProcess(const std::filesystem::path& program, int index) {
  std::array<int, 2> ends;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail_to_start("socketpair", errno);
  }
  socket_ = UniqueFd(ends[0]);
  UniqueFd theirs(ends[1]);
  if (ends[1] == kWorkerFd) {
    // A dup2 onto itself leaves O_CLOEXEC on before glibc 2.29.
    theirs = UniqueFd(::fcntl(ends[1], F_DUPFD_CLOEXEC, kWorkerFd + 1));
    if (!theirs) fail_to_start("fcntl", errno);
  }
  if (::fcntl(socket_.get(), F_SETFL, O_NONBLOCK) != 0) fail_to_start("fcntl", errno);
  // The worker's stdout goes elsewhere: a kernel's printf must not end up in the tables.
  const std::array<std::pair<int, int>, 2> descriptors = {
      {{STDERR_FILENO, STDOUT_FILENO}, {theirs.get(), kWorkerFd}}};
  child_.emplace(spawn(
      "a worker", program,
      {"assay", "worker", "--fd", std::to_string(kWorkerFd), "--device", std::to_string(index)},
      descriptors));
}

void WorkerProcess::kill() noexcept { child_->kill(); }

bool WorkerProcess::connected() const {
  pollfd socket{socket_.get(), POLLRDHUP, 0};
  return ::poll(&socket, 1, 0) <= 0 || (socket.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
}

void WorkerProcess::send(std::string_view text) {
  outgoing_ += make_frame(text);
  flush();
}

void WorkerProcess::flush() {
  while (!outgoing_.empty()) {
    const ssize_t count =
        ::send(socket_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      // If the other side is gone, receive() sees it too, and says how it ended.
      if (errno != EAGAIN) outgoing_.clear();
      return;
    }
    outgoing_.erase(0, static_cast<std::size_t>(count));
  }
}

WorkerProcess::Received WorkerProcess::receive(double timeout_s) {
  std::array<char, 65536> buffer;
  for (;;) {
    try {
      if (std::optional<std::string> text = reader_.next()) return {Event::answer, *text};
    } catch (const Error& error) {
      return {Event::garbage, error.what()};
    }
    std::array<pollfd, 2> waits = {pollfd{socket_.get(), POLLIN, 0},
                                   pollfd{interrupt_fd(), POLLIN, 0}};
    if (!outgoing_.empty()) waits[0].events |= POLLOUT;
    const int ready = child_->poll(waits, timeout_s);
    if (ready < 0) fail_to_start("poll", errno);
    if (ready == 0) return {Event::timed_out, {}};
    if ((waits[0].revents & POLLOUT) != 0) flush();
    if ((waits[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count <= 0) return receive_end();
      reader_.append({buffer.data(), static_cast<std::size_t>(count)});
    } else if (waits[1].revents != 0) {
      // Look for a signal only when there is no answer to read, so that what was measured is kept.
      return {Event::interrupted, {}};
    }
  }
}

WorkerProcess::Received WorkerProcess::receive_end() {
  if (const auto end = child_->end(1)) {
    return {end->killed ? Event::killed : Event::ended, "worker died: " + end->text};
  }
  kill();
  return {Event::ended, "worker closed its connection"};
}

}  // namespace assay
