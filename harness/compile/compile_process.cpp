// Request and reply are each one message: the number of fields, then each field's size and bytes.
// Numbers are 64 bits, in the order of the machine.
//
// A request is a name, a text, the number of headers, each header's spelling and text, then the
// options. A reply is "ok", "failed" or "unfit", then the log (or why NVRTC is unfit), then the
// cubin.

#include "compile/compile_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <system_error>
#include <vector>

#include "base/error.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;
using Message = std::vector<std::string>;

std::string pack(const Message& message) {
  std::string bytes;
  const auto add_number = [&bytes](std::uint64_t number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  add_number(message.size());
  for (const std::string& field : message) {
    add_number(field.size());
    bytes += field;
  }
  return bytes;
}

/// False when the other side is gone.
bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Reads messages until a deadline. Both ends are this program's, so sizes are trusted.
class Receiver {
 public:
  Receiver(int fd, Clock::time_point deadline) : fd_(fd), deadline_(deadline) {}

  /// Nothing when the other side is gone or the time is up; timed_out() says which.
  std::optional<Message> receive() {
    const std::optional<std::uint64_t> num_fields = number();
    if (!num_fields) return std::nullopt;
    Message message;
    while (message.size() < *num_fields) {
      const std::optional<std::uint64_t> size = number();
      if (!size) return std::nullopt;
      std::string& field = message.emplace_back(*size, '\0');
      if (!read(field.data(), field.size())) return std::nullopt;
    }
    return message;
  }

  bool timed_out() const { return timed_out_; }

 private:
  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    if (!read(reinterpret_cast<char*>(&value), sizeof value)) return std::nullopt;
    return value;
  }

  bool read(char* bytes, std::size_t size) {
    while (size > 0) {
      if (!wait()) return false;
      const ssize_t count = ::recv(fd_, bytes, size, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes += count;
      size -= static_cast<std::size_t>(count);
    }
    return true;
  }

  bool wait() {
    for (;;) {
      int timeout_ms = -1;
      if (deadline_ != Clock::time_point::max()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
        timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
      }
      pollfd entry{fd_, POLLIN, 0};
      const int count = ::poll(&entry, 1, timeout_ms);
      if (count > 0) return true;
      if (count < 0 && errno == EINTR) continue;
      timed_out_ = count == 0;
      return false;
    }
  }

  int fd_;
  Clock::time_point deadline_;
  bool timed_out_ = false;
};

Message to_message(const Nvrtc::Unit& unit) {
  Message message{unit.name, unit.text, std::to_string(unit.headers.size())};
  for (const auto& [spelling, text] : unit.headers) {
    message.push_back(spelling);
    message.push_back(text);
  }
  message.insert(message.end(), unit.options.begin(), unit.options.end());
  return message;
}

Nvrtc::Unit to_unit(const Message& message) {
  Nvrtc::Unit unit{message.at(0), message.at(1), {}, {}};
  std::size_t next = 3;
  for (std::size_t i = 0, count = std::stoull(message.at(2)); i < count; ++i, next += 2) {
    unit.headers.emplace_back(message.at(next), message.at(next + 1));
  }
  unit.options.assign(message.begin() + static_cast<std::ptrdiff_t>(next), message.end());
  return unit;
}

[[noreturn]] void run_child(const Nvrtc& nvrtc, int fd, pid_t parent) {
  // Ctrl-C reaches every process of the terminal. The parent decides when this one ends.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Compilers on every core must not hold up the processes that feed the GPU. Without this, sweeps
  // of short kernels ran at 31 to 50 configurations/s from a cold cache on 16 cores.
  static_cast<void>(::nice(10));
  if (::getppid() != parent) ::_exit(0);
  // Close the parent's other descriptors, above all the socket of the GPU's worker. They must be
  // closed when the parent closes them.
  const auto own = static_cast<unsigned>(fd);
  if (own > 3) ::close_range(3, own - 1, 0);
  ::close_range(own + 1, ~0u, 0);
  // When memory runs out, this is the process to kill.
  if (const UniqueFd score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)); score) {
    [[maybe_unused]] const ssize_t count = ::write(score.get(), "1000", 4);
  }
  Receiver receiver(fd, Clock::time_point::max());
  while (const std::optional<Message> request = receiver.receive()) {
    Message reply;
    try {
      Nvrtc::Output output = nvrtc.compile(to_unit(*request));
      reply = {output.ok ? "ok" : "failed", std::move(output.log), std::move(output.cubin)};
    } catch (const std::exception& error) {
      reply = {"unfit", error.what(), ""};
    }
    if (!send_all(fd, pack(reply))) break;
  }
  ::_exit(0);
}

[[noreturn]] void fail(const char* what) {
  throw Error(fmt::format("cannot start a process to compile in: {}: {}", what,
                          std::generic_category().message(errno)));
}

}  // namespace

CompileProcess::CompileProcess(const Nvrtc& nvrtc) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  socket_ = UniqueFd(ends[0]);
  const UniqueFd child_end(ends[1]);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail("fork");
  if (pid_ == 0) run_child(nvrtc, child_end.get(), parent);
}

CompileProcess::~CompileProcess() {
  kill();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void CompileProcess::kill() const { ::kill(pid_, SIGKILL); }

std::string CompileProcess::cause_of_death() const {
  // WNOWAIT: only the destructor may free the process's id, which kill() uses.
  siginfo_t info = {};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  if (info.si_code == CLD_EXITED) return fmt::format("exit code {}", info.si_status);
  return fmt::format("signal {} ({})", info.si_status, ::strsignal(info.si_status));
}

CompileProcess::Result CompileProcess::compile(const Nvrtc::Unit& unit,
                                               Clock::time_point deadline) {
  Result result;
  Receiver receiver(socket_.get(), deadline);
  std::optional<Message> reply;
  if (send_all(socket_.get(), pack(to_message(unit)))) reply = receiver.receive();
  if (reply && reply->at(0) == "unfit") throw Error(reply->at(1));
  if (reply) {
    result.output = {reply->at(0) == "ok", std::move(reply->at(1)), std::move(reply->at(2))};
  } else if (receiver.timed_out()) {
    result.end = End::timeout;
  } else {
    result.end = End::death;
    result.cause_of_death = cause_of_death();
  }
  return result;
}

}  // namespace assay
