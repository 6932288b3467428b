#include "pack/kernel_json.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/find_named.h"
#include "base/json.h"
#include "base/limits.h"
#include "pack/pack.h"

namespace assay {
namespace {

using Json = nlohmann::json;

// Far more than any kernel has; a launch finds room for as many on its stack.
constexpr std::size_t kMostPackArgs = 64, kMostPackLaunches = 64, kMostRank = 8, kMostWords = 4096;
constexpr std::size_t kMostNameBytes = 1024;

Json texts_of(const std::vector<ExprSpec>& exprs) {
  Json texts = Json::array();
  for (const ExprSpec& each : exprs) texts.push_back(each.expr.text());
  return texts;
}

void put(Json& target, const char* key, const std::optional<ExprSpec>& expr) {
  if (expr) target[key] = expr->expr.text();
}

Json scalar_json(const ScalarSpec& scalar) {
  return {{"dtype", to_text(scalar.dtype)}, {"value", scalar.value.expr.text()}};
}

Json arg_json(const ArgSpec& arg) {
  Json json;
  if (const auto* buffer = std::get_if<BufferSpec>(&arg.form)) {
    json = {{"form", "buffer"},
            {"dtype", to_text(buffer->dtype)},
            {"role", name_of(kRoles, buffer->role)},
            {"shape", texts_of(buffer->shape)},
            {"zeroed", buffer->zeroed}};
    put(json, "zeroed_elements", buffer->zeroed_elements);
    if (!buffer->copy_of.empty()) json["copy_of"] = buffer->copy_of;
    if (!buffer->symbol.empty()) json["symbol"] = buffer->symbol;
  } else if (const auto* scalar = std::get_if<ScalarSpec>(&arg.form)) {
    json = scalar_json(*scalar);
    json["form"] = "scalar";
  } else if (const auto* map = std::get_if<TensorMapSpec>(&arg.form)) {
    json = {{"form", "tensor_map"},
            {"of", map->of},
            {"box", texts_of(map->box)},
            {"swizzle_bytes", map->swizzle_bytes}};
    put(json, "when", map->when);
  } else {
    json = {{"form", "struct"}, {"members", Json::array()}};
    for (const StructSpec::Member& member : std::get<StructSpec>(arg.form).members) {
      json["members"].push_back(member.name.empty() ? scalar_json(member.scalar)
                                                    : Json(member.name));
    }
  }
  json["name"] = arg.name;
  return json;
}

Json launch_json(const LaunchSpec& launch) {
  Json json = {{"entry", launch.entry},
               {"grid", texts_of(launch.grid)},
               {"block", texts_of(launch.block)},
               {"cluster", texts_of(launch.cluster)},
               {"cooperative", launch.cooperative},
               {"group", launch.group}};
  put(json, "when", launch.when);
  put(json, "smem_bytes", launch.smem_bytes);
  put(json, "early", launch.early);
  put(json, "carveout", launch.carveout);
  put(json, "repeat", launch.repeat);
  if (launch.args) {
    json["args"] = Json::array();
    for (const LaunchArgSpec& arg : *launch.args) {
      json["args"].push_back(arg.names.empty() ? scalar_json(arg.scalar) : Json(arg.names));
    }
  }
  return json;
}

Json launches_json(const std::vector<LaunchSpec>& launches) {
  Json json = Json::array();
  for (const LaunchSpec& launch : launches) json.push_back(launch_json(launch));
  return json;
}

/// The product that cuBLASLt computes instead: the names of its arguments, and which factors are
/// transposed.
Json product_json(const ReferenceSpec& product) {
  Json json = product.operands;
  for (const auto& [option, value] : product.options) json[option] = std::get<bool>(value);
  return json;
}

/// Reads what kernel_json() wrote. Whatever find_launch_plan takes for granted is checked here.
class KernelReader {
 public:
  explicit KernelReader(const Json& source) : source_(source) {}

  KernelSpec read() {
    spec_.name = name(source_.at("name"));
    spec_.op = name(source_.at("op"));
    read_names();
    spec_.constraints = exprs(source_.at("constraints"), 0, kMaxConstraints);
    for (const Json& arg : list(source_.at("args"), kMostPackArgs)) read_arg(arg);
    spec_.launches = read_launches(source_.at("launches"));
    spec_.prepare = read_launches(source_.at("prepare"));
    if (spec_.launches.empty()) fail("it has no launch");
    if (const auto product = source_.find("product"); product != source_.end()) {
      read_product(*product);
    }
    return std::move(spec_);
  }

 private:
  template <typename... Parts>
  [[noreturn]] void fail(fmt::format_string<Parts...> format, Parts&&... parts) const {
    throw UsageError("kernel {}: {}", spec_.name,
                     fmt::format(format, std::forward<Parts>(parts)...));
  }

