// A request is a unit to compile, a reply NVRTC's output or {"unfit": why}, each in CBOR in a
// frame.

#include "compile/compile_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/error.h"

namespace assay {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Nvrtc::Unit, name, text, headers, options)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Nvrtc::Output, ok, log, cubin)

namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// A child that has closed its socket is about to end.
constexpr double kEndPatienceS = 5;

std::string pack(const json& message) {
  std::string bytes;
  json::to_cbor(message, bytes);
  return bytes;
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
  try {
    FrameReader reader;
    while (const std::optional<std::string> request = receive_frame(fd, reader)) {
      json reply;
      try {
        reply = nvrtc.compile(json::from_cbor(*request).get<Nvrtc::Unit>());
      } catch (const std::exception& error) {
        reply = {{"unfit", error.what()}};
      }
      if (!send_frame(fd, pack(reply))) break;
    }
  } catch (const std::exception&) {
    // The parent died in the middle of a request, or the reply is too large. An exception that left
    // this function would go on in a copy of the parent.
    ::_exit(kExitMachine);
  }
  ::_exit(kExitDone);
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
  const pid_t pid = ::fork();
  if (pid < 0) fail("fork");
  if (pid == 0) run_child(nvrtc, child_end.get(), parent);
  child_.emplace(pid);
}

void CompileProcess::kill() const { child_->kill(); }

CompileProcess::Result CompileProcess::compile(const Nvrtc::Unit& unit,
                                               Clock::time_point deadline) {
  Result result;
  std::optional<std::string> reply;
  if (send_frame(socket_.get(), pack(unit))) {
    try {
      reply = receive_frame(socket_.get(), reader_, deadline);
    } catch (const Error&) {
      // The reply was cut off: the child died while it wrote.
    }
  }
  if (reply) {
    const json message = json::from_cbor(*reply);
    if (message.contains("unfit")) throw Error(message["unfit"].get<std::string>());
    message.get_to(result.output);
  } else if (Clock::now() >= deadline) {
    result.end = End::timeout;
  } else {
    result.end = End::death;
    result.cause_of_death = child_->end(kEndPatienceS).value_or("it closed its connection");
  }
  return result;
}

}  // namespace assay
