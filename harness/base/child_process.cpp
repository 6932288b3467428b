#include "base/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/interrupt.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

// How long to wait for a killed process. While a kernel runs it ends only when the driver has
// stopped the kernel.
constexpr double kReapPatienceS = 5;
// The same after Ctrl-C, when the whole program must end within a second.
constexpr double kInterruptedReapPatienceS = 0.3;
// A wait for a child is measured in parts of at most this length.
constexpr double kSliceS = 0.1;

/// Waits for the end of a process. False when it still runs at the deadline.
bool wait_for_end(pid_t pid, siginfo_t& info, int options, Clock::time_point deadline) {
  for (;;) {
    info = {};
    const int code = ::waitid(P_PID, static_cast<id_t>(pid), &info, options | WEXITED | WNOHANG);
    // Any error but a signal means that there is no such child, so nothing to wait for.
    if (code == 0 ? info.si_pid == pid : errno != EINTR) return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// One of posix_spawn's parts, from its initialisation to its destruction.
template <typename T, auto kInitialise, auto kDestroy>
class SpawnPart {
 public:
  SpawnPart() { kInitialise(&part_); }
  ~SpawnPart() { kDestroy(&part_); }
  SpawnPart(const SpawnPart&) = delete;
  SpawnPart& operator=(const SpawnPart&) = delete;
  T* get() { return &part_; }

 private:
  T part_;
};
using FileActions = SpawnPart<posix_spawn_file_actions_t, ::posix_spawn_file_actions_init,
                              ::posix_spawn_file_actions_destroy>;
using Attributes = SpawnPart<posix_spawnattr_t, ::posix_spawnattr_init, ::posix_spawnattr_destroy>;

}  // namespace

ChildProcess::~ChildProcess() {
  kill();
  siginfo_t info;
  const double patience_s = interrupted() ? kInterruptedReapPatienceS : kReapPatienceS;
  wait_for_end(pid_, info, 0, deadline_after(patience_s));
}

void ChildProcess::kill() const noexcept { ::kill(pid_, SIGKILL); }

std::optional<ChildProcess::End> ChildProcess::end(double patience_s) const {
  siginfo_t info;
  // WNOWAIT leaves the process's id taken.
  if (!wait_for_end(pid_, info, WNOWAIT, deadline_after(patience_s))) return std::nullopt;
  if (info.si_code == CLD_EXITED) {
    return End{fmt::format("exit code {}", info.si_status), info.si_status == kExitMachine};
  }
  // Signals that no fault of a program's own raises.
  constexpr std::array kFromOutside = {SIGKILL, SIGTERM, SIGHUP, SIGINT, SIGQUIT};
  return End{fmt::format("signal {} ({})", info.si_status, ::strsignal(info.si_status)),
             std::ranges::find(kFromOutside, info.si_status) != kFromOutside.end()};
}

int ChildProcess::poll(std::span<pollfd> waits, double& left_s) const {
  for (;;) {
    const double slice_s = std::clamp(left_s, 0.0, kSliceS);
    const auto start = Clock::now();
    const int ready =
        ::poll(waits.data(), waits.size(), static_cast<int>(std::ceil(slice_s * 1e3)));
    const auto now = ready > 0 ? std::nullopt : usage();
    left_s -= counted_s(seconds_since(start), slice_s, now && now->stopped);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return ready;
    if (ready == 0 && left_s <= 0) return 0;
  }
}

std::optional<ChildProcess::Usage> ChildProcess::usage() const {
  const std::vector<std::string> fields = process_stat(pid_);
  if (fields.size() < 22) return std::nullopt;
  const std::string& state = fields[0];
  const auto number = [&](std::size_t field) { return std::stod(fields[field - 3]); };  // proc(5)
  const double ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const double page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return Usage{state == "S" || state == "D", state == "T" || state == "t",
               (number(14) + number(15)) / ticks_per_s,
               static_cast<std::uint64_t>(number(24) * page_bytes)};
}

std::vector<std::string> process_stat(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  // The program's name, the second field, stands in parentheses and may hold anything, even ')'.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  return {std::istream_iterator<std::string>(fields), {}};
}

int poll_until(std::span<pollfd> waits, Clock::time_point deadline) {
  for (;;) {
    int timeout_ms = -1;
    if (deadline != Clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
    }
    const int ready = ::poll(waits.data(), waits.size(), timeout_ms);
    if (ready >= 0 || errno != EINTR) return ready;
  }
}

double counted_s(double passed_s, double part_s, bool child_is_stopped) {
  return child_is_stopped ? 0 : std::min(passed_s, part_s);
}

Clock::time_point deadline_after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

pid_t spawn(std::string_view what, const std::filesystem::path& program,
            std::vector<std::string> words, std::span<const std::pair<int, int>> descriptors) {
  FileActions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  int last = STDERR_FILENO;
  for (const auto& [ours, theirs] : descriptors) {
    ::posix_spawn_file_actions_adddup2(actions.get(), ours, theirs);
    last = std::max(last, theirs);
  }
  ::posix_spawn_file_actions_addclosefrom_np(actions.get(), last + 1);

  Attributes attributes;
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setpgroup(attributes.get(), 0);
  ::posix_spawnattr_setsigmask(attributes.get(), &none);
  ::posix_spawnattr_setsigdefault(attributes.get(), &all);
  ::posix_spawnattr_setflags(
      attributes.get(), POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int code =
      ::posix_spawn(&pid, program.c_str(), actions.get(), attributes.get(), argv.data(), environ);
  if (code == 0) return pid;
  throw Error("cannot start {}: {}: {}", what, program.string(),
              std::generic_category().message(code));
}

}  // namespace assay
