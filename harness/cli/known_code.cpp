#include "cli/known_code.h"

#include <algorithm>
#include <chrono>

#include "base/file.h"
#include "base/find_named.h"
#include "base/interrupt.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/tool.h"
#include "cli/include_path.h"
#include "cli/results.h"
#include "compile/source_tree.h"
#include "judge/reference_shapes.h"
#include "space/plan.h"
#include "spec/twins.h"
#include "tuner/kernel_version.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Of nvdisasm, on the largest code in seconds.
constexpr double kDisassemblyTimeoutS = 120;

/// The memory of the fastest baseline; 0: not known. `name` begins with the baseline's name and
/// ends with how the baseline is run, such as "_graph".
std::int64_t baseline_memory_bytes(const KernelSpec& kernel, const std::string& name,
                                   const Plan& plan, const DeviceInfo& device) {
  const BaselineSpec* named = nullptr;
  for (const BaselineSpec& each : kernel.baseline) {
    const bool is_longer = named == nullptr || each.name.size() > named->name.size();
    if (name.starts_with(each.name) && is_longer) named = &each;
  }
  if (named == nullptr) return 0;
  if (!named->steps.empty()) {
    return memory_bytes(plan, make_baseline_plan(kernel, *named, plan, device));
  }
  ReferencePlan product = plan.reference.front();  // the whole reference, by cuBLASLt
  product.operation = kCublasLt;
  return memory_bytes(plan, {named->name, {product}});
}

