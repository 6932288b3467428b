#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

// Which options of NVRTC and ptxas a contract may give. They change how fast the code is and how
// it rounds, which a check judges. None reads or writes a file, defines a macro, chooses what is
// compiled for, or changes what the harness reads from the compiler.

namespace assay {

/// The values that an option takes: "true", "ca", "3". One that takes none has none.
struct CompilerOption {
  std::string_view name;        // "--fmad"
  std::string_view other_name;  // "-fmad"
  std::vector<std::string_view> values = {};
};

/// The option that `text` starts with, such as --fmad=false, and what stands behind its `=`. Null
/// for one that a contract may not give.
const CompilerOption* find_compiler_option(std::string_view text, bool of_ptxas,
                                           std::string_view& value);

/// `text` with the value of a parameter in place of its name in braces. Where an option takes true
/// and false, a parameter's 1 and 0 mean these.
std::string instantiate_option(const std::string& text, const Config& config);

/// "--fmad, --ftz, ..."
std::string known_compiler_options(bool of_ptxas);

}  // namespace assay
