#pragma once

#include <cuda.h>

namespace assay::emulator {

/// What the emulator finds of a kernel and CUDA has no error for. Like CUDA's own errors of a
/// running kernel, such an error is what every later call returns.
struct OwnError {
  CUresult code;
  const char* name;  // as cuGetErrorName has it
  const char* kind;  // of an outcome
};

inline constexpr CUresult kErrorRace = static_cast<CUresult>(1001);
inline constexpr CUresult kErrorDeadlock = static_cast<CUresult>(1002);
inline constexpr CUresult kErrorUninitialised = static_cast<CUresult>(1003);
inline constexpr CUresult kErrorUnsupported = static_cast<CUresult>(1004);
inline constexpr CUresult kErrorLimit = static_cast<CUresult>(1005);
inline constexpr CUresult kErrorMisuse = static_cast<CUresult>(1006);

inline constexpr OwnError kOwnErrors[] = {
    {kErrorRace, "EMULATOR_RACE", "race"},
    {kErrorDeadlock, "EMULATOR_DEADLOCK", "deadlock"},
    {kErrorUninitialised, "EMULATOR_UNINITIALISED", "uninitialised"},
    {kErrorUnsupported, "EMULATOR_UNSUPPORTED", "unsupported"},
    {kErrorLimit, "EMULATOR_LIMIT", "limit"},
    {kErrorMisuse, "EMULATOR_MISUSE", "misuse"},
};

/// Null for an error of CUDA's.
inline const OwnError* find_own_error(CUresult code) {
  for (const OwnError& error : kOwnErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

}  // namespace assay::emulator
