#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/value.h"
#include "compile/compiler.h"
#include "compile/source_tree.h"

// What a source finds defined: its parameters, the sizes of its problem, and its contract's macros.
// As -D options these would rewrite NVRTC's own header and the toolkit's, which use names such as
// T, N and value. So a header of our own defines them, which stands behind NVRTC's and before the
// source, and each include of the toolkit's headers hides them meanwhile.

namespace assay {

struct Definition {
  std::string name;
  std::string text;
  bool is_integer = false;
  bool operator==(const Definition&) const = default;
};

/// In the order of their names. Throws UsageError for a name or a word that cannot be a macro.
std::vector<Definition> definitions_of(const Config& config, const CompileSettings& settings);

/// Is included ahead of the source, see definition_headers.
inline constexpr const char* kDefinitionsHeader = "@define";

/// The header above, and those that the texts of `source` include as SourceTree::Outside.
///
/// A definition is a macro, with two exceptions:
/// - An integer whose name the source uses as a member, such as the `x` of threadIdx.x, and never
///   in an #if: it is a constexpr constant.
/// - A macro that sets up the toolkit's headers (CUB_..., CCCL_...): it is not hidden from them.
std::vector<std::pair<std::string, std::string>> definition_headers(
    const std::vector<Definition>& definitions, const SourceTree& source);

/// The names that have to be macros, since they are words or an #if reads them, and that the source
/// uses as members, too: it cannot compile.
std::vector<std::string> members_that_are_macros(const std::vector<Definition>& definitions,
                                                 const SourceTree& source);

}  // namespace assay
