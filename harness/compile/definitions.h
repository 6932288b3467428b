#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/value.h"
#include "compile/compiler.h"
#include "compile/source_tree.h"

// The macros of a source: its parameters, the sizes of its problem, and its contract's macros. As
// -D options the macros would change the headers of NVRTC and of the toolkit, which use names such
// as T, N and value. So a generated header defines the macros. NVRTC reads this header after its
// own and before the source. Each include of a toolkit header is wrapped in two generated headers,
// which hide the macros and restore them.

namespace assay {

struct Definition {
  std::string name;
  std::string text;
  bool is_integer = false;
  bool operator==(const Definition&) const = default;
};

/// The definitions, sorted by name. Throws UsageError for a name or a word that cannot be a macro.
std::vector<Definition> definitions_of(const Config& config, const CompileSettings& settings);

/// The name of the header that NVRTC includes before the source, see definition_headers.
inline constexpr const char* kDefinitionsHeader = "@define";

/// The generated headers, by name: kDefinitionsHeader, and one for each SourceTree::Outside.
///
/// A definition is a macro that toolkit headers do not see, with three exceptions:
/// - An integer becomes a constexpr constant if the source uses its name as a member, such as the
///   `x` of threadIdx.x, and never in an #if.
/// - Toolkit headers see the macros that configure them (CUB_..., CCCL_...).
/// - Toolkit headers see a macro to which the source gives another meaning by #undef and #define.
///   NVRTC has no push_macro that would bring the other meaning back behind such a header.
std::vector<std::pair<std::string, std::string>> definition_headers(
    const std::vector<Definition>& definitions, const SourceTree& source);

/// Whether toolkit headers see any of them, see above.
bool reach_toolkit(const std::vector<Definition>& definitions, const SourceTree& source);

/// The names with which the source cannot compile: they must be macros, because their values are
/// words or an #if reads them, and the source also uses them as members.
std::vector<std::string> members_that_are_macros(const std::vector<Definition>& definitions,
                                                 const SourceTree& source);

/// What every configuration is compiled with, unless its settings say otherwise.
std::vector<std::string> common_options(int std = 20);

/// NVRTC's options for one architecture, without the macros. Throws UsageError for an architecture
/// that is none.
std::vector<std::string> compile_options(const std::string& arch,
                                         const CompileSettings& settings = {});

}  // namespace assay
