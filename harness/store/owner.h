#pragma once

#include <cstdint>
#include <string>

namespace assay {

/// A process, named so that it cannot be mistaken for a later one with the same number.
struct Owner {
  std::string host;     // with the PID namespace: "box pid:[4026531836]"
  std::string boot_id;  // of the kernel that runs it
  std::int64_t pid = 0;
  std::int64_t process_start = 0;  // in clock ticks since that boot
};

Owner this_process();

/// How long a claim of a process that cannot be seen counts. Such a process runs in another
/// container on this machine. An hour is longer than any trial takes.
inline constexpr std::int64_t kUnseenClaimLifetimeSeconds = 3600;

/// Whether the process that made a claim `age_seconds` ago still runs.
bool is_alive(const Owner& owner, std::int64_t age_seconds);

}  // namespace assay
