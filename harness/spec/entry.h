#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

// An entry is a kernel as C++ names it: `foo`, `ns::foo`, or `foo<float, BLOCK>`. Parameters of the
// contract may stand among its template arguments.

namespace assay {

/// A name among the template arguments of an entry.
struct EntryName {
  std::string name;
  std::size_t offset = 0;
  bool is_scope = false;  // `a` in `a::b`
};

/// Those that may be a parameter: `b` in `a::b` may not.
std::vector<EntryName> names_in(std::string_view entry);

/// The entry with the values of `config` in place of their names.
std::string instantiate(std::string_view entry, const Config& config);

/// `config` without what stands in one of `entries`: what becomes a macro. So the parameter of a
/// template may have the name of the contract's.
Config macros_of(const Config& config, const std::vector<std::string>& entries);

}  // namespace assay
