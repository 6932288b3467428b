#include "timing/counter_session.h"

#include <fmt/format.h>

namespace assay {
namespace {

/// A parameter block of CUPTI, whose size says which version of it the caller knows.
template <typename Params>
Params make_params() {
  Params params = {};
  params.structSize = sizeof params;
  return params;
}

std::vector<const char*> names_of(const std::vector<std::string>& metrics) {
  std::vector<const char*> names;
  for (const std::string& metric : metrics) names.push_back(metric.c_str());
  return names;
}

// More than any set of counters needs.
constexpr int kMostPasses = 100;

}  // namespace

/// What CUPTI knows of a chip and of the metrics that are asked for.
class CounterSession::Host {
 public:
  Host(const Cupti& cupti, const std::string& chip) : cupti_(&cupti) {
    auto initialize = make_params<CUpti_Profiler_Host_Initialize_Params>();
    initialize.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    initialize.pChipName = chip.c_str();
    cupti.check(cupti.cuptiProfilerHostInitialize(&initialize), "cuptiProfilerHostInitialize");
    host_ = initialize.pHostObject;
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    auto end = params<CUpti_Profiler_Host_Deinitialize_Params>();
    static_cast<void>(cupti_->cuptiProfilerHostDeinitialize(&end));
  }

  template <typename Params>
  Params params() const {
    auto made = make_params<Params>();
    made.pHostObject = host_;
    return made;
  }

  /// False when the chip has not all of them.
  bool add(std::vector<const char*> names) const {
    auto metrics = params<CUpti_Profiler_Host_ConfigAddMetrics_Params>();
    metrics.ppMetricNames = names.data();
    metrics.numMetrics = names.size();
    return cupti_->cuptiProfilerHostConfigAddMetrics(&metrics) == CUPTI_SUCCESS;
  }