  const Json& list(const Json& source, std::size_t most) const {
    if (!source.is_array()) fail("expected a list, found {}", source.type_name());
    if (source.size() > most) fail("a list has {} items, of {}", source.size(), most);
    return source;
  }

  std::string name(const Json& source) const {
    const auto& text = source.get_ref<const std::string&>();
    if (text.empty() || text.size() > kMostNameBytes ||
        std::ranges::any_of(text, [](char c) { return c < ' ' || c > '~'; })) {
      fail("a name has {} bytes, or some that names do not have", text.size());
    }
    return text;
  }

  ExprSpec expr(const Json& source, bool real = false) const {
    const auto& text = source.get_ref<const std::string&>();
    try {
      return {real ? Expr::parse_real(text, symbols_) : Expr::parse(text, symbols_), {}};
    } catch (const ExprError& error) {
      fail("\"{}\": {}", text, error.what());
    }
  }

  std::optional<ExprSpec> find_expr(const Json& source, const char* key) const {
    const auto found = source.find(key);
    if (found == source.end()) return std::nullopt;
    return expr(*found);
  }

  std::vector<ExprSpec> exprs(const Json& source, std::size_t least, std::size_t most) const {
    std::vector<ExprSpec> all;
    for (const Json& each : list(source, most)) all.push_back(expr(each));
    if (all.size() < least) fail("a list has {} items, not {}", all.size(), least);
    return all;
  }

  void read_names() {
    for (const Json& dim : list(source_.at("dims"), kMaxDims)) spec_.dims.push_back(claim(dim));
    if (spec_.dims.empty()) fail("it has no size");
    for (const Json& trait : list(source_.at("traits"), kMaxDims)) {
      spec_.traits.emplace_back(claim(trait.at("name"), true), trait.at("default").get<Number>());
    }
    for (const Json& param : list(source_.at("params"), kMaxParams)) {
      spec_.params.push_back({claim(param), {}, {}});
    }
    for (const Json& word : list(source_.at("words"), kMostWords)) claim(word);
    for (const std::string_view device : kDeviceNames) symbols_.add(std::string(device));
    for (const Json& let : list(source_.at("let"), kMaxLets)) {
      // Before its own name is known, so that an expression reads only what stands ahead of it.
      ExprSpec value = expr(let.at("value"));
      spec_.lets.push_back({claim(let.at("name")), std::move(value)});
    }
    spec_.symbols = symbols_;
  }

  std::string claim(const Json& source, bool real = false) {
    std::string text = name(source);
    if (symbols_.find(text) >= 0) fail("two things are called {}", text);
    symbols_.add(text, real);
    return text;
  }

  ScalarSpec scalar(const Json& source) const {
    const DType dtype = read_word(source.at("dtype"), parse_dtype);
    return {dtype, expr(source.at("value"), is_floating(dtype))};
  }

  const ArgSpec& arg_called(const std::string& text) const {
    const ArgSpec* const arg = find_named(spec_.args, text);
    if (arg == nullptr) fail("it has no argument {}", text);
    return *arg;
  }

  const BufferSpec& buffer_called(const std::string& text) const {
    const auto* buffer = std::get_if<BufferSpec>(&arg_called(text).form);
    if (buffer == nullptr) fail("{} is no buffer", text);
    return *buffer;
  }

  BufferSpec buffer(const Json& source) const {
    BufferSpec spec;
    spec.dtype = read_word(source.at("dtype"), parse_dtype);
    spec.role = row_of(kRoles, "role", source.at("role").get_ref<const std::string&>()).id;
    spec.shape = exprs(source.at("shape"), 1, kMostRank);
    spec.zeroed = source.at("zeroed").get<bool>();
    spec.zeroed_elements = find_expr(source, "zeroed_elements");
    if (const auto copy = source.find("copy_of"); copy != source.end()) {
      spec.copy_of = name(*copy);
      buffer_called(spec.copy_of);
    }
    if (const auto symbol = source.find("symbol"); symbol != source.end()) {
      spec.symbol = name(*symbol);
      if (spec.role != Role::in) fail("{} is a copy of what is no input", spec.symbol);
    }
    return spec;
  }

  TensorMapSpec tensor_map(const Json& source) const {
    TensorMapSpec spec;
    spec.of = name(source.at("of"));
    const std::size_t rank = buffer_called(spec.of).shape.size();
    spec.box = exprs(source.at("box"), rank, std::min<std::size_t>(rank, 5));
    spec.swizzle_bytes = source.at("swizzle_bytes").get<int>();
    spec.when = find_expr(source, "when");
    return spec;
  }

