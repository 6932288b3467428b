#pragma once

#include <filesystem>
#include <string>

namespace assay {

/// A contract for the kernel in `source`, as far as the source tells. What it does not tell stands
/// in lines that begin with "#?", each with a guess and below what says what to write. Without the
/// "#?" it is a contract that loads; with them it is none. Throws UsageError, or SpecError at what
/// a contract cannot describe.
std::string draft_contract(const std::filesystem::path& source);

}  // namespace assay
