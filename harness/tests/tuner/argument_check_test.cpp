#include "tuner/source_check.h"

#include <gmock/gmock.h>

#include "base/device_info.h"
#include "message_of.h"

namespace assay {
namespace {

std::string refusal(std::int64_t blocks, bool cooperative) {
  Plan plan;
  plan.config = {{"BLOCK", std::int64_t{1024}}};
  LaunchPlan launch;
  launch.entry = "norm";
  launch.grid = {blocks, 1, 1};
  launch.block = {1024, 1, 1};
  launch.cooperative = cooperative;
  plan.launches = {launch};
  return message_of<PlanError>([&] { check_cooperative(plan, "", nominal_device("90a")); });
}

// The driver refuses such a launch without saying how many blocks are allowed.
TEST(CheckCooperative, RefusesMoreBlocksThanAreResidentAtOnce) {
  EXPECT_EQ(refusal(264, true), "");
  EXPECT_EQ(refusal(265, true),
            "the cooperative launch of norm has 265 blocks, but only 264 are resident at once, "
            "which are 2 on each of 132 SMs by their threads; with BLOCK=1024");
  EXPECT_EQ(refusal(265, false), "");
}

}  // namespace
}  // namespace assay
