#pragma once

#include <string_view>

#include "report/explain.h"

namespace assay {

/// What limits and losses are called.
namespace cause {
inline constexpr std::string_view kMemory = "memory", kL2 = "L2", kTraffic = "extra traffic",
                                  kTensor = "tensor cores", kArithmetic = "arithmetic",
                                  kRoofline = "roofline", kIssue = "instructions",
                                  kInteger = "integers and logic", kSpecial = "special functions",
                                  kShared = "shared memory", kL1 = "L1", kAtomics = "atomics",
                                  kLaunches = "launches", kFewBlocks = "too few blocks",
                                  kLastWave = "last wave", kWaitMemory = "waiting for memory",
                                  kWaitAtomics = "waiting for atomics",
                                  kWaitShared = "waiting for shared memory",
                                  kWaitBarrier = "waiting at barriers",
                                  kWaitMath = "waiting for arithmetic units",
                                  kWaitDependency = "waiting for results";
}  // namespace cause

// Less than this share of the time is not worth a word.
inline constexpr double kWorthSaying = 0.01;
// What was counted and is less than this has no part in the time.
inline constexpr double kHarmless = 0.1;

/// What each rule says of the figures: limits, losses and waits with their share of the time, as if
/// each were alone, and hints. Some need the time, and say nothing without it.
std::vector<Cause> causes_of(const Figures& figures);

}  // namespace assay
