#pragma once

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "base/error.h"
#include "base/library.h"

#define ASSAY_CUPTI_FUNCTIONS(X)                  \
  X(cuptiGetResultString)                         \
  X(cuptiDeviceGetChipName)                       \
  X(cuptiProfilerInitialize)                      \
  X(cuptiProfilerDeInitialize)                    \
  X(cuptiProfilerHostInitialize)                  \
  X(cuptiProfilerHostDeinitialize)                \
  X(cuptiProfilerHostConfigAddMetrics)            \
  X(cuptiProfilerHostGetConfigImageSize)          \
  X(cuptiProfilerHostGetConfigImage)              \
  X(cuptiProfilerHostGetNumOfPasses)              \
  X(cuptiProfilerHostEvaluateToGpuValues)         \
  X(cuptiRangeProfilerEnable)                     \
  X(cuptiRangeProfilerDisable)                    \
  X(cuptiRangeProfilerSetConfig)                  \
  X(cuptiRangeProfilerGetCounterDataSize)         \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerStart)                      \
  X(cuptiRangeProfilerStop)                       \
  X(cuptiRangeProfilerPushRange)                  \
  X(cuptiRangeProfilerPopRange)                   \
  X(cuptiRangeProfilerDecodeData)

namespace assay {

/// CUPTI's functions: those of its host part, which need no GPU, and those of its range profiler.
class Cupti {
 public:
  using Self = Cupti;

  /// Throws Error that says which library was looked for.
  Cupti();
  Cupti(const Cupti&) = delete;
  Cupti& operator=(const Cupti&) = delete;

  /// Throws Error "CALL: what CUPTI says of it" unless `result` is success. Where counters are not
  /// permitted, it says how they are.
  void check(CUptiResult result, const char* call) const;

  ASSAY_CUPTI_FUNCTIONS(ASSAY_MEMBER)

 private:
  Library library_;
};

}  // namespace assay
