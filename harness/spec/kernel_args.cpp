#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/find_named.h"
#include "base/text.h"
#include "spec/kernel_parts.h"
#include "spec/keys.h"
#include "spec/vocabulary.h"

namespace assay {
namespace {

Role read_role(const YamlNode& node) {
  return row_of(kRoles, "role", node.one_of("a role", names_of(kRoles))).id;
}

/// `zero`, `{zero: N}` or `{copy: x}`.
void read_init(const YamlNode& node, const Symbols& symbols, BufferSpec& buffer) {
  if (is_filled(buffer.role)) {
    node.fail("expected init on outputs and scratch only; an input has fill");
  }
  if (buffer.role == Role::prepared) {
    node.fail("expected init on outputs and scratch only; what is prepared has `prepare`");
  }
  if (node.kind() != YamlNode::Kind::map) {
    node.one_of("an init", {"zero"});
    buffer.zeroed = true;
    return;
  }
  const YamlMap map(node, kInitKeys);
  const YamlNode* const zero = map.find("zero");
  const YamlNode* const copy = map.find("copy");
  if ((zero != nullptr) == (copy != nullptr)) node.fail("expected one of zero and copy");
  buffer.zeroed = zero != nullptr;
  if (zero) buffer.zeroed_elements = read_expr(*zero, symbols);
  if (copy) buffer.copy_of = copy->identifier("the name of an input");
}

/// `{first: N, sorted: true}`, or `{sum: true}`.
CheckSpec read_check(const YamlNode& node, const Symbols& symbols) {
  const YamlMap map(node, kCheckKeys);
  CheckSpec check;
  map.read("first", check.first, read_expr, symbols);
  map.read("sorted", check.sorted, &YamlNode::boolean, "sorted");
  map.read("sum", check.sum, &YamlNode::boolean, "sum");
  if (check.sum && check.sorted) node.fail("expected one of sum and sorted");
  return check;
}

/// A filter, or `{filter: linear, address: wrap, normalized: true, channels: 4}`.
TextureSpec read_texture(const YamlNode& node, const BufferSpec& buffer) {
  const bool detailed = node.kind() == YamlNode::Kind::map;
  if (detailed) YamlMap(node, kTextureKeys);
  const YamlNode* const filter = detailed ? node.find("filter") : &node;
  const YamlNode* const address = node.find("address");
  const YamlNode* const normalized = node.find("normalized");
  const YamlNode* const channels = node.find("channels");
  TextureSpec texture;
  if (filter) texture.linear = filter->one_of("a filter", kTextureFilters) == "linear";
  if (address) {
    texture.address =
        row_of(kAddressModes, "address", address->one_of("an address", names_of(kAddressModes))).id;
  }
  if (normalized) texture.normalized = normalized->boolean("normalized");
  if (channels) texture.channels = std::stoi(channels->one_of("channels", kTextureChannels));

  if (buffer.role != Role::in) node.fail("expected texture on inputs only");
  const bool small_float = is_floating(buffer.dtype) && size_bytes(buffer.dtype) == 1;
  if (buffer.dtype == DType::bf16 || small_float || size_bytes(buffer.dtype) > 4) {
    node.fail(
        "expected a dtype that textures have, f16, f32 or an integer of at most 32 bits, found {}",
        to_text(buffer.dtype));
  }
  const std::size_t rank = buffer.shape.size() - (texture.channels > 1 ? 1 : 0);
  if (rank < 1 || rank > 2) {
    node.fail("expected a texture of 1 or 2 dimensions{}, found {}",
              texture.channels > 1 ? " beside the channels" : "", rank);
  }
  if (rank == 1 && (texture.linear || address || normalized)) {
    node.fail("expected 2 dimensions: a texture of one is read by its index alone");
  }
  if (texture.linear && !is_floating(buffer.dtype)) {
    filter->fail("expected the filter point: {} is not interpolated", to_text(buffer.dtype));
  }
  const bool repeats =
      texture.address == AddressMode::wrap || texture.address == AddressMode::mirror;
  if (repeats && !texture.normalized) {
    address->fail("expected clamp or border: the others need `normalized: true`");
  }
  return texture;
}

BufferSpec read_buffer(const YamlNode& node, const Symbols& symbols) {
  const YamlMap map(node, kBufferKeys);
  BufferSpec buffer;
  buffer.dtype = read_dtype(map["dtype"]);
  buffer.shape = read_exprs(map["shape"], symbols, 1, 8);
  buffer.role = read_role(map["role"]);
  if (buffer.dtype == DType::e2m1 && is_output(buffer.role)) {
    node.fail("expected an output of whole bytes, found e2m1, of which two share one");
  }
  const YamlNode* fill = map.find("fill");
  if (is_filled(buffer.role)) {
    if (!fill && (!is_floating(buffer.dtype) || buffer.dtype == DType::ue8m0)) {
      node.fail(
          "expected the key \"fill\" for an input of {}, found none; the default is normal, which "
          "makes floating values",
          to_text(buffer.dtype));
    }
  } else if (fill) {
    fill->fail("expected fill on inputs only; `init: zero` clears an output before each launch");
  }
  if (const YamlNode* init = map.find("init")) read_init(*init, symbols, buffer);
  if (const YamlNode* symbol = map.find("symbol")) {
    if (buffer.role != Role::in) symbol->fail("expected symbol on inputs only");
    constexpr std::string_view kWhat =
        "the name of a __constant__ or __device__ variable, such as filter or ns::filter";
    buffer.symbol = symbol->text(kWhat);
    if (!is_qualified_name(buffer.symbol)) symbol->fail_expected(kWhat);
  }
  if (const YamlNode* texture = map.find("texture")) {
    if (!buffer.symbol.empty()) texture->fail("expected one of symbol and texture");
    buffer.texture = read_texture(*texture, buffer);
  }
  if (const YamlNode* check = map.find("check")) {
    if (!is_output(buffer.role)) check->fail("expected check on outputs only");
    buffer.check = read_check(*check, symbols);
  }
  return buffer;
}

/// A scalar that depends on nothing can be refused at once.
template <typename Eval>
void check_constant(const YamlNode& node, const ScalarSpec& scalar, Eval eval) {
  try {
    const auto value = (scalar.value.expr.*eval)({});
    if (!holds(scalar.dtype, value)) {
      node.fail("expected what {} can hold, {}, found {}", to_text(scalar.dtype),
                range_text(scalar.dtype), value);
    }
  } catch (const EvalError& error) {
    node.fail(error.what());
  }
}

TensorMapSpec read_tensor_map(const YamlNode& node, const Symbols& symbols) {
  const YamlMap arg(node, kTensorMapArgKeys);
  const YamlMap map(arg["tensor_map"], kTensorMapKeys);
  TensorMapSpec spec;
  spec.of = map["of"].text("the name of a buffer");
  spec.box = read_exprs(map["box"], symbols, 1, 5);  // cuTensorMapEncodeTiled takes 5 dimensions
  if (const YamlNode* swizzle = map.find("swizzle_bytes")) {
    const std::string& bytes = swizzle->one_of("swizzle_bytes", kSwizzleBytes);
    spec.swizzle_bytes = std::stoi(bytes);
  }
  map.read("when", spec.when, read_expr, symbols);
  return spec;
}

/// `[x, N, {dtype: f32, value: 2}]`. The arguments that it names stand ahead of it, in `args`.
StructSpec read_struct(const YamlNode& node, const Symbols& symbols,
                       const std::vector<ArgSpec>& args) {
  const YamlMap arg(node, kStructKeys);
  std::vector<std::string> names = names_of(args);
  StructSpec spec;
  for (const YamlPtr& item : arg["struct"].list("a list of members")) {
    if (item->kind() == YamlNode::Kind::map) {
      spec.members.push_back({"", read_scalar(YamlMap(*item, kMemberKeys), symbols)});
      continue;
    }
    const std::string& name = item->text("the name of an argument");
    const auto* found = find_named(args, name);
    if (found == nullptr) {
      item->fail("expected the name of an argument ahead of the struct, found \"{}\"{}", name,
                 suggestion(name, names));
    }
    const auto* buffer = std::get_if<BufferSpec>(&found->form);
    if (buffer && !buffer->symbol.empty()) {
      item->fail("expected an argument that is passed, found \"{}\", which is copied to {}", name,
                 buffer->symbol);
    }
    spec.members.push_back({name});
  }
  return spec;
}

/// Whether an argument is the name of a size, a parameter or a let, which is passed as an i32.
bool is_number(const YamlNode& node, const KernelSpec& spec) {
  const std::string& name = node.any_text();
  return std::ranges::count(spec.dims, name) > 0 || find_named(spec.params, name) != nullptr ||
         find_named(spec.lets, name) != nullptr;
}

/// Every tensor_map is of a buffer of the kernel, with a box of the buffer's rank.
void check_tensor_maps(const std::vector<YamlPtr>& nodes, const std::vector<ArgSpec>& args) {
  std::vector<std::string> buffers;
  for (const ArgSpec& arg : args) {
    if (std::holds_alternative<BufferSpec>(arg.form)) buffers.push_back(arg.name);
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto* map = std::get_if<TensorMapSpec>(&args[i].form);
    if (!map) continue;
    const YamlNode& node = *nodes[i]->find("tensor_map");
    const auto* of = find_named(args, map->of);
    if (of == nullptr || !std::holds_alternative<BufferSpec>(of->form)) {
      node.find("of")->fail("expected the name of a buffer, found \"{}\"{}", map->of,
                            suggestion(map->of, buffers));
    }
    const std::size_t rank = std::get<BufferSpec>(of->form).shape.size();
    if (map->box.size() != rank) {
      node.find("box")->fail("expected {} expressions, one per dimension of \"{}\", found {}", rank,
                             map->of, map->box.size());
    }
  }
}

/// Every `init: {copy: x}` is of an input that can be as large.
void check_copies(const std::vector<YamlPtr>& nodes, const std::vector<ArgSpec>& args) {
  std::vector<std::string> inputs;
  for (const ArgSpec& arg : args) {
    const auto* input = std::get_if<BufferSpec>(&arg.form);
    if (input && input->role == Role::in) inputs.push_back(arg.name);
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto* buffer = std::get_if<BufferSpec>(&args[i].form);
    if (!buffer || buffer->copy_of.empty()) continue;
    const YamlNode& node = *nodes[i]->find("init")->find("copy");
    if (std::ranges::count(inputs, buffer->copy_of) == 0) {
      node.fail("expected the name of an input, found \"{}\"{}", buffer->copy_of,
                suggestion(buffer->copy_of, inputs));
    }
    const DType found = std::get<BufferSpec>(find_named(args, buffer->copy_of)->form).dtype;
    if (found != buffer->dtype) {
      node.fail("expected an input of {}, found one of {}", to_text(buffer->dtype), to_text(found));
    }
  }
}

}  // namespace

std::vector<ExprSpec> read_exprs(const YamlNode& node, const Symbols& symbols, std::size_t least,
                                 std::size_t most) {
  const std::string what = fmt::format("a list of {} to {} expressions", least, most);
  if (least == 0 && node.is_empty_list()) return {};
  const auto& items = node.list(what);
  if (items.size() < least || items.size() > most) {
    node.fail("expected {}, found {}", what, items.size());
  }
  std::vector<ExprSpec> exprs;
  for (const YamlPtr& item : items) exprs.push_back(read_expr(*item, symbols));
  return exprs;
}

DType read_dtype(const YamlNode& node) {
  return *parse_dtype(node.one_of("a dtype", dtype_names()));
}

ScalarSpec read_scalar(const YamlMap& map, const Symbols& symbols) {
  const DType dtype = read_dtype(map["dtype"]);
  const YamlNode& value = map["value"];
  const bool real = is_floating(dtype);
  ScalarSpec scalar{dtype, real ? read_real_expr(value, symbols) : read_expr(value, symbols)};
  if (!scalar.value.expr.slots().empty()) return scalar;
  real ? check_constant(value, scalar, &Expr::eval_real)
       : check_constant(value, scalar, &Expr::eval);
  return scalar;
}

std::vector<ArgSpec> read_args(const YamlNode& node, const KernelSpec& spec) {
  const Symbols& symbols = spec.symbols;
  const auto& items = node.list("a list of arguments");
  std::vector<ArgSpec> args;
  std::set<std::string> names;
  bool has_output = false;
  for (const YamlPtr& item : items) {
    const bool is_short = is_number(*item, spec);
    if (!is_short) item->map("an argument: a map with name, dtype, ..");
    const YamlNode* name = is_short ? item.get() : item->find("name");
    if (!name) item->fail("expected the key \"name\" in an argument, found none");
    ArgSpec arg{name->identifier("the name of an argument"), {}, item->where()};
    if (!names.insert(arg.name).second) name->fail("duplicate argument \"{}\"", arg.name);
    if (is_short) {
      arg.form = ScalarSpec{DType::i32, read_expr(*item, symbols)};
    } else if (item->find("tensor_map")) {
      arg.form = read_tensor_map(*item, symbols);
    } else if (item->find("struct")) {
      arg.form = read_struct(*item, symbols, args);
    } else if (item->find("value")) {
      arg.form = read_scalar(YamlMap(*item, kScalarKeys), symbols);
    } else {
      arg.form = read_buffer(*item, symbols);
      has_output = has_output || is_output(std::get<BufferSpec>(arg.form).role);
    }
    args.push_back(std::move(arg));
  }
  if (!has_output) node.fail("expected a buffer with role out, found none");
  check_tensor_maps(items, args);
  check_copies(items, args);
  return args;
}

}  // namespace assay
