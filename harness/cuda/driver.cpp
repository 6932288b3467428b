#include "cuda/driver.h"

#include <fmt/format.h>

#include <vector>

#include "emulator/errors.h"

namespace assay {

Driver::Driver() {
  const Library& library_ =
      opened_.emplace("the NVIDIA driver", std::vector<std::string>{"libcuda.so.1"},
                      LibraryFolders(), "install the NVIDIA driver");
  ASSAY_DRIVER_FUNCTIONS(ASSAY_LOAD)
  library_.load(event_elapsed_time, "cuEventElapsedTime");
  initialise();
}

void Driver::initialise() const {
  const CUresult result = cuInit.result(0);
  if (result == CUDA_ERROR_NO_DEVICE) throw Error("the NVIDIA driver finds no GPU");
  check(result, "cuInit");
}

void Driver::fail(CUresult result, const std::string& call) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName.result(result, &name) != CUDA_SUCCESS) name = nullptr;
  if (cuGetErrorString.result(result, &text) != CUDA_SUCCESS) text = nullptr;
  throw CudaError(
      result,
      fmt::format("{}: {}, {}", call,
                  name != nullptr ? name : fmt::format("error {}", static_cast<int>(result)),
                  text != nullptr ? text : "unknown to this driver"));
}

bool is_sticky(CUresult code) {
  switch (code) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return emulator::find_own_error(code) != nullptr;
  }
}

}  // namespace assay
