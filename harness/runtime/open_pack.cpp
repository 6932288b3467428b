#include "runtime/open_pack.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "cuda/device_query.h"

namespace assay {
namespace {

// So many plans are remembered. A plan takes about 10 KB.
constexpr std::size_t kMostPlans = 4096;

/// Where cuBLASLt is looked for: first the one that the program has loaded, or the loader finds.
LibraryFolders cublas_folders() {
  LibraryFolders folders = toolkit_libraries();
  folders.last.insert(folders.last.begin(), folders.first.begin(), folders.first.end());
  folders.first.clear();
  return folders;
}

/// A context is current as long as this object lives.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CUcontext context) : driver_(driver) {
    driver.cuCtxPushCurrent(context);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext() {
    CUcontext popped = nullptr;
    driver_.cuCtxPopCurrent.result(&popped);
  }

 private:
  const Driver& driver_;
};

/// What this thread does breaks no capture of others, as long as this object lives.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver) : driver_(driver) {
    driver.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { driver_.cuThreadExchangeStreamCaptureMode.result(&mode_); }

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// Of the legacy stream the driver says whether any stream that waits for it is captured.
bool is_capturing(const Driver& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver.cuStreamIsCapturing.result(stream, &status);
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
  driver.check(result, "cuStreamIsCapturing");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// All that decides a choice.
std::string key_of(const assay_request& request, CUdevice device) {
  std::string key;
  key.reserve(192);  // one allocation for what most requests have
  key += request.op;
  const auto add = [&](const auto& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  key += '\0';
  add(device);
  add(request.most_factor);
  for (std::size_t i = 0; i < request.num_numbers; ++i) {
    key += request.numbers[i].name;
    key += '\0';
    add(request.numbers[i].value);
  }
  return key;
}

}  // namespace

ProblemLog::ProblemLog() {
  const char* const path = std::getenv("ASSAY_LOG_SIZES");
  if (path == nullptr || *path == '\0') return;
  fd_ = UniqueFd(::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (fd_) return;
  throw Refusal(ASSAY_INVALID_ARGUMENT,
                fmt::format("ASSAY_LOG_SIZES: cannot write {}: {}", path, std::strerror(errno)));
}

void ProblemLog::add(std::string_view op, const Problem& problem) {
  if (!fd_) return;
  const std::string line = fmt::format("{} {}\n", op, to_text(problem));
  const std::lock_guard lock(mutex_);
  if (!lines_.insert(line).second) return;
  // One call, so that processes which share the file do not mix their lines.
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), line.data(), line.size());
}

OpenPack::OpenPack(const std::string& path) : file_(path) {
  for (const PackKernel& kernel : pack().kernels) {
    arguments_.try_emplace(kernel.spec.op, caller_args(kernel.spec));
  }
}

OpenPack::~OpenPack() {
  plans_.clear();
  for (const auto& [device, gpu] : gpus_) {
    // Nothing is left to do for an error, as one after the driver's end.
    CUcontext popped = nullptr;
    const bool pushed = driver_->cuCtxPushCurrent.result(gpu.context) == CUDA_SUCCESS;
    std::erase_if(modules_, [&, of = device](const auto& each) {
      return std::get<CUdevice>(each.first) == of;
    });
    cublas_.erase(device);
    if (pushed) driver_->cuCtxPopCurrent.result(&popped);
    driver_->cuDevicePrimaryCtxRelease.result(gpu.device);
  }
}

const Driver& OpenPack::driver() {
  // What is thrown through the frames of std::call_once ends a program whose unwinder is another
  // than this library's own.
  std::call_once(driver_loaded_, [this] {
    try {
      driver_.emplace();
    } catch (...) {
      no_driver_ = std::current_exception();
    }
  });
  if (no_driver_) std::rethrow_exception(no_driver_);
  return *driver_;
}

bool OpenPack::has_cublas() {
  std::call_once(cublas_looked_for_, [this] {
    try {
      open_cublas_lt(cublas_folders());
      has_cublas_ = true;
    } catch (const Error&) {  // what is then taken says why it is
    }
  });
  return has_cublas_;
}

const OpenPack::Gpu& OpenPack::gpu(CUdevice device) {
  const auto [found, added] = gpus_.try_emplace(device);
  if (!added) return found->second;
  Gpu made{device, nullptr, {}};
  try {
    made.info = query_gpu(*driver_, device);
    driver_->cuDevicePrimaryCtxRetain(&made.context, device);
  } catch (...) {
    gpus_.erase(found);
    throw;
  }
  return found->second = std::move(made);
}

std::shared_ptr<TunedPlan> OpenPack::plan(const assay_request& request) {
  const Driver& cuda = driver();
  CUdevice device = 0;
  if (request.device >= 0 || cuda.cuCtxGetDevice.result(&device) != CUDA_SUCCESS) {
    const CUresult found = cuda.cuDeviceGet.result(&device, std::max(request.device, 0));
    if (found == CUDA_ERROR_INVALID_DEVICE) {
      throw Refusal(ASSAY_NO_DRIVER, fmt::format("there is no GPU {}", request.device));
    }
    cuda.check(found, "cuDeviceGet");
  }
  const std::string key = key_of(request, device);
  {
    const std::shared_lock lock(plans_mutex_);
    const auto found = plans_.find(key);
    if (found != plans_.end()) return found->second;
  }
  std::shared_ptr<TunedPlan> made = choose_plan(request, device);
  const std::unique_lock lock(plans_mutex_);
  if (plans_.size() >= kMostPlans) plans_.clear();
  return plans_.try_emplace(key, std::move(made)).first->second;
}

std::shared_ptr<TunedPlan> OpenPack::choose_plan(const assay_request& request, CUdevice device) {
  Problem given;
  for (std::size_t i = 0; i < request.num_numbers; ++i) {
    given.emplace_back(request.numbers[i].name, to_number(request.numbers[i].value));
  }
  Problem problem;
  try {
    problem = complete_problem(pack(), request.op, given);
  } catch (const UsageError& error) {
    throw Refusal(ASSAY_INVALID_ARGUMENT, error.what());
  }
  log_.add(request.op, problem);
  const DeviceInfo* info = nullptr;
  {
    const std::lock_guard lock(mutex_);
    info = &gpu(device).info;  // stays where it is
  }
  const double factor = request.most_factor > 0 ? request.most_factor : kNearFactor;
  try {
    Choice choice = choose(pack(), request.op, problem, *info, factor, Fallback::allowed);
    if (choice.match == Match::fallback && !has_cublas()) {
      choice = choose(pack(), request.op, problem, *info, factor);
    }
    return std::make_shared<TunedPlan>(std::move(choice), arguments_.at(request.op), device);
  } catch (const UsageError& error) {
    throw Refusal(ASSAY_NOTHING_FITS, error.what());
  }
}

void OpenPack::load(TunedPlan& plan, CUstream stream) {
  const std::lock_guard lock(mutex_);
  if (plan.is_loaded()) return;
  const Driver& cuda = driver();
  const CurrentContext current(cuda, gpu(plan.device()).context);
  const RelaxedCapture relaxed(cuda);
  for (const CUstream each : {stream, CU_STREAM_LEGACY}) {
    if (!is_capturing(cuda, each)) continue;
    throw Refusal(ASSAY_CAPTURING,
                  "code is not loaded while a stream is captured; call assay_prepare before");
  }
  if (plan.choice().match == Match::fallback) {
    return plan.load(cuda, cublas_.try_emplace(plan.device(), cublas_folders()).first->second);
  }
  const PackCode* const code = plan.choice().code;
  const std::tuple key(plan.device(), code, plan.has_variables() ? &plan : nullptr);
  auto module = modules_.find(key);
  if (module == modules_.end()) {
    module = modules_.emplace(key, load_module(cuda, file_.code(*code))).first;
  }
  plan.load(cuda, module->second);
}

}  // namespace assay
