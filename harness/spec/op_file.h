#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "spec/yaml.h"

// An op, the task: ops/OP.yaml says what kernels of the op get, what they compute, and how they are
// checked. Their contracts name the op and say how they do it.

namespace assay {

/// A kernel's contract, and what its op's file says put together, as if all stood in one file. Each
/// node keeps its place.
struct Contract {
  YamlPtr root;
  std::filesystem::path op_path = {};  // empty where the contract has it all
};

/// Reads the contract at `yaml_path`. The op's file is `op_path` or, where this is empty, that of
/// the op's name in the folder `ops` beside the contract, or beside its folder; for a contract that
/// says nothing of what an op's file does, also in the folder of the shipped kernels. Throws
/// SpecError, also for a key of the contract that is the op's.
Contract load_contract(const std::filesystem::path& yaml_path,
                       const std::filesystem::path& op_path = {});

/// The file of the op in `folder`/ops: OP.yaml or, of `gemm_f16`, gemm.yaml whose `types` has f16.
/// Empty where there is none.
std::filesystem::path find_op(const std::filesystem::path& folder, const std::string& op);

/// The names of the op at `op_path`: several where it has `types`. Throws SpecError.
std::vector<std::string> op_names(const std::filesystem::path& op_path);

}  // namespace assay
