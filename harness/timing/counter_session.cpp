#include "timing/counter_session.h"

namespace assay {
namespace {

/// A parameter block of CUPTI, whose size says which version of it the caller knows. It is that of
/// its members: CUPTI refuses a larger one, such as `sizeof`, which rounds up.
template <typename Params>
Params make_params(std::size_t size_bytes) {
  Params params = {};
  params.structSize = size_bytes;
  return params;
}

// Parameter blocks of this type.
#define ASSAY_PARAMS(Params) params<Params>(Params##_STRUCT_SIZE)
#define ASSAY_MAKE_PARAMS(Params) make_params<Params>(Params##_STRUCT_SIZE)

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
    auto initialize = ASSAY_MAKE_PARAMS(CUpti_Profiler_Host_Initialize_Params);
    initialize.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    initialize.pChipName = chip.c_str();
    cupti.cuptiProfilerHostInitialize(&initialize);
    host_ = initialize.pHostObject;
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    auto end = ASSAY_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);
    static_cast<void>(cupti_->cuptiProfilerHostDeinitialize.result(&end));
  }

  template <typename Params>
  Params params(std::size_t size_bytes) const {
    auto made = make_params<Params>(size_bytes);
    made.pHostObject = host_;
    return made;
  }

  /// False when the chip has not all of them.
  bool add(std::vector<const char*> names) const {
    auto metrics = ASSAY_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    metrics.ppMetricNames = names.data();
    metrics.numMetrics = names.size();
    return cupti_->cuptiProfilerHostConfigAddMetrics.result(&metrics) == CUPTI_SUCCESS;
  }

 private:
  const Cupti* cupti_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

/// The part of CUPTI that knows GPUs, as long as this object. Without it, even the question for a
/// GPU's name crashes.
class CounterSession::Profiler {
 public:
  explicit Profiler(const Cupti& cupti) : cupti_(&cupti) {
    auto initialize = ASSAY_MAKE_PARAMS(CUpti_Profiler_Initialize_Params);
    cupti.cuptiProfilerInitialize(&initialize);
  }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;
  ~Profiler() {
    auto deinitialize = ASSAY_MAKE_PARAMS(CUpti_Profiler_DeInitialize_Params);
    static_cast<void>(cupti_->cuptiProfilerDeInitialize.result(&deinitialize));
  }

 private:
  const Cupti* cupti_;
};

/// CUPTI's range profiler on a context, as long as this object.
class CounterSession::Range {
 public:
  Range(const Cupti& cupti, CUcontext context) : cupti_(&cupti), profiler_of_gpus_(cupti) {
    auto enable = ASSAY_MAKE_PARAMS(CUpti_RangeProfiler_Enable_Params);
    enable.ctx = context;
    cupti.cuptiRangeProfilerEnable(&enable);
    profiler_ = enable.pRangeProfilerObject;
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() {
    auto disable = ASSAY_PARAMS(CUpti_RangeProfiler_Disable_Params);
    static_cast<void>(cupti_->cuptiRangeProfilerDisable.result(&disable));
  }

  template <typename Params>
  Params params(std::size_t size_bytes) const {
    auto made = make_params<Params>(size_bytes);
    made.pRangeProfilerObject = profiler_;
    return made;
  }

 private:
  const Cupti* cupti_;
  Profiler profiler_of_gpus_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
};

/// Nothing when the chip has not all of them.
std::optional<CounterSession::Group> CounterSession::group_of(
    const std::string& chip, std::vector<std::string> metrics) const {
  Group group{std::move(metrics), std::make_unique<Host>(*cupti_, chip)};
  if (!group.host->add(names_of(group.metrics))) return std::nullopt;
  auto size = group.host->ASSAY_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
  cupti_->cuptiProfilerHostGetConfigImageSize(&size);
  group.config.resize(size.configImageSize);
  auto image = group.host->ASSAY_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
  image.configImageSize = group.config.size();
  image.pConfigImage = group.config.data();
  cupti_->cuptiProfilerHostGetConfigImage(&image);
  auto passes = ASSAY_MAKE_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params);
  passes.configImageSize = group.config.size();
  passes.pConfigImage = group.config.data();
  cupti_->cuptiProfilerHostGetNumOfPasses(&passes);
  group.num_passes = passes.numOfPasses;
  return group;
}

