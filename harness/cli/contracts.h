#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/tuned_table.h"
#include "spec/kernel_spec.h"
#include "store/store.h"

namespace assay {

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
