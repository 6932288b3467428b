#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "spec/kernel_parts.h"
#include "spec/kernel_spec.h"
#include "spec/yaml.h"

// The tensors that the steps of a reference read and write, and what the kernels of a reference and
// the kernels that fill inputs have in common. Only the readers of a reference and of fills include
// this file.

namespace assay {

/// A buffer of the kernel, or a result that only later steps read.
struct Tensor {
  std::string name;
  std::size_t rank;
  DType dtype;
  std::optional<Role> role;  // nothing: a result that is no buffer
  Location where;
  bool ready = false;    // holds a value
  bool used = false;     // by a step after
  bool written = false;  // by a step: what an in-out argument holds in the end
};

/// What the steps of a reference may read and write.
class Tensors {
 public:
  explicit Tensors(const std::vector<ArgSpec>& args);

  /// The tensor of this name, or null.
  Tensor* find(std::string_view name);
  std::vector<std::string> names() const;

  /// The tensor that `node` names, which must hold a value already.
  const Tensor& read(const YamlNode& node);
  /// The tensor that `node` names, which gets its value now: an output of the kernel, or a new one
  /// of `rank` dimensions.
  Tensor& write(const YamlNode& node, std::size_t rank);
  /// The in-out argument that `node` names, which a step changes in place.
  Tensor& update(const YamlNode& node);
  /// Every output was computed, and every other result used. `reference` is what lacks an output.
  void check_complete(const YamlNode& reference) const;

 private:
  [[noreturn]] void fail_unknown(const Location& where, std::string_view what,
                                 const std::string& name) const;

  std::set<std::string> arguments_;
  std::vector<Tensor> tensors_;
};

/// Whose steps are read.
enum class Steps { reference, baseline };
/// What FixedExprs calls it: configurations share a baseline, but not a reference.
inline std::string_view shared_by_configurations(Steps of) {
  return of == Steps::baseline ? "baseline" : "";
}

/// A step: a named operation, or a kernel of the user's own.
ReferenceSpec read_step(const YamlNode& node, Tensors& tensors, const KernelSpec& spec, Steps of);

/// `{file: y.bin, out: Y}`: a step that takes an output from a file.
ReferenceSpec read_reference_file(const YamlNode& node, Tensors& tensors, const KernelSpec& spec);

/// `kernel: {source: ref.cu, ..}`: a step that is a kernel of the user's own.
ReferenceSpec read_reference_kernel(const YamlEntry& entry, Tensors& tensors,
                                    const KernelSpec& spec, Steps of);

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
  void check(const ExprSpec& expr) const { check(expr.where, expr.expr.text(), expr.expr); }

  const Symbols& symbols_;
  std::string_view shared_;
  std::map<int, std::string> varying_;  // slots, each with a parameter that it depends on
};

/// source, entry, grid and block, which are keys of `map`.
void read_source_and_size(const YamlMap& map, const KernelSpec& spec, const FixedExprs& exprs,
                          ReferenceKernelSpec& kernel);

}  // namespace assay
