#include "compile/compile_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace assay {
namespace {

/// What a process that forbids itself these calls can still do, bit by bit.
[[noreturn]] void try_them_all() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::_Exit(64);
  if (!forbid_network_and_programs()) std::_Exit(128);
  int done = 0;
  if (::socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM) done |= 1;
  if (::socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EPERM) done |= 2;
  ::execl("/bin/true", "true", nullptr);
  if (errno != EPERM) done |= 4;
  // What was open before goes on, as the compiler's own socket must.
  char byte = 0;
  if (::send(ends[0], "x", 1, 0) != 1 || ::recv(ends[1], &byte, 1, 0) != 1) done |= 8;
  std::_Exit(done);
}

TEST(ForbiddenCallsTest, NoNetworkAndNoProgramButOpenSocketsGoOn) {
  EXPECT_EXIT(
      try_them_all(),
      [](int status) {
        return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 128);
      },
      "");
}

}  // namespace
}  // namespace assay