/// Nothing for a configuration without a parameter that the kernel has got since, of which no hash
/// of a contract knows, and for one that has no meaning.
std::optional<Plan> plan_of(const KernelSpec& kernel, const Problem& problem, const Config& config,
                            const DeviceInfo& device) {
  try {
    return make_plan(kernel, problem, config, device);
  } catch (const UsageError&) {
  } catch (const PlanError&) {
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> trial_number(const std::string& target) {
  if (target.size() >= 19 || !std::ranges::all_of(target, is_digit)) return std::nullopt;
  return number_of<std::int64_t>(target);
}

std::optional<KernelConfig> named_config(const std::string& target) {
  const std::size_t colon = target.find(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  return KernelConfig{target.substr(0, colon), parse_config(target.substr(colon + 1))};
}

void refuse_target(const std::string& target) {
  throw UsageError(
      "expected a trial's number, or a configuration such as sgemm:TILE=8,..., found \"{}\"",
      target);
}

TrialRow known_trial(const std::string& db, std::int64_t id) {
  const Store store = open_results(db);
  std::optional<TrialRow> row = store.trial(id);
  if (!row) {
    throw UsageError("no trial {} in {}; assay show --times and --failures list ids", id,
                     store.path().string());
  }
  return std::move(*row);
}

KernelSpec known_kernel(const std::string& folder, const std::string& name) {
  std::optional<KernelSpec> kernel = find_kernel(folder, name);
  if (!kernel) {
    throw NoKernel("there is no kernel {} in {}; name its folder with --kernels", name, folder);
  }
  return std::move(*kernel);
}

const KnownKernel& KnownKernels::find(const std::string& name, const std::string& command_line) {
  const auto found = known_.find(name);
  if (found != known_.end()) return found->second;
  const std::string folder = kernel_folder(folder_, command_line);
  KernelSpec kernel = known_kernel(folder, name);
  std::vector<fs::path> include = include_path(folder, include_);
  KernelVersion version = version_of(kernel, include);
  return known_
      .emplace(name, KnownKernel{std::move(kernel), std::move(version), std::move(include)})
      .first->second;
}

Config complete(const KernelSpec& kernel, const Config& given) {
  Config config;
  for (const ParamSpec& param : kernel.params) {
    if (const Value* const value = find_value(given, param.name)) {
      // A number that is not in the list can be looked at; a word has no meaning then.
      const bool is_listed = std::ranges::find(param.values, *value) != param.values.end();
      if (!is_listed && std::holds_alternative<std::string>(*value)) {
        std::string allowed;
        for (const Value& of : param.values) allowed += (allowed.empty() ? "" : ", ") + to_text(of);
        throw UsageError("{}: {} is {}; expected one of {}", kernel.name, param.name,
                         to_text(*value), allowed);
      }
      config.emplace_back(param.name, *value);
    } else if (param.values.size() == 1 && param.device_values.empty()) {
      config.emplace_back(param.name, param.values.front());
    } else {
      throw UsageError(
          "{}: the configuration lacks {}; a trial's number names one, too: assay show --times",
          kernel.name, param.name);
    }
  }
  for (const auto& [name, value] : given) {
    if (!find_named(kernel.params, name)) {
      throw UsageError("{} has no parameter {}", kernel.name, name);
    }
  }
  return config;
}

void check_size(const std::string& dim, const Number& value) {
  const auto* const size = std::get_if<std::int64_t>(&value);
  if (size && *size >= 1) return;
  throw UsageError("--problem: {}={} is no integer of at least 1", dim, to_text(value));
}

bool has_disassembler() { return !find_tool("nvdisasm").empty(); }

Code disassemble(const fs::path& cubin, const std::string& title) {
  const fs::path nvdisasm = find_tool("nvdisasm");
  if (nvdisasm.empty()) {
    throw Error(
        "there is no nvdisasm in the CUDA toolkit or in PATH, which machine code needs; install "
        "it or set CUDA_HOME; the PTX of a source or a configuration is read without it");
  }
  const auto run_with = [&](std::vector<std::string> options) {
    options.insert(options.end(), {"--print-code", cubin.string()});
    return run_tool(nvdisasm, std::move(options), kDisassemblyTimeoutS, kMaxRecordingBytes);
  };
  const ToolRun run = run_with({"--print-line-info"});
  if (!run.succeeded()) {
    throw UsageError(
        "nvdisasm cannot read {}: {}; it reads what a toolkit of its own version, or an older one, "
        "has made",
        cubin.string(), run.end ? run.end->text + ": " + run.last_line() : "no answer");
  }
  // It prints either source lines or how many registers are alive. Without the latter we do, too.
  const ToolRun counting = run_with({"--life-range-mode", "count"});
  return read_sass(run.output, title, counting.succeeded() ? counting.output : "");
}

std::future<CompileResult> begin_reading(Compiler& compiler, CompileJob job) {
  job.for_reading = true;
  return compiler.submit(std::move(job));
}

Inspected read_compiled(std::future<CompileResult> begun, std::string title, bool sass) {
  while (begun.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    check_interrupt();
  }
  CompileResult result = begun.get();
  if (!result.ok) {
    if (result.log.find("does not compile for architecture") != std::string::npos) {
      result.log += "\nname another with --arch";
    }
    throw UsageError("{} does not compile:\n{}", title, result.log);
  }
  Inspected inspected;
  inspected.report = result.report;
  inspected.entries = {kernel_limits_of(result.cubin), result.symbols};
  if (sass) {
    const WorkFolder work;
    const fs::path cubin = work.path() / "kernel.cubin";
    write_file_atomic(cubin, result.cubin);
    inspected.code = disassemble(cubin, title);
    const std::string_view prefix = SourceTree::kPrefix;
    for (std::string& path : inspected.code.files) {
      const std::size_t at = path.find(prefix);
      if (at != std::string::npos) path.erase(at, prefix.size());
    }
  } else {
    inspected.code = read_ptx(result.ptx, title);
  }
  inspected.title = std::move(title);
  inspected.cubin = std::move(result.cubin);
  return inspected;
}

std::optional<KernelSpec> contract_of(const std::string& kernel, const std::string& contract_hash,
                                      const TrialRow* trial) {
  const std::string folder = kernel_folder("", trial != nullptr ? trial->command_line : "");
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  try {
    std::optional<KernelSpec> found = find_kernel(folder, kernel);
    if (found && found->contract_hash == contract_hash) return found;
  } catch (const UsageError&) {
    // It has changed into one with a mistake.
  }
  return std::nullopt;
}

std::map<std::string, KernelSpec> contracts_of(const std::vector<TunedTable>& tables,
                                               const Store& store) {
  std::map<std::string, KernelSpec> contracts;
  for (const TunedTable& table : tables) {
    for (const TunedRow& entry : table.entries) {
      const std::string& name = entry.best.kernel;
      if (contracts.contains(name)) continue;
      const std::optional<TrialRow> trial = store.trial(entry.trial_id);
      auto contract = contract_of(name, entry.version.contract_hash, trial ? &*trial : nullptr);
      if (contract) contracts.emplace(name, *std::move(contract));
    }
  }
  return contracts;
}

std::int64_t memory_bytes(const TrialRow& trial) {
  const TrialRecord& record = trial.record;
  const auto kernel = contract_of(record.kernel.name, record.kernel.contract_hash, &trial);
  const auto plan =
      kernel ? plan_of(*kernel, record.problem, record.config, trial.device) : std::nullopt;
  return plan ? memory_bytes(*plan) : 0;
}

void add_memory(std::vector<TunedTable>& tables, const Store& store) {
  const std::map<std::string, KernelSpec> contracts = contracts_of(tables, store);
  for (TunedTable& table : tables) {
    for (TunedRow& row : table.entries) {
      const auto found = contracts.find(row.best.kernel);
      if (found == contracts.end()) continue;
      const KernelSpec& kernel = found->second;
      if (kernel.contract_hash != row.version.contract_hash) continue;
      const auto plan = plan_of(kernel, row.problem, row.best.config, table.device);
      if (!plan) continue;
      row.memory_bytes = memory_bytes(*plan);
      row.baseline_memory_bytes = baseline_memory_bytes(kernel, row.baseline, *plan, table.device);
    }
  }
}

}  // namespace assay
