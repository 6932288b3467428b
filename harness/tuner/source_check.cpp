#include "tuner/source_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/c_layout.h"
#include "base/cubin_info.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/find_named.h"
#include "base/text.h"
#include "compile/source_tree.h"
#include "inspect/occupancy.h"
#include "spec/cuda_source.h"
#include "spec/entry.h"
#include "tuner/kernel_version.h"

namespace assay {
namespace {

template <typename... Parts>
void warn(std::vector<std::string>& warnings, const Location& where,
          fmt::format_string<Parts...> format, Parts&&... parts) {
  const std::string message = fmt::format(format, std::forward<Parts>(parts)...);
  warnings.push_back(where.source ? fmt::format("{}:{}:{}: {}", where.source->path.generic_string(),
                                                where.line, where.column, message)
                                  : message);
}

/// How often `name` stands in `text` as a whole word.
std::size_t count_word(std::string_view text, std::string_view name) {
  std::size_t count = 0;
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool is_whole = (at == 0 || !is_identifier_part(text[at - 1])) &&
                          (end == text.size() || !is_identifier_part(text[end]));
    count += is_whole ? 1 : 0;
  }
  return count;
}

/// The contract without its comments.
std::string contract_text(const KernelSpec& kernel) {
  std::string text;
  if (kernel.params.empty() || !kernel.params[0].where.source) return text;
  const std::string& source = kernel.params[0].where.source->text;
  for (std::size_t begin = 0; begin < source.size();) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    const std::string_view line = std::string_view(source).substr(begin, end - begin);
    const std::size_t comment = line.find(" #");
    text += line.starts_with('#') ? "" : line.substr(0, comment);
    text += '\n';
    begin = end + 1;
  }
  return text;
}

/// A parameter that no source mentions, and that in the contract only constraints read: all of its
/// values make the same code, and the same launches.
void find_unread(const KernelSpec& kernel, const std::set<std::string>& names,
                 std::vector<std::string>& warnings) {
  const std::string contract = contract_text(kernel);
  std::vector<std::string> unread;
  const ParamSpec* first = nullptr;
  for (const ParamSpec& param : kernel.params) {
    if (names.contains(param.name)) continue;
    std::size_t in_constraints = 0;
    for (const ExprSpec& constraint : kernel.constraints) {
      if (constraint.where.source != kernel.params[0].where.source) continue;  // of a sweep
      in_constraints += count_word(constraint.expr.text(), param.name);
    }
    if (count_word(contract, param.name) > 1 + in_constraints) continue;
    if (first == nullptr) first = &param;
    unread.push_back(param.name);
  }
  if (unread.empty()) return;
  warn(warnings, first->where,
       "neither a source nor a launch reads {}: whatever the value, the code is the same",
       fmt::join(unread, ", "));
}

void find_grid_waits(const KernelSpec& kernel, const CudaSource& source,
                     std::vector<std::string>& warnings) {
  const bool gets_grid = source.names.contains("this_grid") || source.names.contains("grid_group");
  const auto launches = all_launches(kernel);
  if (!gets_grid || !source.names.contains("sync") ||
      std::ranges::any_of(launches, [](const LaunchSpec* launch) { return launch->cooperative; })) {
    return;
  }
  warn(warnings, kernel.launches.front().grid.front().where,
       "{} waits for all blocks of its grid, which needs `cooperative: true` in the launch",
       kernel.source_path.filename().string());
}

/// What is passed for a parameter.
struct Passed {
  std::string name;  // empty for a scalar of the launch's own
  std::optional<DType> dtype;
  bool is_pointer = false;
};

Passed passed_of(const ArgSpec& arg) {
  if (const auto* scalar = std::get_if<ScalarSpec>(&arg.form)) return {arg.name, scalar->dtype};
  const auto* buffer = std::get_if<BufferSpec>(&arg.form);
  if (buffer == nullptr || buffer->texture) return {arg.name, std::nullopt};
  return {arg.name, buffer->dtype, true};
}

