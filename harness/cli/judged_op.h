#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/judged_kernel.h"
#include "spec/kernel_spec.h"

// What `assay judge` judges a submission by: the op's file, and the problems.

namespace assay {

/// The file of an op, `gemm` or `gemm_bf16`, in the folder of the kernels or else in that of the
/// shipped ones. Throws UsageError with the nearest name where there is none.
std::filesystem::path op_file(const std::string& op, const std::filesystem::path& kernels);

/// A mistake in the file of hidden problems, which is not the submission's.
struct HiddenMistake {
  std::string message;
};

/// The smoke problem, those of the op and those of the file `hidden`, which may be empty; the
/// smallest first. Throws HiddenMistake.
std::vector<JudgedProblem> problems_of(const KernelSpec& kernel, const std::string& hidden);

}  // namespace assay
