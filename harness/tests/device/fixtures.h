#pragma once

#include <string>

#include "device/device.h"

namespace assay::test {

/// The request to run `entry` on 1000 floats: C[N] = A[N] + B[N].
inline TrialRequest request_of(const std::string& entry) {
  const std::vector<std::int64_t> shape = {1000};
  TrialRequest request;
  request.plan.kernel = entry;
  request.plan.problem = {{"N", 1000}};
  request.plan.config = {{"BLOCK", std::int64_t{128}}};
  request.plan.args = {BufferPlan{"A", DType::f32, shape, Role::in, "normal", {}, false},
                       BufferPlan{"B", DType::f32, shape, Role::in, "normal", {}, false},
                       BufferPlan{"C", DType::f32, shape, Role::out, "", {}, false},
                       ScalarPlan{"N", DType::i32, 1000}};
  request.plan.launches = {
      LaunchPlan{entry, {8, 1, 1}, {128, 1, 1}, {1, 1, 1}, 0, false, -1, false, {0, 1, 2, 3}}};
  request.plan.reference = {ReferencePlan{"add", {{"a", "A"}, {"b", "B"}, {"out", "C"}}, {}}};
  request.plan.flops = 1000;
  request.plan.bytes = 12000;
  request.measure.max_seconds_per_config = 0.1;
  return request;
}

}  // namespace assay::test
