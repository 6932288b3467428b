#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/trial.h"
#include "compile/compiler.h"
#include "report/inspect_view.h"
#include "report/tuned_table.h"
#include "spec/kernel_spec.h"
#include "store/store.h"

// What verbs share: what an argument names, the code behind it, and the contract of a result.

namespace assay {

/// "12"; nothing for anything but a number.
std::optional<std::int64_t> trial_number(const std::string& target);

/// "sgemm:TILE=8,BLOCK_K=8"; nothing without a colon. Throws UsageError for what no configuration
/// can be.
std::optional<KernelConfig> named_config(const std::string& target);

/// Throws UsageError: a target is neither a trial's number nor a configuration.
[[noreturn]] void refuse_target(const std::string& target);

/// A trial of the database, by default results/assay.db where `db` is empty. Throws UsageError if
/// there is none.
TrialRow known_trial(const std::string& db, std::int64_t id);

struct NoKernel : UsageError {
  using UsageError::UsageError;
};

/// Throws NoKernel if there is none of the name in the folder.
KernelSpec known_kernel(const std::string& folder, const std::string& name);

/// A kernel as it is now.
struct KnownKernel {
  KernelSpec spec;
  KernelVersion version;
  std::vector<std::filesystem::path> include;  // where its headers are looked for
};

/// Kernels by name, each loaded once.
class KnownKernels {
 public:
  /// The folder of the kernels, or "" for the one of each trial's sweep, and those of further
  /// headers.
  explicit KnownKernels(std::string folder, std::vector<std::string> include = {})
      : folder_(std::move(folder)), include_(std::move(include)) {}

  /// Of a trial's sweep, if it is named. Throws UsageError as known_kernel() and version_of().
  const KnownKernel& find(const std::string& name, const std::string& command_line = "");

 private:
  std::string folder_;
  std::vector<std::string> include_;
  std::map<std::string, KnownKernel> known_;
};

/// The values of all parameters. Throws UsageError, which names what is missing or not allowed.
Config complete(const KernelSpec& kernel, const Config& given);

/// Throws UsageError unless --problem gives the dimension an integer of at least 1.
void check_size(const std::string& dim, const Number& value);

/// Whether the toolkit, or PATH, has nvdisasm.
bool has_disassembler();

/// What nvdisasm makes of machine code. Throws Error where the toolkit lacks it, and UsageError
/// where it cannot read the file.
Code disassemble(const std::filesystem::path& cubin, const std::string& title);

std::future<CompileResult> begin_reading(Compiler& compiler, CompileJob job);

/// What that made: the PTX, or with `sass` the machine code. Throws UsageError with the compiler's
/// log, and Error where there is no compiler.
Inspected read_compiled(std::future<CompileResult> begun, std::string title, bool sass);

/// The contract of a trial as it was measured: of the sweep that measured it, or the one here;
/// nothing where it is not there, or has changed.
std::optional<KernelSpec> contract_of(const std::string& kernel, const std::string& contract_hash,
                                      const TrialRow* trial);

/// Those of the winners, by the kernel's name.
std::map<std::string, KernelSpec> contracts_of(const std::vector<TunedTable>& tables,
                                               const Store& store);

/// The device memory that a trial needs: see memory_bytes in space/plan.h; 0: not known.
std::int64_t memory_bytes(const TrialRow& trial);

/// Says of each winner and of its baseline how much device memory it needs, where the contract is
/// known.
void add_memory(std::vector<TunedTable>& tables, const Store& store);

}  // namespace assay