  /// A member is of one struct, so that structs in structs are a tree.
  StructSpec packed(const Json& source) {
    StructSpec spec;
    for (const Json& member : list(source.at("members"), kMostPackArgs)) {
      if (member.is_object()) {
        spec.members.push_back({"", scalar(member)});
        continue;
      }
      const ArgSpec& arg = arg_called(name(member));
      if (!members_.insert(arg.name).second) fail("{} is a member twice", arg.name);
      spec.members.push_back({arg.name});
    }
    return spec;
  }

  void read_arg(const Json& source) {
    ArgSpec arg{name(source.at("name")), {}, {}};
    if (find_named(spec_.args, arg.name)) fail("two arguments are called {}", arg.name);
    const auto& form = source.at("form").get_ref<const std::string&>();
    if (form == "buffer") {
      arg.form = buffer(source);
    } else if (form == "scalar") {
      arg.form = scalar(source);
    } else if (form == "tensor_map") {
      arg.form = tensor_map(source);
    } else if (form == "struct") {
      arg.form = packed(source);
    } else {
      fail("an argument has the form {}", form);
    }
    spec_.args.push_back(std::move(arg));
  }

  LaunchArgSpec launch_arg(const Json& source) const {
    if (source.is_object()) return {{}, scalar(source)};
    LaunchArgSpec arg;
    for (const Json& each : list(source, 3)) {
      arg.names.push_back(arg_called(name(each)).name);
      if (source.size() > 1) buffer_called(arg.names.back());
    }
    if (arg.names.empty()) fail("a launch passes an argument without a name");
    return arg;
  }

  std::vector<LaunchSpec> read_launches(const Json& source) {
    std::vector<LaunchSpec> launches;
    for (const Json& each : list(source, kMostPackLaunches)) {
      LaunchSpec launch;
      launch.repeat = find_expr(each, "repeat");
      if (launch.repeat) symbols_.add("pass");
      launch.entry = name(each.at("entry"));
      launch.when = find_expr(each, "when");
      launch.grid = exprs(each.at("grid"), 1, 3);
      launch.block = exprs(each.at("block"), 1, 3);
      launch.cluster = exprs(each.at("cluster"), 0, 3);
      launch.smem_bytes = find_expr(each, "smem_bytes");
      launch.early = find_expr(each, "early");
      launch.carveout = find_expr(each, "carveout");
      launch.cooperative = each.at("cooperative").get<bool>();
      launch.group = each.at("group").get<int>();
      if (const auto args = each.find("args"); args != each.end()) {
        launch.args.emplace();
        for (const Json& arg : list(*args, kMostPackArgs)) launch.args->push_back(launch_arg(arg));
      }
      symbols_ = spec_.symbols;
      launches.push_back(std::move(launch));
    }
    return launches;
  }

  void read_product(const Json& source) {
    ReferenceSpec product{"gemm", {}, {}, {}};
    for (const char* operand : {"a", "b", "out"})
      product.operands[operand] = name(source.at(operand));
    for (const char* option : {"transpose_a", "transpose_b"}) {
      product.options[option] = source.at(option).get<bool>();
    }
    spec_.reference.push_back(std::move(product));
    spec_.baseline.push_back({std::string(kCublasLt)});
    if (!is_library_product(spec_)) fail("its product is none of matrices that the caller passes");
  }

  const Json& source_;
  KernelSpec spec_;
  Symbols symbols_;
  std::set<std::string> members_;
};

}  // namespace

Json kernel_json(const KernelSpec& kernel) {
  Json json = {{"name", kernel.name},
               {"op", kernel.op},
               {"dims", kernel.dims},
               {"traits", Json::array()},
               {"params", names_of(kernel.params)},
               {"words", Json::array()},
               {"let", Json::array()},
               {"constraints", texts_of(kernel.constraints)},
               {"args", Json::array()},
               {"launches", launches_json(kernel.launches)},
               {"prepare", launches_json(kernel.prepare)}};
  std::set<std::string> named(kernel.dims.begin(), kernel.dims.end());
  for (const auto& [name, otherwise] : kernel.traits) {
    json["traits"].push_back({{"name", name}, {"default", otherwise}});
    named.insert(name);
  }
  for (const ParamSpec& param : kernel.params) named.insert(param.name);
  for (const LetSpec& let : kernel.lets) {
    json["let"].push_back({{"name", let.name}, {"value", let.value.expr.text()}});
    named.insert(let.name);
  }
  for (const std::string_view name : kDeviceNames) named.emplace(name);
  for (int slot = 0; slot < static_cast<int>(kernel.symbols.size()); ++slot) {
    const std::string& name = kernel.symbols.name(slot);
    if (!named.contains(name)) json["words"].push_back(name);
  }
  for (const ArgSpec& arg : kernel.args) json["args"].push_back(arg_json(arg));
  if (is_library_product(kernel)) json["product"] = product_json(kernel.reference[0]);
  return json;
}

KernelSpec read_kernel_json(const Json& source) { return KernelReader(source).read(); }

}  // namespace assay
