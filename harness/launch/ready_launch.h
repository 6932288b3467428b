#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cuda/handles.h"
#include "space/plan.h"

namespace assay {

/// A launch whose function is found and whose attributes are set. It lacks a stream, and where the
/// values of its arguments lie.
struct ReadyLaunch {
  CUfunction function = nullptr;
  CUlaunchConfig config{};
  std::vector<CUlaunchAttribute> attributes;
  std::vector<std::size_t> args;  // what it passes: places in Plan::args
  std::string call;  // for the error: "launch of gemm_mma, grid [128,1,1], block [256,1,1], ..."

  /// One pointer for each of `args`, to its value. Allocates nothing.
  CUresult enqueue(const Driver& driver, void** parameters, CUstream stream) const;
};

/// The plan's `launches`, or those that prepare. Throws Failure (`missing_entry`) or CudaError.
std::vector<ReadyLaunch> ready_launches(const Driver& driver, const Module& module,
                                        const Plan& plan, const std::vector<LaunchPlan>& launches);

}  // namespace assay
