#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/kernel_spec.h"

// A contract with `types: {T: [bf16, f16]}` is of several kernels, its twins: T is another type in
// each. The first has the contract's name, the others have names that end in their type.

namespace assay {

/// The kernels of a contract, the one that has its name first. Its op's file may be given, see
/// load_contract. Throws like load_kernel.
std::vector<KernelSpec> load_twins(const std::filesystem::path& yaml_path,
                                   const std::filesystem::path& op_path = {});

/// The kernel of this name among those of a contract.
std::optional<KernelSpec> find_twin(const std::filesystem::path& yaml_path,
                                    const std::string& name);

/// The names of the kernels of a contract. Of a file with a mistake: its own name.
std::vector<std::string> twin_names(const std::filesystem::path& yaml_path);

/// The ops of the kernels of a contract, in the same order. Of a file with a mistake: none.
std::vector<std::string> twin_ops(const std::filesystem::path& yaml_path);

/// `gemm` of `gemm_f16`: the contract whose twin might have this name. Empty if none might.
std::string_view contract_of_twin(std::string_view name);

/// The kernel of that name: in the folder, or in one below it, as deep as projects go. Throws
/// like load_kernel.
std::optional<KernelSpec> find_kernel(const std::filesystem::path& folder, const std::string& name);

}  // namespace assay
