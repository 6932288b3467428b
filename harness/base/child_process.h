#pragma once

#include <sys/types.h>

#include <string>

namespace assay {

/// A child's end as waitpid reports it: "signal 11 (Segmentation fault)", "exit code 3".
std::string describe_end(int wait_status);

/// Waits at most `patience_s` for a child to end and reaps it. False when it still runs.
bool reap(pid_t pid, double patience_s, int& wait_status);

}  // namespace assay
