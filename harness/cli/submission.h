#pragma once

#include <filesystem>
#include <string>

namespace assay {

/// The contract of what was handed in for the op of `op_path`: a contract or the `.cu` beside it, a
/// folder with one contract, or JSON in the shape of flashinfer-bench's Solution, which is unpacked
/// into `work`. Throws UsageError.
std::filesystem::path contract_of(const std::filesystem::path& given,
                                  const std::filesystem::path& op_path,
                                  const std::filesystem::path& work);

}  // namespace assay
