#include "cli/contracts.h"

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "cli/include_path.h"
#include "judge/reference_shapes.h"
#include "space/plan.h"
#include "spec/twins.h"

namespace assay {
namespace {

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
