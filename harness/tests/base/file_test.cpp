#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/error.h"
#include "matchers.h"
#include "message_of.h"
#include "scoped_variable.h"
#include "temp_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::size_t num_files(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(FileTest, ContentSurvivesARoundTrip) {
  const TempFolder folder;
  const fs::path path = folder.path() / "a file";
  for (const std::size_t size : {0, 1, 16383, 16384, 16385, 100000}) {
    std::string content(size, 'x');
    if (size > 0) content[size / 2] = '\0';
    write_file_atomic(path, content);
    EXPECT_EQ(read_file(path), content) << size;
  }
}

TEST(FileTest, ReadingNamesThePathAndTheReason) {
  const TempFolder folder;
  const fs::path missing = folder.path() / "missing";
  EXPECT_EQ(message_of<UsageError>([&] { read_file(missing); }),
            "cannot read " + missing.string() + ": No such file or directory");
  EXPECT_EQ(message_of<UsageError>([&] { read_file(folder.path()); }),
            "cannot read " + folder.path().string() + ": Is a directory");
}

// /dev/zero filled the memory.
TEST(FileTest, ReadingEndsAtALimit) {
  const TempFolder folder;
  const fs::path path = folder.path() / "file";
  write_file_atomic(path, std::string(20'000, 'x'));
  EXPECT_EQ(read_file(path, 20'000).size(), 20'000u);
  EXPECT_EQ(message_of<UsageError>([&] { read_file(path, 19'999); }),
            path.string() + ": expected at most 19999 bytes, found more");
  EXPECT_EQ(message_of<UsageError>([] { read_file("/dev/zero"); }),
            "/dev/zero: expected at most 67108864 bytes, found more");
}

TEST(FileTest, APipeIsWaitedForAndReadToItsEnd) {
  const TempFolder folder;
  const fs::path path = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY));
    for (const char* part : {"one ", "two"}) {
      ASSERT_GT(::write(fd.get(), part, 4), 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_EQ(read_file(path), std::string("one two\0", 8));
  writer.join();
}

TEST(FileTest, WritingNamesThePathAndTheReasonAndLeavesNothing) {
  const TempFolder folder;
  const fs::path nowhere = folder.path() / "missing" / "file";
  EXPECT_EQ(message_of<Error>([&] { write_file_atomic(nowhere, "x"); }),
            "cannot write " + nowhere.string() + ": No such file or directory");
  EXPECT_THAT(message_of<Error>([&] { write_file_atomic(folder.path(), "x"); }),
              HasSubstr("Is a directory"));
  EXPECT_EQ(num_files(folder.path()), 0u);
}

TEST(FileTest, AFullDiskIsAnError) {
  EXPECT_EQ(message_of<Error>([] { write_file_atomic("/dev/full", "x"); }),
            "cannot write /dev/full: No space left on device");
}

TEST(FileTest, ADeviceStaysADevice) {
  // A rename over /dev/null, as root, would break the machine.
  write_file_atomic("/dev/null", "x");
  struct stat info = {};
  ASSERT_EQ(::stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST(FileTest, ALinkStaysALink) {
  const TempFolder folder;
  const fs::path target = folder.path() / "target", link = folder.path() / "link";
  write_file_atomic(target, "old");
  fs::create_symlink(target, link);
  write_file_atomic(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_file(target), "new");
}

TEST(FileTest, AReaderNeverSeesAPart) {
  const TempFolder folder;
  const fs::path path = folder.path() / "file";
  const std::string a(200000, 'a'), b(100000, 'b');
  write_file_atomic(path, a);
  std::atomic<bool> done = false;
  std::vector<std::thread> writers;
  for (const std::string& content : {a, b}) {
    writers.emplace_back([&, content] {
      for (int i = 0; i < 100; ++i) write_file_atomic(path, content);
      done = true;
    });
  }
  while (!done) {
    const std::string seen = read_file(path);
    EXPECT_TRUE(seen == a || seen == b) << seen.size();
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(num_files(folder.path()), 1u);  // no temporary is left
}

class CacheDirectoryTest : public ::testing::Test {
 protected:
  CacheDirectoryTest() {
    for (const char* name : {"XDG_CACHE_HOME", "HOME", "TMPDIR"}) ::unsetenv(name);
  }

  TempFolder folder_;
  // Each test is a process of its own under ctest; still, leave the variables as they were.
  test::ScopedVariable xdg_{"XDG_CACHE_HOME", ""}, home_{"HOME", ""}, temporary_{"TMPDIR", ""};
};

TEST_F(CacheDirectoryTest, XdgComesFirstUnlessItIsRelative) {
  ::setenv("HOME", folder_.path().c_str(), 1);
  ::setenv("XDG_CACHE_HOME", (folder_ / "somewhere").c_str(), 1);
  EXPECT_EQ(cache_directory(), folder_ / "somewhere/assay");
  for (const char* invalid : {"", "relative"}) {
    ::setenv("XDG_CACHE_HOME", invalid, 1);
    EXPECT_EQ(cache_directory(), folder_.path() / ".cache" / "assay");
  }
}

TEST_F(CacheDirectoryTest, WithoutAHomeItIsTemporary) {
  ::setenv("TMPDIR", folder_.path().c_str(), 1);
  EXPECT_EQ(cache_directory().parent_path(), folder_.path());
  ::setenv("HOME", (folder_.path() / "missing").c_str(), 1);
  EXPECT_EQ(cache_directory().parent_path(), folder_.path());
  ::setenv("TMPDIR", "/missing", 1);
  EXPECT_EQ(cache_directory().parent_path(), "/tmp");
}

// In a folder that all may write to, anybody may have made ours first, with their kernels in it.
TEST_F(CacheDirectoryTest, ATemporaryOneIsOursAlone) {
  ::setenv("TMPDIR", folder_.path().c_str(), 1);
  const fs::path cache = cache_directory();
  EXPECT_EQ(fs::status(cache).permissions(), fs::perms::owner_all);
  EXPECT_EQ(cache_directory(), cache);  // the second time it is there
  fs::permissions(cache, fs::perms::all);
  EXPECT_THAT(message_of<Error>([] { cache_directory(); }),
              HasSubstr("is not a folder that this user alone can write to"));
  fs::remove(cache);
  fs::create_directory_symlink(folder_.path(), cache);
  EXPECT_THROW(cache_directory(), Error);
  fs::remove(cache);
  write_file_atomic(cache, "");
  EXPECT_THROW(cache_directory(), Error);
}

// HOME is /tmp in some containers, and XDG_CACHE_HOME a folder that a group shares.
TEST_F(CacheDirectoryTest, OneThatAnotherMadeIsRefused) {
  for (const bool is_home : {false, true}) {
    const fs::path base = folder_ / (is_home ? "home" : "xdg");
    fs::create_directory(base);
    ::setenv("HOME", is_home ? base.c_str() : "", 1);
    ::setenv("XDG_CACHE_HOME", is_home ? "" : base.c_str(), 1);
    const fs::path cache = cache_directory();
    EXPECT_EQ(fs::status(cache).permissions(), fs::perms::owner_all);
    fs::permissions(cache, fs::perms::all);
    EXPECT_THAT(message_of<Error>([] { cache_directory(); }), HasSubstr("or all may write to it"));
    fs::permissions(cache, fs::perms(0755));
    EXPECT_EQ(cache_directory(), cache);
    if (::geteuid() != 0) continue;
    ASSERT_EQ(::chown(cache.c_str(), 65534, 65534), 0);
    // Root would run what the other put there.
    const CacheFolder other = cache_folder();
    EXPECT_NE(other.path, cache);
    EXPECT_THAT(other.warning, HasSubstr("is another user's; compiled kernels are kept in "));
  }
}

// A cache made under umask 000, in a folder that was not there yet, was refused by the same run.
TEST_F(CacheDirectoryTest, AnyUmaskMakesItOursAlone) {
  const mode_t before = ::umask(0);
  ::setenv("XDG_CACHE_HOME", (folder_ / "not/yet").c_str(), 1);
  const fs::path cache = cache_directory();
  ::umask(before);
  EXPECT_EQ(cache, folder_ / "not/yet/assay");
  EXPECT_EQ(fs::status(cache).permissions(), fs::perms::owner_all);
}

// A home that nobody can write to ended every sweep, though a cache only saves time.
TEST_F(CacheDirectoryTest, WhereNothingCanBeMadeItIsTemporary) {
  ::setenv("TMPDIR", folder_.path().c_str(), 1);
  ::setenv("XDG_CACHE_HOME", "/proc", 1);
  const CacheFolder folder = cache_folder();
  EXPECT_EQ(folder.path.parent_path(), folder_.path());
  EXPECT_THAT(folder.warning, HasSubstr("cannot create /proc/assay: "));
  EXPECT_THAT(folder.warning, HasSubstr("set XDG_CACHE_HOME"));
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(cache_folder().warning, "");
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(UniqueFdTest, ClosesOnceAndMoves) {
  int raw = ::open("/dev/null", O_RDONLY);
  {
    UniqueFd a(raw);
    UniqueFd b(std::move(a));
    EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move)
    ASSERT_TRUE(b);
    UniqueFd c(::open("/dev/null", O_RDONLY));
    const int replaced = c.get();
    c = std::move(b);
    EXPECT_FALSE(is_open(replaced));
    UniqueFd& same = c;
    c = std::move(same);
    EXPECT_EQ(c.get(), raw);
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

}  // namespace
}  // namespace assay
