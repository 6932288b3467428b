
#include <gtest/gtest.h>

#include "space/plan.h"

namespace assay {
namespace {

// In a sweep, `minimize memory_bytes` is of the buffers that a configuration launches on.
TEST(MemoryNeed, IsOfWhatTheLaunchesGet) {
  Plan plan;
  plan.args = {BufferPlan{"x", DType::f32, {512, 8}, Role::in, "normal", {}},
               BufferPlan{"y", DType::f32, {512, 8}, Role::out, "", {}}};
  plan.args.push_back(
      BufferPlan{"only_a_baseline_reads_it", DType::f32, {9}, Role::in, "normal", {}});
  plan.args.push_back(BufferPlan{"by_a_descriptor", DType::f32, {4, 4}, Role::in, "normal", {}});
  plan.args.push_back(TensorMapPlan{"map", "by_a_descriptor", {4, 4}, 0});
  plan.launches = {{"kernel"}};
  plan.launches[0].args = {0, 1, 4};
  EXPECT_EQ(memory_bytes(plan), 4 * (2 * 512 * 8 + 4 * 4));
}

}  // namespace
}  // namespace assay
