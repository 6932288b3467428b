#pragma once

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <stdexcept>

#include "base/file.h"

namespace assay {

/// Starts `body` in a process of its own, which ends without running this one's destructors.
inline pid_t start_process(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  int code = 99;
  try {
    code = body();
  } catch (const std::exception& error) {
    fmt::print(stderr, "child: {}\n", error.what());
  }
  ::_exit(code);
}

/// The exit code of a process, or less the number of the signal that ended it.
inline int wait_for(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// A pipe through which one process or thread tells another something.
struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("cannot make a pipe");
    read_end = UniqueFd(ends[0]);
    write_end = UniqueFd(ends[1]);
  }
  template <typename T>
  bool say(const T& word) const {
    return ::write(write_end.get(), &word, sizeof word) == sizeof word;
  }
  /// Waits for what is said.
  template <typename T = char>
  std::optional<T> heard() const {
    T word;
    return ::read(read_end.get(), &word, sizeof word) == sizeof word ? std::optional(word)
                                                                     : std::nullopt;
  }

  UniqueFd read_end, write_end;
};

}  // namespace assay
