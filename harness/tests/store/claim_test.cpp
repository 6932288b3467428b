#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <thread>

#include "store/database.h"
#include "store/owner.h"
#include "store/store_fixture.h"

namespace assay {
namespace {

TEST(Claim, IsTakenUntilItIsFinishedOrGivenBack) {
  TempFolder folder;
  Store one = Store::open(folder / "x.db");
  Store two = Store::open(folder / "x.db");
  const std::int64_t first = begin(one), second = begin(two);
  EXPECT_EQ(one.claim(first, key_of(1)), Claim::fresh);
  EXPECT_EQ(two.claim(second, key_of(1)), Claim::taken);
  EXPECT_TRUE(one.trials({}).empty()) << "what runs is no result yet";
  EXPECT_FALSE(one.find(first, key_of(1)).has_value());
  one.release(first, key_of(1));
  EXPECT_EQ(two.claim(second, key_of(1)), Claim::fresh);
  one.release(first, key_of(1));
  EXPECT_EQ(one.claim(first, key_of(1)), Claim::taken) << "another's claim cannot be given back";
  two.finish(second, timed_record(key_of(1)));
  EXPECT_EQ(one.claim(first, key_of(1)), Claim::done);
  two.release(second, key_of(1));
  EXPECT_EQ(one.claim(first, key_of(1)), Claim::done) << "a result cannot be given back";
}

TEST(Claim, EndsWithItsSweep) {
  Store store = Store::in_memory();
  const std::int64_t first = begin(store);
  store.claim(first, key_of(1));
  store.end_sweep(first, "interrupted");
  EXPECT_EQ(store.claim(begin(store), key_of(1)), Claim::fresh);
}

TEST(Claim, OfADeadProcessIsMadeAgainAndThenGivenUp) {
  TempFolder folder;
  const auto die_while_running = [&] {
    Store store = Store::open(folder / "x.db");
    const Claim claim = store.claim(begin(store), key_of(1));
    if (claim == Claim::fresh) kill(getpid(), SIGKILL);
    return static_cast<int>(claim);
  };
  EXPECT_EQ(wait_for(start_process(die_while_running)), -SIGKILL);
  EXPECT_EQ(wait_for(start_process(die_while_running)), -SIGKILL);
  EXPECT_EQ(wait_for(start_process(die_while_running)), static_cast<int>(Claim::done));
  Store store = Store::open(folder / "x.db");
  const TrialRecord record = store.find(begin(store), key_of(1)).value();
  EXPECT_EQ(record.outcome.status, Status::runtime);
  EXPECT_EQ(record.outcome.kind, "interrupted");
  EXPECT_TRUE(store.check().empty());
}

TEST(Claim, OfAProcessNumberThatIsUsedAgainIsDead) {
  Owner owner = this_process();
  EXPECT_TRUE(is_alive(owner, 0));
  EXPECT_TRUE(is_alive(owner, 10 * kUnseenClaimLifetimeSeconds)) << "seen to run, however long";
  owner.process_start -= 1;
  EXPECT_FALSE(is_alive(owner, 0));
  owner = this_process();
  owner.boot_id = "an earlier boot";
  EXPECT_FALSE(is_alive(owner, 0));
}

TEST(Claim, FromAnotherContainerHoldsForALimitedTime) {
  Owner owner = this_process();
  owner.host = "another container";
  owner.pid = 0;
  EXPECT_TRUE(is_alive(owner, kUnseenClaimLifetimeSeconds - 1));
  EXPECT_TRUE(is_alive(owner, -1)) << "two clocks differ by a little";
  EXPECT_FALSE(is_alive(owner, -86400)) << "the clock was set back";
  EXPECT_FALSE(is_alive(owner, kUnseenClaimLifetimeSeconds));
}

// Two containers that share a database may have one host name. What is process 1 there is another
// process here.
TEST(Claim, OfALiveProcessInAnotherPidNamespaceHolds) {
  TempFolder folder;
  const Pipe up, down;
  const pid_t container = start_process([&] {
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return up.say('n') ? 0 : 1;
    return wait_for(start_process([&] {
      Store store = Store::open(folder / "x.db");
      const bool claimed = store.claim(begin(store), key_of(1)) == Claim::fresh;
      return up.say(claimed ? 'y' : 'x') && down.heard() ? 0 : 1;
    }));
  });
  const char word = up.heard().value();
  if (word == 'n') {
    wait_for(container);
    GTEST_SKIP() << "this system lets nobody make a PID namespace";
  }
  EXPECT_EQ(word, 'y');
  {
    Store store = Store::open(folder / "x.db");
    EXPECT_EQ(store.claim(begin(store), key_of(1)), Claim::taken);
    EXPECT_TRUE(store.check().empty());
  }
  EXPECT_TRUE(down.say(word));
  EXPECT_EQ(wait_for(container), 0);
}

TEST(Claim, OfAProcessThatIsOnlyWaitedForIsDead) {
  Owner owner = this_process();
  const Pipe pipe;
  const pid_t pid = start_process([&] { return pipe.say(this_process().process_start) ? 0 : 1; });
  owner.process_start = pipe.heard<std::int64_t>().value();
  owner.pid = pid;
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(is_alive(owner, 0)) << "a zombie finishes nothing";
  wait_for(pid);
}

// A page that a child and its parent share.
template <class T>
class Shared {
 public:
  Shared()
      : value_(new (mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                         0)) T{}) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(value_, sizeof(T)); }
  T& operator*() { return *value_; }

 private:
  T* value_;
};

TEST(Claim, TwoProcessesShareTheWorkAndRepeatNone) {
  constexpr std::int64_t kTrials = 500;
  TempFolder folder;
  Shared<std::array<std::atomic<int>, kTrials>> times_claimed;
  Shared<std::atomic<int>> num_busy;
  const auto sweep = [&] {
    Store store = Store::open(folder / "x.db");
    const std::int64_t id = begin(store);
    int num_mine = 0;
    for (std::int64_t i = 0; i < kTrials; ++i) {
      if (store.claim(id, key_of(i)) != Claim::fresh) continue;
      ++(*times_claimed)[static_cast<std::size_t>(i)];
      // Neither goes on before both have claimed one, so that neither can have done it all.
      if (num_mine++ == 0) {
        for (++*num_busy; *num_busy < 2;) std::this_thread::yield();
      }
      store.finish(id, timed_record(key_of(i)));
    }
    store.end_sweep(id, "done");
    return num_mine > 0 && num_mine < kTrials ? 0 : 1;
  };
  const pid_t one = start_process(sweep), two = start_process(sweep);
  EXPECT_EQ(wait_for(one), 0);
  EXPECT_EQ(wait_for(two), 0);
  for (const auto& count : *times_claimed) EXPECT_EQ(count, 1);
  Store store = Store::open(folder / "x.db");
  EXPECT_EQ(store.trials({}).size(), static_cast<std::size_t>(kTrials));
  EXPECT_TRUE(store.check().empty());
}

}  // namespace
}  // namespace assay
