#include "store/owner.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/text.h"

namespace assay {
namespace {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

// When a process started; nothing if there is none, or only its remains (a zombie).
std::optional<std::int64_t> process_start(std::int64_t pid) {
  constexpr std::size_t kStart = 22 - 3;  // proc(5): state is field 3, starttime field 22
  const std::vector<std::string> fields = process_stat(pid);
  if (fields.size() <= kStart || fields[0] == "Z" || fields[0] == "X") return std::nullopt;
  return number_of<std::int64_t>(fields[kStart]);
}

// The host's name and the PID namespace: containers may have one name, but each counts its
// processes for itself.
std::string host() {
  std::array<char, 256> name{}, pid_namespace{};
  if (gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  if (readlink("/proc/self/ns/pid", pid_namespace.data(), pid_namespace.size() - 1) < 0) {
    pid_namespace[0] = '\0';
  }
  return fmt::format("{} {}", name.data(), pid_namespace.data());
}

}  // namespace

Owner this_process() {
  const std::int64_t pid = getpid();
  return {host(), boot_id(), pid, process_start(pid).value_or(0)};
}

bool is_alive(const Owner& owner, std::int64_t age_seconds) {
  // A WAL database cannot be shared between machines, so another boot is a past one.
  if (owner.boot_id != boot_id()) return false;
  // A claim of the future was made before the clock was set back, nobody knows how long ago.
  constexpr std::int64_t kClockErrorSeconds = 60;
  if (owner.host != host()) {
    return age_seconds > -kClockErrorSeconds && age_seconds < kUnseenClaimLifetimeSeconds;
  }
  return process_start(owner.pid) == owner.process_start;
}

}  // namespace assay
