#include "spec/draft.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "spec/cuda_source.h"

namespace assay {
namespace {

bool contains(const std::string& name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

std::string last_name(const std::string& name) { return name.substr(name.rfind(':') + 1); }

/// The kernel that is called like the file; else the first.
const CudaSource::Kernel& choose(const CudaSource& source, const std::filesystem::path& path) {
  if (source.kernels.empty()) {
    throw UsageError(path.string() + ": expected a __global__ function, found none");
  }
  for (const CudaSource::Kernel& kernel : source.kernels) {
    if (last_name(kernel.name) == path.stem()) return kernel;
  }
  return source.kernels.front();
}

class Draft {
 public:
  Draft(const CudaSource& source, const CudaSource::Kernel& kernel, std::string name)
      : source_(source), kernel_(kernel), name_(std::move(name)) {
    for (const CudaSource::Param& param : kernel.params) add_arg(param);
    if (dims_.empty()) dims_.emplace_back("N");
    for (const auto& param : kernel.template_params) add_template_param(param);
    for (const CudaSource::Macro& macro : source.macros)
      add_macro(macro.name, macro.is_switch ? "0, 1" : macro.value);
  }

  std::string text() {
    line("# A draft. Each line that begins with #? is a guess: correct it, and take the #? away.");
    line("kernel: " + name_);
    note("What is computed, with its types. Kernels of one op compete, so they compute the same.");
    open("op: " + name_);
    note("Compute capabilities, or \"90a\" for instructions that only one architecture has.");
    open("arch: [80, 86, 89, 90]");
    note("The sizes of a problem.");
    line(fmt::format("dims: [{}]", fmt::join(dims_, ", ")));
    add_params();
    add_args();
    add_launches();
    note("What one run needs: its operations, and the bytes it must read and write.");
    open(fmt::format("work: {{flops: {}, bytes: {}}}", dims_[0], bytes()));
    add_reference();
    note("A small problem to try the kernel on. Choose sizes that no tile divides.");
    std::vector<std::string> sizes;
    for (const std::string& dim : dims_) sizes.push_back(dim + ": 1000");
    open(fmt::format("smoke: {{{}}}", fmt::join(sizes, ", ")));
    return std::move(text_);
  }

 private:
  struct Arg {
    std::string name;
    const CudaSource::Param* param;
    std::optional<DType> dtype;
  };

  void line(const std::string& text) { text_ += text + '\n'; }
  void open(const std::string& text) { line("#? " + text); }
  void note(const std::string& text) { line("\n# " + text); }

  /// `name`, or another one where it is taken or a keyword.
  std::string new_name(std::string name) {
    while (is_reserved(name) || std::ranges::find(names_, name) != names_.end()) name += '_';
    names_.push_back(name);
    return name;
  }

  void add_arg(const CudaSource::Param& param) {
    const auto is_type_param = [&](const auto& each) { return each.name == param.type; };
    const auto& params = kernel_.template_params;
    std::optional<DType> dtype = dtype_of(param.type);
    if (!dtype && std::ranges::any_of(params, is_type_param)) dtype = DType::f32;
    const bool is_map = last_name(param.type) == "CUtensorMap";
    const bool is_texture = last_name(param.type) == "cudaTextureObject_t";
    if (!dtype && !param.is_pointer && !is_map && !is_texture) {
      throw SpecError(param.where,
                      "expected a pointer, a number, a texture or a CUtensorMap, found {}; what a "
                      "struct holds no draft can tell: write the contract by hand, with `struct`",
                      param.type);
    }
    std::string name = param.name.empty() ? fmt::format("arg{}", args_.size()) : param.name;
    if (is_reserved(name)) name += '_';
    args_.push_back({name, &param, dtype});
    if (!param.is_pointer && dtype && !is_floating(*dtype)) {
      dims_.push_back(name);
      names_.push_back(name);
    }
  }

  void add_template_param(const CudaSource::TemplateParam& param) {
    if (param.type == "typename" || param.type == "class") {
      template_args_.emplace_back("float");
      return;
    }
    add_macro(param.name, param.type == "bool" ? "0, 1" : "");
    template_args_.push_back(params_.back().first);
  }

  void add_macro(const std::string& name, const std::string& value) {
    const bool is_size = contains(name, "BLOCK") || contains(name, "THREAD") ||
                         contains(name, "Block") || contains(name, "block_size");
    const bool is_number = value.find_first_not_of("0123456789, ") == std::string::npos;
    const bool is_word = is_identifier(value) && (!is_reserved(value) || dtype_of(value));
    const std::string guess = is_size ? "64, 128, 256" : "1, 2, 4";
    params_.emplace_back(new_name(name), !value.empty() && (is_number || is_word) ? value : guess);
    if (is_size && block_.empty()) block_ = params_.back().first;
  }

  void add_params() {
    if (params_.empty()) return;
    note("What may be tuned: each parameter with its values, such as [1, 2, 4] or");
    line("# {from: 32, to: 256, times: 2}.");
    line("params:");
    for (const auto& [name, values] : params_) open(fmt::format("  {}: [{}]", name, values));
  }

  void add_args() {
    note(
        "The arguments, in the order of the entry point's parameters. Of a buffer, write the "
        "shape,");
    line(
        "# row-major, the role (in, out, scratch, or inout for what is updated in place), and for");
    line("# what is read its fill.");
    line("args:");
    const bool writes = std::ranges::any_of(
        args_, [](const Arg& arg) { return arg.param->is_pointer && !arg.param->is_const; });
    if (!writes) {
      throw SpecError(
          kernel_.where,
          "expected a parameter of {} that points to what is not const, its output, found none",
          kernel_.name);
    }
    for (const Arg& arg : args_) add_arg_line(arg);
  }

  void add_arg_line(const Arg& arg) {
    const std::string_view dtype = to_text(arg.dtype.value_or(DType::f32));
    if (arg.param->is_pointer) {
      const bool is_input = arg.param->is_const;
      const bool needs_fill = is_input && arg.dtype && !is_floating(*arg.dtype);
      open(fmt::format("  - {{name: {}, dtype: {}, shape: [{}], role: {}{}}}", arg.name, dtype,
                       dims_[0], is_input ? "in" : "out",
                       needs_fill ? ", fill: {name: uniform, low: 0, high: 7}" : ""));
    } else if (last_name(arg.param->type) == "cudaTextureObject_t") {
      open(fmt::format("  - {{name: {}, dtype: f32, shape: [{}], role: in, texture: point}}",
                       arg.name, dims_[0]));
    } else if (!arg.dtype) {
      const Arg& buffer =
          *std::ranges::find_if(args_, [](const Arg& each) { return each.param->is_pointer; });
      open(fmt::format("  - {{name: {}, tensor_map: {{of: {}, box: [64]}}}}", arg.name,
                       buffer.name));
    } else if (is_floating(*arg.dtype)) {
      open(fmt::format("  - {{name: {}, dtype: {}, value: 1.5}}", arg.name, dtype));
    } else {
      const bool is_dim = std::ranges::find(dims_, arg.name) != dims_.end();
      line(fmt::format("  - {{name: {}, dtype: {}, value: {}}}", arg.name, dtype,
                       is_dim ? arg.name : dims_[0]));
    }
  }

  void add_launches() {
    note("The launches: blocks, and threads of a block.");
    if (source_.kernels.size() > 1) {
      std::vector<std::string> others;
      for (const CudaSource::Kernel& other : source_.kernels) {
        if (&other != &kernel_) others.push_back(other.name);
      }
      line(fmt::format(
          "# The source has further kernels, which launches may name by entry: {}. Those",
          fmt::join(others, ", ")));
      line("# with other parameters need args in their launch.");
    }
    if (source_.has_dynamic_smem) line("# smem_bytes is the dynamic shared memory.");
    line("launches:");
    std::string entry = kernel_.name;
    if (!template_args_.empty()) {
      entry = fmt::format("\"{}<{}>\"", entry, fmt::join(template_args_, ", "));
    }
    const std::string block = block_.empty() ? "256" : block_;
    open(fmt::format("  - {{entry: {}, grid: [cdiv({}, {})], block: [{}]{}}}", entry, dims_[0],
                     block, block, source_.has_dynamic_smem ? ", smem_bytes: 4 * " + block : ""));
  }

  void add_reference() {
    note("What computes the expected outputs: operations, such as add: {a: x, b: y, out: z}, or a");
    line("# plain kernel of your own, in a file beside this one.");
    std::vector<std::string> names;
    for (const Arg& arg : args_) {
      if (arg.dtype || arg.param->is_pointer) names.push_back(arg.name);
    }
    line("reference:");
    open("  - kernel:");
    open(fmt::format("      source: {}_reference.cu", name_));
    open("      entry: reference");
    open(fmt::format("      args: [{}]", fmt::join(names, ", ")));
    open("      grid: [1]");
    open("      block: [256]");
  }

  std::string bytes() const {
    std::int64_t bytes = 0;
    for (const Arg& arg : args_) {
      if (arg.param->is_pointer) bytes += size_bytes(arg.dtype.value_or(DType::f32));
    }
    return fmt::format("{} * {}", bytes, dims_[0]);
  }

  const CudaSource& source_;
  const CudaSource::Kernel& kernel_;
  const std::string name_;
  std::string text_;
  std::vector<Arg> args_;
  std::vector<std::string> dims_, template_args_, names_;
  std::vector<std::pair<std::string, std::string>> params_;  // each with its values
  std::string block_;  // the parameter that looks like the size of a block
};

}  // namespace

std::string draft_contract(const std::filesystem::path& path) {
  const std::string name = path.stem().string();
  if (!is_identifier(name) || is_reserved(name)) {
    throw UsageError(
        "{}: expected a file named by letters, digits and underscores, as its kernel is",
        path.string());
  }
  const CudaSource source = read_cuda_source(path);
  return Draft(source, choose(source, path), name).text();
}

}  // namespace assay