CounterSession::CounterSession(const Cupti& cupti, const std::string& chip,
                               std::vector<std::string> metrics)
    : cupti_(&cupti) {
  for (std::string& metric : metrics) {
    // One that the chip has not spoils what it is added to.
    std::optional<Group> alone = group_of(chip, {metric});
    if (!alone) continue;
    metrics_.push_back(metric);
    if (!groups_.empty()) {
      std::vector<std::string> together = groups_.back().metrics;
      together.push_back(std::move(metric));
      std::optional<Group> joined = group_of(chip, std::move(together));
      if (joined && joined->num_passes == 1) {
        groups_.back() = std::move(*joined);
        continue;
      }
    }
    groups_.push_back(std::move(*alone));
  }
  if (metrics_.empty()) {
    throw Error("CUPTI has none of these metrics for {}", chip);
  }
}

CounterSession::~CounterSession() = default;

std::vector<std::size_t> CounterSession::passes() const {
  std::vector<std::size_t> passes;
  for (const Group& group : groups_) passes.push_back(group.num_passes);
  return passes;
}

std::string CounterSession::chip_of(const Cupti& cupti, CUdevice device) {
  const Profiler profiler(cupti);
  auto chip = ASSAY_MAKE_PARAMS(CUpti_Device_GetChipName_Params);
  chip.deviceIndex = static_cast<std::size_t>(device);
  cupti.cuptiDeviceGetChipName(&chip);
  return chip.pChipName;
}

std::vector<double> CounterSession::count(CUcontext context, const Work& before,
                                          const Work& launch) const {
  std::vector<double> values;
  for (const Group& group : groups_) {
    const std::vector<double> of_group = count(group, context, before, launch);
    values.insert(values.end(), of_group.begin(), of_group.end());
  }
  return values;
}

std::vector<double> CounterSession::count(const Group& group, CUcontext context, const Work& before,
                                          const Work& launch) const {
  const Cupti& cupti = *cupti_;
  const Range range(cupti, context);
  auto size = range.ASSAY_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
  std::vector<const char*> names = names_of(group.metrics);
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = 1;
  size.maxNumRangeTreeNodes = 1;
  cupti.cuptiRangeProfilerGetCounterDataSize(&size);
  std::vector<std::uint8_t> data(size.counterDataSize);
  auto image = range.ASSAY_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
  image.counterDataSize = data.size();
  image.pCounterData = data.data();
  cupti.cuptiRangeProfilerCounterDataImageInitialize(&image);
  auto config = range.ASSAY_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
  config.configSize = group.config.size();
  config.pConfig = group.config.data();
  config.counterDataImageSize = data.size();
  config.pCounterDataImage = data.data();
  config.range = CUPTI_UserRange;
  config.replayMode = CUPTI_UserReplay;
  config.maxRangesPerPass = 1;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  config.targetNestingLevel = 1;
  cupti.cuptiRangeProfilerSetConfig(&config);

  for (int pass = 0; pass < kMostPasses; ++pass) {
    before();
    auto start = range.ASSAY_PARAMS(CUpti_RangeProfiler_Start_Params);
    cupti.cuptiRangeProfilerStart(&start);
    auto push = range.ASSAY_PARAMS(CUpti_RangeProfiler_PushRange_Params);
    push.pRangeName = "launch";
    cupti.cuptiRangeProfilerPushRange(&push);
    launch();
    auto pop = range.ASSAY_PARAMS(CUpti_RangeProfiler_PopRange_Params);
    cupti.cuptiRangeProfilerPopRange(&pop);
    auto stop = range.ASSAY_PARAMS(CUpti_RangeProfiler_Stop_Params);
    cupti.cuptiRangeProfilerStop(&stop);
    if (stop.isAllPassSubmitted == 0) continue;

    auto decode = range.ASSAY_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
    cupti.cuptiRangeProfilerDecodeData(&decode);
    std::vector<double> values(names.size());
    auto evaluate = group.host->ASSAY_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    evaluate.pCounterDataImage = data.data();
    evaluate.counterDataImageSize = data.size();
    evaluate.ppMetricNames = names.data();
    evaluate.numMetrics = names.size();
    evaluate.pMetricValues = values.data();
    cupti.cuptiProfilerHostEvaluateToGpuValues(&evaluate);
    return values;
  }
  throw Error("the counters need more than {} passes", kMostPasses);
}

#undef ASSAY_PARAMS
#undef ASSAY_MAKE_PARAMS

}  // namespace assay
