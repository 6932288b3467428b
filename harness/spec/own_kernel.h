#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "spec/kernel_parts.h"

// What all kernels of the user's own beside the one that is tuned have in common: those of a
// reference and those that fill inputs. Only their readers include this.

namespace assay {

/// Reads the expressions of such a kernel. Where all configurations have one, no parameter may
/// change them.
class FixedExprs {
 public:
  /// `shared` is what all configurations have one of: "baseline". Empty where each has its own.
  FixedExprs(const KernelSpec& spec, std::string_view shared);

  ExprSpec one(const YamlNode& node) const;
  ExprSpec real(const YamlNode& node) const;
  std::vector<ExprSpec> list(const YamlNode& node, std::size_t most) const;
  /// Refuses `expr`, which is called `name` at `where`, if a parameter changes it.
  void check(const Location& where, std::string_view name, const Expr& expr) const;

 private:
  const Symbols& symbols_;
  std::string_view shared_;
  std::map<int, std::string> varying_;  // slots, each with a parameter that it depends on
};

/// source, entry, grid and block, which are keys of `map`.
void read_source_and_size(const YamlMap& map, const KernelSpec& spec, const FixedExprs& exprs,
                          ReferenceKernelSpec& kernel);

}  // namespace assay
