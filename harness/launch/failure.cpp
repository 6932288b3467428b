#include "launch/failure.h"

#include "emulator/errors.h"

namespace assay {
namespace {

const char* kind_of(CUresult code) {
  if (const auto* const own = emulator::find_own_error(code)) return own->text;
  switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "out_of_memory";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
      return "illegal_address";
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      return "trap";
    default:
      // An error that leaves the context alive was found before anything ran: in a launch, a module
      // or an attribute.
      return is_sticky(code) ? "sticky" : "launch";
  }
}

}  // namespace

Outcome runtime_outcome(const CudaError& error) {
  return {Status::runtime, kind_of(error.code()), error.what()};
}

}  // namespace assay