 private:
  const Cupti* cupti_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

/// CUPTI's range profiler on a context, as long as this object.
class CounterSession::Range {
 public:
  Range(const Cupti& cupti, CUcontext context) : cupti_(&cupti) {
    auto initialize = make_params<CUpti_Profiler_Initialize_Params>();
    cupti.check(cupti.cuptiProfilerInitialize(&initialize), "cuptiProfilerInitialize");
    auto enable = make_params<CUpti_RangeProfiler_Enable_Params>();
    enable.ctx = context;
    cupti.check(cupti.cuptiRangeProfilerEnable(&enable), "cuptiRangeProfilerEnable");
    profiler_ = enable.pRangeProfilerObject;
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() {
    auto disable = params<CUpti_RangeProfiler_Disable_Params>();
    static_cast<void>(cupti_->cuptiRangeProfilerDisable(&disable));
    auto deinitialize = make_params<CUpti_Profiler_DeInitialize_Params>();
    static_cast<void>(cupti_->cuptiProfilerDeInitialize(&deinitialize));
  }

  template <typename Params>
  Params params() const {
    auto made = make_params<Params>();
    made.pRangeProfilerObject = profiler_;
    return made;
  }

 private:
  const Cupti* cupti_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
};

CounterSession::CounterSession(const Cupti& cupti, const std::string& chip,
                               std::vector<std::string> metrics)
    : cupti_(&cupti) {
  // One that the chip has not spoils what it is added to.
  for (std::string& metric : metrics) {
    if (Host(cupti, chip).add({metric.c_str()})) metrics_.push_back(std::move(metric));
  }
  host_ = std::make_unique<Host>(cupti, chip);
  if (metrics_.empty() || !host_->add(names_of(metrics_))) {
    throw Error(fmt::format("CUPTI has none of these metrics for {}", chip));
  }
  auto size = host_->params<CUpti_Profiler_Host_GetConfigImageSize_Params>();
  cupti.check(cupti.cuptiProfilerHostGetConfigImageSize(&size),
              "cuptiProfilerHostGetConfigImageSize");
  config_.resize(size.configImageSize);
  auto image = host_->params<CUpti_Profiler_Host_GetConfigImage_Params>();
  image.configImageSize = config_.size();
  image.pConfigImage = config_.data();
  cupti.check(cupti.cuptiProfilerHostGetConfigImage(&image), "cuptiProfilerHostGetConfigImage");
}

CounterSession::~CounterSession() = default;

std::string CounterSession::chip_of(const Cupti& cupti, CUdevice device) {
  auto chip = make_params<CUpti_Device_GetChipName_Params>();
  chip.deviceIndex = static_cast<std::size_t>(device);
  cupti.check(cupti.cuptiDeviceGetChipName(&chip), "cuptiDeviceGetChipName");
  return chip.pChipName;
}

std::vector<double> CounterSession::count(CUcontext context, const Work& before,
                                          const Work& launch) const {
  const Cupti& cupti = *cupti_;
  const Range range(cupti, context);
  auto size = range.params<CUpti_RangeProfiler_GetCounterDataSize_Params>();
  std::vector<const char*> names = names_of(metrics_);
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = 1;
  size.maxNumRangeTreeNodes = 1;
  cupti.check(cupti.cuptiRangeProfilerGetCounterDataSize(&size),
              "cuptiRangeProfilerGetCounterDataSize");
  std::vector<std::uint8_t> data(size.counterDataSize);
  auto image = range.params<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>();
  image.counterDataSize = data.size();
  image.pCounterData = data.data();
  cupti.check(cupti.cuptiRangeProfilerCounterDataImageInitialize(&image),
              "cuptiRangeProfilerCounterDataImageInitialize");
  auto config = range.params<CUpti_RangeProfiler_SetConfig_Params>();
  config.configSize = config_.size();
  config.pConfig = config_.data();
  config.counterDataImageSize = data.size();
  config.pCounterDataImage = data.data();
  config.range = CUPTI_UserRange;
  config.replayMode = CUPTI_UserReplay;
  config.maxRangesPerPass = 1;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  config.targetNestingLevel = 1;
  cupti.check(cupti.cuptiRangeProfilerSetConfig(&config), "cuptiRangeProfilerSetConfig");

  for (int pass = 0; pass < kMostPasses; ++pass) {
    before();
    auto start = range.params<CUpti_RangeProfiler_Start_Params>();
    cupti.check(cupti.cuptiRangeProfilerStart(&start), "cuptiRangeProfilerStart");
    auto push = range.params<CUpti_RangeProfiler_PushRange_Params>();
    push.pRangeName = "launch";
    cupti.check(cupti.cuptiRangeProfilerPushRange(&push), "cuptiRangeProfilerPushRange");
    launch();
    auto pop = range.params<CUpti_RangeProfiler_PopRange_Params>();
    cupti.check(cupti.cuptiRangeProfilerPopRange(&pop), "cuptiRangeProfilerPopRange");
    auto stop = range.params<CUpti_RangeProfiler_Stop_Params>();
    cupti.check(cupti.cuptiRangeProfilerStop(&stop), "cuptiRangeProfilerStop");
    if (stop.isAllPassSubmitted == 0) continue;

    auto decode = range.params<CUpti_RangeProfiler_DecodeData_Params>();
    cupti.check(cupti.cuptiRangeProfilerDecodeData(&decode), "cuptiRangeProfilerDecodeData");
    std::vector<double> values(names.size());
    auto evaluate = host_->params<CUpti_Profiler_Host_EvaluateToGpuValues_Params>();
    evaluate.pCounterDataImage = data.data();
    evaluate.counterDataImageSize = data.size();
    evaluate.ppMetricNames = names.data();
    evaluate.numMetrics = names.size();
    evaluate.pMetricValues = values.data();
    cupti.check(cupti.cuptiProfilerHostEvaluateToGpuValues(&evaluate),
                "cuptiProfilerHostEvaluateToGpuValues");
    return values;
  }
  throw Error(fmt::format("the counters need more than {} passes", kMostPasses));
}

}  // namespace assay
