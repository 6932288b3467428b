// The functions of CUPTI that harness/cuda loads, over fake::Machine, which says what it counts. In
// the same library as the driver's.
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "machine.h"

using fake::Machine;

struct CUpti_Profiler_Host_Object {
  std::vector<std::string> metrics;
};

namespace {

/// The image of what was counted: the machine's counts at the begin of the range, then in it.
fake::Counts* counted = nullptr;
char profiler;  // its address is the handle

double value_of(const std::string& metric, const fake::Counts& counts) {
  if (metric == "dram__bytes_read.sum") return counts.bytes;
  if (metric == "sm__inst_executed.sum") return counts.warps;
  return 0;
}

}  // namespace

// Every call has one parameter block, and most have nothing to do.
#define FAKE_CUPTI(call, Params) \
  CUptiResult call(Params*) { return CUPTI_SUCCESS; }

extern "C" {

FAKE_CUPTI(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params)
FAKE_CUPTI(cuptiProfilerDeInitialize, CUpti_Profiler_DeInitialize_Params)
FAKE_CUPTI(cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params)
FAKE_CUPTI(cuptiRangeProfilerDisable, CUpti_RangeProfiler_Disable_Params)
FAKE_CUPTI(cuptiRangeProfilerDecodeData, CUpti_RangeProfiler_DecodeData_Params)
FAKE_CUPTI(cuptiRangeProfilerCounterDataImageInitialize,
           CUpti_RangeProfiler_CounterDataImage_Initialize_Params)

CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "what CUPTI says";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params) {
  params->pChipName = "FAKE";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* params) {
  params->pHostObject = new CUpti_Profiler_Host_Object;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* params) {
  delete params->pHostObject;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
  for (std::size_t i = 0; i < params->numMetrics; ++i) {
    const std::string metric = params->ppMetricNames[i];
    if (metric.starts_with("lts__d_atomic")) return CUPTI_ERROR_INVALID_METRIC_NAME;  // has none
    params->pHostObject->metrics.push_back(metric);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImageSize(
    CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
  params->configImageSize = 1;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* params) {
  params->numOfPasses = 1;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* params) {
  if (Machine::get().script().has("no_counting")) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  params->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(&profiler);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params*) {
  return Machine::get().script().has("busy_counters") ? CUPTI_ERROR_HARDWARE_BUSY : CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataSize(
    CUpti_RangeProfiler_GetCounterDataSize_Params* params) {
  params->counterDataSize = sizeof(fake::Counts);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* params) {
  counted = reinterpret_cast<fake::Counts*>(params->pCounterDataImage);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params*) {
  *counted = Machine::get().counts();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params*) {
  const fake::Counts end = Machine::get().counts();
  *counted = {end.bytes - counted->bytes, end.warps - counted->warps};
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* params) {
  params->isAllPassSubmitted = 1;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostEvaluateToGpuValues(
    CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
  fake::Counts counts;
  std::memcpy(&counts, params->pCounterDataImage, sizeof counts);
  std::transform(params->ppMetricNames, params->ppMetricNames + params->numMetrics,
                 params->pMetricValues,
                 [&](const char* metric) { return value_of(metric, counts); });
  return CUPTI_SUCCESS;
}

}  // extern "C"
