#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/database.h"
#include "store/store_fixture.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A database with one timed trial, which a test then changes by SQL.
std::vector<std::string> problems_after(const char* sql) {
  TempFolder folder;
  {
    Store store = Store::open(folder / "x.db");
    const std::int64_t sweep = store.begin_sweep("sweep", "", "", h200(), "");
    store.finish(sweep, timed_record(key_of(1)));
    store.end_sweep(sweep, "done");
  }
  Database::open(folder / "x.db", std::chrono::milliseconds(20))
      .exec(std::string("PRAGMA foreign_keys = OFF; ") + sql);
  return Store::open_readonly(folder / "x.db").check();
}

TEST(Check, FindsNothingInAnIntactDatabase) { EXPECT_THAT(problems_after(""), IsEmpty()); }

TEST(Check, FindsSamplesWithoutATrial) {
  EXPECT_THAT(problems_after("DELETE FROM trial; DELETE FROM validation; DELETE FROM sweep_trial"),
              ElementsAre(HasSubstr("of table measurement belongs to a trial that does not exist"),
                          HasSubstr("of table measurement belongs to a trial that does not exist"),
                          "timing 1 belongs to no trial and no baseline"));
}

TEST(Check, FindsATimeWithoutSamples) {
  EXPECT_THAT(problems_after("UPDATE timing SET times_ns = x''"),
              ElementsAre("trial 1 has a time but no samples"));
}

TEST(Check, FindsAMedianThatItsSamplesDoNotHave) {
  EXPECT_THAT(problems_after("UPDATE timing SET median_ns = 1001.5"),
              ElementsAre("trial 1 says its median is 1001.5 ns, its samples say 1000.5"));
}

TEST(Check, FindsSamplesCutShort) {
  EXPECT_THAT(problems_after("UPDATE timing SET times_ns = x'0011223344'"),
              ElementsAre("the samples of trial 1 end in the middle of a number"));
}

TEST(Check, FindsAClaimThatNobodyWillFinish) {
  EXPECT_THAT(problems_after("UPDATE trial SET status = 'running'; UPDATE sweep SET "
                             "state = 'running', boot_id = 'earlier', pid = 77, host = 'here'"),
              ElementsAre("trial 1 was left unfinished by process 77 on here; the next sweep of "
                          "'sweep' measures it"));
}

}  // namespace
}  // namespace assay
