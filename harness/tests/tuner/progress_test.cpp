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

// A sweep of large spaces showed nothing while they were counted, for minutes.
TEST(Progress, SaysWhatHappensBeforeItKnowsHowManyTrialsThereAre) {
  testing::internal::CaptureStderr();
  {
    Progress progress(Progress::Mode::plain);
    progress.stage("counting the configurations of gemm M=16");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "counting the configurations of gemm M=16\n");
  testing::internal::CaptureStderr();
  {
    Progress progress(Progress::Mode::plain);
    progress.begin(26);
    progress.start_problem("gemm", "M=16", std::nullopt);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[0/26] gemm M=16\n");
}

}  // namespace
}  // namespace assay