std::vector<Passed> passed_of(const KernelSpec& kernel, const LaunchSpec& launch) {
  std::vector<Passed> passed;
  if (!launch.args) {
    for (const std::size_t i : passed_args(kernel)) passed.push_back(passed_of(kernel.args[i]));
    return passed;
  }
  for (const LaunchArgSpec& each : *launch.args) {
    if (each.names.empty()) {
      passed.push_back({"", each.scalar.dtype});
      continue;
    }
    const auto* arg = find_named(kernel.args, each.names[0]);
    passed.push_back(passed_of(*arg));
    if (each.names.size() > 1) passed.back().name.clear();  // one of several buffers
  }
  return passed;
}

/// Whether elements of one type may be meant where a kernel takes another: bytes, the bits of a
/// small float, and integers of one size.
bool may_stand_for(DType passed, DType taken) {
  const bool is_byte = size_bytes(taken) == 1 && !is_floating(taken);
  if (passed == taken || is_byte) return true;
  const bool same_size = size_bytes(passed) == size_bytes(taken);
  return same_size && (!is_floating(taken) && (!is_floating(passed) || size_bytes(taken) == 2));
}

/// `float4` and the like are how elements are loaded, whatever they are.
bool is_vector(const std::string& type) {
  return type.size() > 1 && (type.back() == '2' || type.back() == '4') &&
         !is_digit(type[type.size() - 2]);
}

void find_other_types(const LaunchSpec& launch, const CudaSource::Kernel& entry,
                      const std::vector<Passed>& passed, std::vector<std::string>& warnings) {
  for (std::size_t i = 0; i < passed.size(); ++i) {
    const CudaSource::Param& param = entry.params[i];
    const std::optional<DType> taken = dtype_of(param.type);
    if (!taken || !passed[i].dtype || passed[i].is_pointer != param.is_pointer ||
        (param.is_pointer && is_vector(param.type)) || may_stand_for(*passed[i].dtype, *taken)) {
      continue;
    }
    warn(warnings, launch.args_where, "{} is {}, but {} takes {}{} there",
         passed[i].name.empty() ? fmt::format("argument {}", i + 1) : passed[i].name,
         to_text(*passed[i].dtype), entry.name, param.type, param.is_pointer ? "*" : "");
  }
}

void find_other_order(const LaunchSpec& launch, const CudaSource::Kernel& entry,
                      const std::vector<Passed>& passed, std::vector<std::string>& warnings) {
  for (std::size_t i = 0; i < passed.size(); ++i) {
    for (std::size_t k = i + 1; k < passed.size(); ++k) {
      const CudaSource::Param &one = entry.params[i], &other = entry.params[k];
      const bool is_swapped = !passed[i].name.empty() && one.name != other.name &&
                              passed[i].name == other.name && passed[k].name == one.name;
      if (!is_swapped || one.type != other.type || one.is_pointer != other.is_pointer) continue;
      warn(warnings, launch.args_where, "{} gets {} where it takes {}, and {} where it takes {}",
           entry.name, passed[i].name, one.name, passed[k].name, other.name);
    }
  }
}

void find_other_signatures(const KernelSpec& kernel, const CudaSource& source,
                           std::vector<std::string>& warnings) {
  for (const LaunchSpec* launch : all_launches(kernel)) {
    std::string name = launch->entry.substr(0, launch->entry.find('<'));
    if (name.starts_with("::")) name.erase(0, 2);
    const auto* entry = find_named(source.kernels, name);
    const std::vector<Passed> passed = passed_of(kernel, *launch);
    if (entry == nullptr || entry->params.size() != passed.size()) continue;
    find_other_types(*launch, *entry, passed, warnings);
    find_other_order(*launch, *entry, passed, warnings);
  }
}

