#pragma once

#include <cuda.h>

#include <algorithm>
#include <iterator>

namespace assay::emulator {

enum class FindingKind {
  unsupported,    // an instruction or form that the emulator does not know
  out_of_bounds,  // an access outside of all memory, or against its access rights
  misaligned,
  uninitialised,  // shared memory that nobody wrote
  race,
  deadlock,
  limit,   // more instructions or more time than allowed: perhaps an endless loop
  trap,    // trap, or a failed assertion
  misuse,  // what PTX leaves undefined: a barrier of another count, a copy of an odd size
};

/// What the emulator finds of a kernel, and the error that every later call returns.
struct KindOfFinding {
  const char* text;  // also the kind of an outcome, where the error is none of CUDA's
  CUresult error;
  const char* error_name;  // as cuGetErrorName has it
};

/// By FindingKind.
inline constexpr KindOfFinding kFindings[] = {
    {"unsupported", static_cast<CUresult>(1004), "EMULATOR_UNSUPPORTED"},
    {"out of bounds", CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {"misaligned", CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {"uninitialised", static_cast<CUresult>(1003), "EMULATOR_UNINITIALISED"},
    {"race", static_cast<CUresult>(1001), "EMULATOR_RACE"},
    {"deadlock", static_cast<CUresult>(1002), "EMULATOR_DEADLOCK"},
    {"limit", static_cast<CUresult>(1005), "EMULATOR_LIMIT"},
    {"trap", CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
    {"misuse", static_cast<CUresult>(1006), "EMULATOR_MISUSE"},
};
inline const KindOfFinding& facts_of(FindingKind of) { return kFindings[static_cast<int>(of)]; }

/// Null for an error of CUDA's.
inline const KindOfFinding* find_own_error(CUresult code) {
  const auto* const found = std::ranges::find(kFindings, code, &KindOfFinding::error);
  return found == std::end(kFindings) || code <= CUDA_ERROR_UNKNOWN ? nullptr : found;
}

}  // namespace assay::emulator
