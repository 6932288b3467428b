#pragma once

#include <nlohmann/json.hpp>

#include "spec/kernel_spec.h"

// As much of a contract as a launch needs, as JSON. Expressions are the contract's texts.

namespace assay {

nlohmann::json kernel_json(const KernelSpec& kernel);

/// Throws UsageError for what no contract may be, and what the JSON library throws.
KernelSpec read_kernel_json(const nlohmann::json& source);

}  // namespace assay