/// The parameters of "void ns::f<float>(float const*, int)".
std::vector<CudaSource::Param> params_of(std::string_view signature) {
  std::vector<CudaSource::Param> params;
  std::size_t begin = signature.size(), depth = 0;
  while (begin > 0) {  // back to the bracket that the last one closes
    const char c = signature[--begin];
    depth += c == ')' ? 1 : 0;
    if (c == '(' && --depth == 0) break;
  }
  std::string text;
  for (const char c : signature.substr(std::min(begin + 1, signature.size()))) {
    const bool ends = depth == 0 && (c == ',' || c == ')');
    if (!ends) {
      depth += c == '<' || c == '(' ? 1 : 0;
      depth -= c == '>' || c == ')' ? 1 : 0;
      text += c;
      continue;
    }
    if (text.empty()) break;  // f()
    CudaSource::Param param;
    param.is_pointer = text.ends_with('*');
    if (param.is_pointer) text.pop_back();
    for (const std::string_view word : {" const", " volatile"}) {
      if (text.ends_with(word)) text.resize(text.size() - word.size());
    }
    param.type = text.substr(std::min(text.find_first_not_of(' '), text.size()));
    params.push_back(std::move(param));
    text.clear();
  }
  return params;
}

Layout layout_of(const ScalarSpec& scalar) {
  return {size_bytes(scalar.dtype), size_bytes(scalar.dtype)};
}

/// How the argument `name` lies as a parameter. What is no argument of the contract is a result of
/// the reference, which is a buffer.
Layout layout_of(const KernelSpec& kernel, const std::string& name) {
  const ArgSpec* const arg = find_named(kernel.args, name);
  if (arg == nullptr) return kPointerLayout;
  if (std::holds_alternative<TensorMapSpec>(arg->form)) return kTensorMapLayout;
  if (const auto* scalar = std::get_if<ScalarSpec>(&arg->form)) return layout_of(*scalar);
  const auto* packed = std::get_if<StructSpec>(&arg->form);
  if (packed == nullptr) return kPointerLayout;
  StructLayout layout;
  for (const StructSpec::Member& member : packed->members) {
    layout.add(member.name.empty() ? layout_of(member.scalar) : layout_of(kernel, member.name));
  }
  return layout.layout();
}

std::vector<std::int64_t> sizes_of(const KernelSpec& kernel, const LaunchSpec& launch) {
  std::vector<std::int64_t> sizes;
  if (!launch.args) {
    for (const std::size_t i : passed_args(kernel)) {
      sizes.push_back(layout_of(kernel, kernel.args[i].name).bytes);
    }
    return sizes;
  }
  for (const LaunchArgSpec& arg : *launch.args) {
    sizes.push_back(arg.names.empty() ? size_bytes(arg.scalar.dtype)
                                      : layout_of(kernel, arg.names.front()).bytes);
  }
  return sizes;
}

void check_sizes(const Location& where, const std::string& entry,
                 const std::vector<std::int64_t>& expected,
                 const std::vector<std::int64_t>& found) {
  if (expected == found) return;
  const bool may_be_struct = !expected.empty() && expected.size() < found.size();
  throw SpecError(where, "expected arguments of {} bytes, the parameters of {}, found {}{}",
                  fmt::join(expected, ", "), entry, fmt::join(found, ", "),
                  may_be_struct ? "; a struct takes an argument {name: .., struct: [..]}" : "");
}

}  // namespace

std::vector<std::string> template_warnings(const KernelSpec& kernel, const Config& config,
                                           const std::map<std::string, std::string>& symbols) {
  std::vector<std::string> warnings;
  for (const LaunchSpec* launch : all_launches(kernel)) {
    const std::string entry = instantiate(launch->entry, config);
    const auto symbol = symbols.find(entry);
    if (entry.find('<') == entry.npos || symbol == symbols.end()) continue;
    const std::vector<CudaSource::Param> params = params_of(demangled(symbol->second));
    const std::vector<Passed> passed = passed_of(kernel, *launch);
    if (params.size() == passed.size()) {
      find_other_types(*launch, {entry, {}, params, {}}, passed, warnings);
    }
  }
  return warnings;
}

