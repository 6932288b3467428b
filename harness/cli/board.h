#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/sweep_target.h"
#include "compile/compiler.h"
#include "report/judged_kernel.h"
#include "spec/kernel_spec.h"
#include "store/store.h"

// What `assay judge` judges a submission by: the op's file, and the problems.

namespace assay {

/// The submissions that `assay judge --board` keeps. The folder holds `board.db`, where their times
/// are, and of each the sources in OP/NAME. The name ends in a hash of the machine code, so two
/// submissions of the same code are one.
class Board {
 public:
  explicit Board(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The board for who changes it. Makes the folder where there is none. Throws UsageError where
  /// another process changes the board.
  static Board for_judging(std::filesystem::path folder);

  /// The times. Throws UsageError where there is no board.
  Store read() const;
  Store open() const { return Store::open(database()); }

  /// The name on the board of a kernel with this code_of(): that of the kernel which has the code
  /// there already, or a new one.
  std::string name_of(const KernelSpec& kernel, const std::string& code) const;

  /// The kernels of an op, each under its name on the board.
  std::vector<KernelSpec> kernels(const std::string& op,
                                  const std::filesystem::path& op_path) const;

  /// Keeps the sources of a kernel under its name. The store has its times already.
  void keep(const KernelSpec& kernel, const std::vector<std::filesystem::path>& include) const;

  /// Deletes the times of kernels that are not kept: a judge was stopped meanwhile.
  void forget_unkept(Store& store, const std::string& op) const;

 private:
  std::filesystem::path database() const { return folder_ / "board.db"; }
  std::filesystem::path folder_of(const std::string& op, const std::string& name) const {
    return folder_ / op / name;
  }

  std::filesystem::path folder_;
  UniqueFd lock_ = {};
};

/// A hash of what the device gets of a kernel for its smoke problem, of each configuration: the
/// machine code, and how it is launched. Empty where nothing compiles. Throws UsageError where a
/// header that the contract names would not be kept.
std::string code_of(const KernelSpec& kernel, const Target& target, Compiler& compiler,
                    const std::vector<std::filesystem::path>& include);

/// The contract of what was handed in for the op of `op_path`: a contract or the `.cu` beside it, a
/// folder with one contract, or JSON in the shape of flashinfer-bench's Solution, which is unpacked
/// into `work`. Throws UsageError.
std::filesystem::path contract_of(const std::filesystem::path& given,
                                  const std::filesystem::path& op_path,
                                  const std::filesystem::path& work);

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
