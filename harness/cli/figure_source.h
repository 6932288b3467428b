#pragma once

#include <future>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cli/known_code.h"
#include "compile/nvrtc_compiler.h"
#include "report/explain.h"
#include "store/store.h"

namespace assay {

/// What is known of trials and configurations, as `explain` asks for it: what is stored, what the
/// contract says, what the GPU's ceilings are, and what the compiler makes of the code.
class FigureSource {
 public:
  /// The folder of the kernels, or "" for the one of each trial's sweep, and those of further
  /// headers.
  FigureSource(std::string kernels, std::vector<std::string> include);

  enum class Code { leave, read };  // reading it takes a second

  /// Of a trial that was timed. Where the kernel has changed since, what is stored.
  Figures of_trial(const TrialRow& row, Code code);
  /// Of a configuration that was never run, for the sizes of the kernel's smoke test. Throws
  /// UsageError, as known_kernel() and complete().
  Figures of_config(const KernelConfig& named, const std::string& arch);
  /// The instructions of a trial's configuration or, with a name, of that baseline of its kernel:
  /// of the machine code where the toolkit has nvdisasm, else of the PTX. Takes a second.
  CodeCounts code_of(const TrialRow& row, const std::string& baseline);
  /// Begins to compile on all cores what code_of() will be asked for.
  void compile_ahead(const TrialRow& row, const std::string& baseline);

 private:
  std::future<CompileResult> begin(CompileJob job);
  CompiledEntries add_code(Figures& figures, const CompileJob& job);
  std::vector<std::future<CompileResult>> begin_code(const TrialRow& row,
                                                     const std::string& baseline);

  /// A version of a kernel, an architecture, and a configuration or a baseline, with a problem
  /// where that decides on the code.
  using CodeKey = std::tuple<std::string, std::string, std::string>;
  CodeKey key_of(const TrialRow& row, const std::string& baseline);
  bool is_per_problem(const TrialRow& row);

  KnownKernels kernels_;
  std::map<CodeKey, CodeCounts> counts_;
  std::optional<NvrtcCompiler> compiler_;                             // once it was needed
  std::map<CodeKey, std::vector<std::future<CompileResult>>> begun_;  // and not counted yet
};

}  // namespace assay