std::vector<std::string> source_warnings(
    const KernelSpec& kernel, const std::vector<std::filesystem::path>& include_directories) {
  std::vector<std::string> warnings;
  try {
    const SourceTree tree =
        SourceTree::read(kernel.source_path, include_path(kernel, include_directories));
    const auto read = [](const std::string& text) {
      return read_cuda_source(std::make_shared<const SourceText>(SourceText{"", text}));
    };
    const CudaSource source = read(tree.text);
    std::set<std::string> names = source.names;
    for (const auto& [name, text] : tree.headers) names.merge(read(text).names);
    find_unread(kernel, names, warnings);
    find_grid_waits(kernel, source, warnings);
    find_other_signatures(kernel, source, warnings);
  } catch (const UsageError&) {
    return {};
  }
  std::ranges::sort(warnings);
  warnings.erase(std::unique(warnings.begin(), warnings.end()), warnings.end());
  return warnings;
}

void check_launch_arguments(const KernelSpec& kernel, const Config& config,
                            const std::map<std::string, std::string>& symbols,
                            const std::string& cubin) {
  const auto entries = entries_of(cubin);
  for (const LaunchSpec* each : all_launches(kernel)) {
    const LaunchSpec& launch = *each;
    const std::string entry = instantiate(launch.entry, config);
    const auto symbol = symbols.find(entry);
    if (symbol == symbols.end()) continue;
    check_sizes(launch.args_where, entry, entries.at(symbol->second), sizes_of(kernel, launch));
  }
}

void check_reference_arguments(const KernelSpec& kernel, const ReferenceKernelSpec& reference,
                               const std::string& symbol, const std::string& cubin) {
  std::vector<std::int64_t> sizes;
  for (const auto& names : reference.turns) sizes.push_back(layout_of(kernel, names.front()).bytes);
  if (sizes.empty()) {  // of a fill, which makes no passes
    for (const auto& arg : reference.args) sizes.push_back(layout_of(kernel, arg.name).bytes);
  }
  check_sizes(reference.args_where, reference.entry, entries_of(cubin).at(symbol), sizes);
}

void check_variables(const KernelSpec& kernel, const Plan& plan, const std::string& cubin) {
  for (const ArgSpec& arg : kernel.args) {
    const auto* buffer = std::get_if<BufferSpec>(&arg.form);
    if (!buffer || buffer->symbol.empty()) continue;
    const auto found = find_variable(cubin, buffer->symbol);
    if (!found) {
      std::vector<std::string> names;
      for (const Variable& variable : named_variables_of(cubin)) names.push_back(variable.name);
      throw SpecError(
          arg.where, "expected a __constant__ or __device__ variable of the source, found \"{}\"{}",
          buffer->symbol, suggestion(buffer->symbol, names));
    }
    const std::int64_t bytes = plan.find_buffer(arg.name)->bytes();
    if (bytes > found->bytes) {
      throw PlanError("{} has {} bytes, but the variable {} has {}; {} with {}", arg.name, bytes,
                      buffer->symbol, found->bytes, kernel.name, to_text(plan.config));
    }
  }
}

void check_cooperative(const Plan& plan, const std::string& cubin, const DeviceInfo& device) {
  const auto limits = kernel_limits_of(cubin);
  for (const auto* launches : {&plan.launches, &plan.prepare}) {
    for (const LaunchPlan& launch : *launches) {
      if (!launch.cooperative) continue;
      const std::int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
      const std::int64_t blocks = launch.grid[0] * launch.grid[1] * launch.grid[2];
      const auto found = limits.find(launch.symbol.empty() ? launch.entry : launch.symbol);
      const KernelLimits of = found == limits.end() ? KernelLimits() : found->second;
      const auto resident = occupancy_of(device.cc, threads, std::max(of.registers, 1),
                                         launch.smem_bytes + static_smem_bytes(of, device.cc));
      if (!resident || blocks <= std::int64_t{resident->blocks} * device.sm_count) continue;
      throw PlanError(
          "the cooperative launch of {} has {} blocks, but only {} are resident at "
          "once, which are {} on each of {} SMs by their {}; with {}",
          launch.entry, blocks, std::int64_t{resident->blocks} * device.sm_count, resident->blocks,
          device.sm_count, resident->limit, to_text(plan.config));
    }
  }
}

}  // namespace assay
