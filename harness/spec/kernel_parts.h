#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "spec/kernel_spec.h"
#include "spec/op_file.h"
#include "spec/vocabulary.h"
#include "spec/yaml.h"

// The parts of a kernel's contract, each read from its YAML node; only the loaders include this.

namespace assay {

/// The kernel `name` of a contract, which is one of its twins. Its source is NAME.cu or, where
/// there is none, that of the contract. Throws SpecError.
KernelSpec read_kernel(const Contract& contract, const std::filesystem::path& yaml_path,
                       const std::string& name);

/// An expression over `symbols`; its mistakes are reported at their own column.
ExprSpec read_expr(const YamlNode& node, const Symbols& symbols);

/// The same, of real numbers: see Expr::parse_real.
ExprSpec read_real_expr(const YamlNode& node, const Symbols& symbols);

/// The values of a parameter: integers or words, none twice; or a range of integers. Expressions of
/// the device go to `device_values`, without which none may stand there.
std::vector<Value> read_values(const YamlNode& node,
                               std::vector<ExprSpec>* device_values = nullptr);

/// A list of `least` to `most` expressions.
std::vector<ExprSpec> read_exprs(const YamlNode& node, const Symbols& symbols, std::size_t least,
                                 std::size_t most);

/// A value of each parameter of `spec`.
Config read_default_config(const YamlNode& node, const KernelSpec& spec);

DType read_dtype(const YamlNode& node);

/// dims, traits, params and let, and with them every symbol of the kernel.
void read_names(const YamlMap& kernel, KernelSpec& spec);

/// `spec` has its names already.
CompileSpec read_compile(const YamlNode& node, const KernelSpec& spec);

/// A file of data, as seen from the folder of the contract.
DataFileSpec read_data_file(const YamlNode& node, const KernelSpec& spec);

/// Macros and their values. `spec` has its names already.
std::map<std::string, MacroSpec> read_define(const YamlNode& node, const KernelSpec& spec);

/// `spec` has its names already.
std::vector<ArgSpec> read_args(const YamlNode& node, const KernelSpec& spec);

/// Reads how each input of `spec` is made; `args` is where its arguments stand.
void read_fills(const YamlNode& args, KernelSpec& spec);

/// The dtype and the value of a scalar, which are keys of `map`.
ScalarSpec read_scalar(const YamlMap& map, const Symbols& symbols);

/// The launches of a kernel whose names and arguments are known. `args_where` is where its
/// arguments stand.
std::vector<LaunchSpec> read_launches(const YamlNode& node, const KernelSpec& spec,
                                      const Location& args_where);
/// The launches of `prepare`, which get inputs, scalars and what is prepared.
std::vector<LaunchSpec> read_prepare(const YamlNode& node, const KernelSpec& spec);
/// Each prepared argument is passed to a launch that prepares. `args` is where they stand.
void check_prepared(const YamlNode& args, const KernelSpec& spec);
/// Whether `text` is `foo`, `ns::foo` or `::foo`.
bool is_qualified_name(std::string_view text);
/// An entry, see spec/entry.h. Its template arguments may name parameters; those of a reference's
/// kernel, which has none, may name dims.
std::string read_entry(const YamlNode& node, const KernelSpec& spec, bool of_reference);

/// The value of an option, which has the type of `row.otherwise`.
OptionValue read_option(const YamlNode& node, const OptionRow& row);

/// Checks that the steps compute every output of `spec`, all of which but its reference is known.
std::vector<ReferenceSpec> read_reference(const YamlNode& node, const KernelSpec& spec);

/// `spec` has its reference already.
std::vector<BaselineSpec> read_baseline(const YamlNode& node, const KernelSpec& spec);

ToleranceSpec read_tolerance(const YamlNode& node);

/// A dim's size: an integer of at least 1.
std::int64_t read_size(const YamlNode& node);
/// A trait's value: any finite number.
Number read_trait(const YamlNode& node);

/// See KernelSpec::contract_hash.
std::string contract_hash(const KernelSpec& spec);
/// See BaselineSpec::hash.
std::string steps_hash(const std::vector<ReferenceSpec>& steps);

}  // namespace assay
