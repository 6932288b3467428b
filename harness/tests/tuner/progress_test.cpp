#include "tuner/progress.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(SweepPace, IsThatOfWhatThisRunHasSettled) {
  EXPECT_EQ((SweepPace{.total = 40, .settled = 10}).left_s(5), 15);
  // What an earlier run has settled took no time.
  EXPECT_EQ((SweepPace{.total = 40, .settled = 30, .reused = 20}).left_s(5), 5);
  EXPECT_EQ((SweepPace{.total = 40, .settled = 40}).left_s(5), 0);
}

// A sweep said nothing of the time that is left until the first configuration was timed.
TEST(SweepPace, IsThatOfTheCompilerBeforeAnythingIsSettled) {
  EXPECT_EQ((SweepPace{.total = 40}).left_s(5), std::nullopt);
  EXPECT_EQ((SweepPace{.total = 40, .ahead = 8}).left_s(5), 20);
  EXPECT_EQ((SweepPace{.total = 40, .settled = 30, .reused = 30}).left_s(5), std::nullopt);
  EXPECT_EQ((SweepPace{.total = 40, .settled = 30, .reused = 30, .ahead = 5}).left_s(5), 5);
}

}  // namespace
}  // namespace assay
