#include "base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"

namespace assay {
namespace {

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
