#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/find_named.h"
#include "base/text.h"
#include "spec/kernel_parts.h"
#include "spec/keys.h"

namespace assay {
namespace {

constexpr const char* kPass = "pass";

const ArgSpec& find_arg(const YamlNode& node, const KernelSpec& spec) {
  const std::string& name = node.text("the name of an argument");
  const auto* found = find_named(spec.args, name);
  if (found != nullptr) return *found;
  std::vector<std::string> names = names_of(spec.args);
  node.fail("expected the name of an argument, found \"{}\"{}", name, suggestion(name, names));
}

/// An argument that a launch passes.
const ArgSpec& find_passed(const YamlNode& node, const KernelSpec& spec) {
  const ArgSpec& arg = find_arg(node, spec);
  if (is_symbol(arg)) {
    node.fail("expected an argument that is passed, found \"{}\", which is copied to {}", arg.name,
              std::get<BufferSpec>(arg.form).symbol);
  }
  return arg;
}

/// The buffers that a launch reaches by an argument: itself, what a descriptor is of, or what a
/// struct holds.
std::vector<const ArgSpec*> reached(const ArgSpec& arg, const KernelSpec& spec) {
  if (std::holds_alternative<BufferSpec>(arg.form)) return {&arg};
  std::vector<const ArgSpec*> found;
  const auto* map = std::get_if<TensorMapSpec>(&arg.form);
  for (const ArgSpec& each : spec.args) {
    if (!(map && map->of == each.name) && !has_member(arg, each.name)) continue;
    const auto inner = reached(each, spec);
    found.insert(found.end(), inner.begin(), inner.end());
  }
  return found;
}

/// `[x, a, b]`: buffers that passes take in turn, all of the same dtype. All but the first of three
/// are written.
std::vector<std::string> read_turns(const YamlNode& node, std::size_t count,
                                    const KernelSpec& spec) {
  const auto& items = node.list("a list of buffers");
  if (items.size() != count) node.fail("expected {} buffers, found {}", count, items.size());
  std::vector<std::string> names;
  std::optional<DType> dtype;
  for (const YamlPtr& item : items) {
    const ArgSpec& arg = find_passed(*item, spec);
    const auto* buffer = std::get_if<BufferSpec>(&arg.form);
    if (!buffer) item->fail("expected a buffer, found \"{}\"", arg.name);
    if (dtype && *dtype != buffer->dtype) {
      item->fail("expected a buffer of {} like the one before, found {}", to_text(*dtype),
                 to_text(buffer->dtype));
    }
    const bool is_input = buffer->role == Role::in;
    if ((is_input || buffer->role == Role::prepared) && names.size() + 2 >= count) {
      item->fail("expected a buffer that a pass may write, found {} \"{}\"",
                 is_input ? "the input" : "what is prepared,", arg.name);
    }
    dtype = buffer->dtype;
    names.push_back(arg.name);
  }
  return names;
}

/// `A`, `{to: [a, b]}`, `{from: [x, a, b]}` or `{dtype: i32, value: pass}`.
LaunchArgSpec read_launch_arg(const YamlNode& node, const KernelSpec& spec,
                              const Symbols& symbols) {
  if (node.kind() != YamlNode::Kind::map) return {{find_passed(node, spec).name}};
  if (node.find("to")) return {read_turns(*YamlMap(node, kToKeys).find("to"), 2, spec)};
  if (node.find("from")) return {read_turns(*YamlMap(node, kFromKeys).find("from"), 3, spec)};
  return {{}, read_scalar(YamlMap(node, kLaunchScalarKeys), symbols)};
}

/// What is prepared is not in the time, so an op says which of its inputs may be.
void check_may_prepare(const YamlNode& node, const std::string& input, const KernelSpec& spec) {
  const auto& may = spec.may_prepare;
  if (spec.op_path.empty() || std::ranges::count(may, input) > 0) return;
  node.fail("expected an input that the op lets be prepared ({}), found \"{}\"",
            may.empty() ? "none" : fmt::format("{}", fmt::join(may, ", ")), input);
}

LaunchSpec read_launch(const YamlNode& node, const MapKeys& keys, const KernelSpec& spec,
                       const Symbols& symbols, const Location& args_where) {
  LaunchSpec launch;
  // Before the keys: YAML takes what is behind the comma of an unquoted `a<b, c>` for one.
  const YamlNode* entry = node.find("entry");
  launch.entry = entry ? read_entry(*entry, spec, false) : spec.yaml_path.stem().string();
  const YamlMap map(node, keys);
  map.read("when", launch.when, read_expr, symbols);
  map.read("early", launch.early, read_expr, symbols);
  launch.grid = read_exprs(map["grid"], symbols, 1, 3);
  launch.block = read_exprs(map["block"], symbols, 1, 3);
  map.read("cluster", launch.cluster, read_exprs, symbols, 0, 3);
  map.read("smem_bytes", launch.smem_bytes, read_expr, symbols);
  map.read("carveout", launch.carveout, read_expr, symbols);
  map.read("cooperative", launch.cooperative, &YamlNode::boolean, "cooperative");
  launch.args_where = args_where;
  if (const YamlNode* args = map.find("args")) {
    launch.args.emplace();
    launch.args_where = args->where();
    for (const YamlPtr& item : args->list("a list of arguments")) {
      launch.args->push_back(read_launch_arg(*item, spec, symbols));
    }
  }
  return launch;
}

}  // namespace

std::vector<LaunchSpec> read_launches(const YamlNode& node, const KernelSpec& spec,
                                      const Location& args_where) {
  std::vector<LaunchSpec> launches;
  int group = 0;
  for (const YamlPtr& item : node.list("a list of launches")) {
    Symbols symbols = spec.symbols;
    std::optional<ExprSpec> repeat;
    if (const YamlNode* passes = item->find("repeat")) {
      repeat = read_expr(*passes, symbols);
      if (symbols.find(kPass) >= 0) {
        passes->fail(
            "expected no dim, trait, parameter, word or let called \"pass\", which is the number "
            "of a pass, found one");
      }
      symbols.add(kPass);
    }
    const auto add = [&](const YamlNode& each, const MapKeys& keys) {
      LaunchSpec& launch =
          launches.emplace_back(read_launch(each, keys, spec, symbols, args_where));
      launch.repeat = repeat;
      launch.group = group;
    };
    if (item->find("launches")) {
      const YamlMap map(*item, kGroupKeys);
      for (const YamlPtr& inner : map["launches"].list("a list of launches")) {
        add(*inner, kGroupLaunchKeys);
      }
    } else {
      add(*item, kLaunchKeys);
    }
    ++group;
  }
  return launches;
}

std::vector<LaunchSpec> read_prepare(const YamlNode& node, const KernelSpec& spec) {
  std::vector<LaunchSpec> launches;
  for (const YamlPtr& item : node.list("a list of launches")) {
    launches.push_back(read_launch(*item, kPrepareKeys, spec, spec.symbols, {}));
    LaunchSpec& launch = launches.back();
    launch.group = static_cast<int>(launches.size());
    for (std::size_t i = 0; i < launch.args->size(); ++i) {
      const YamlNode& at = *item->find("args")->list("a list of arguments")[i];
      const std::vector<std::string>& names = launch.args->at(i).names;
      if (names.size() > 1) at.fail_expected("one argument: what prepares makes no passes");
      if (names.empty()) continue;
      for (const ArgSpec* arg : reached(find_arg(at, spec), spec)) {
        const Role role = std::get<BufferSpec>(arg->form).role;
        if (role == Role::in) check_may_prepare(at, arg->name, spec);
        if (role == Role::in || role == Role::prepared) continue;
        at.fail("expected an input, a scalar or what is prepared, found \"{}\", whose role is {}",
                arg->name, name_of(kRoles, role));
      }
    }
  }
  return launches;
}

void check_prepared(const YamlNode& args, const KernelSpec& spec) {
  for (std::size_t i = 0; i < spec.args.size(); ++i) {
    const auto* buffer = std::get_if<BufferSpec>(&spec.args[i].form);
    if (!buffer || buffer->role != Role::prepared) continue;
    const std::string& name = spec.args[i].name;
    const auto is_given = [&](const LaunchArgSpec& arg) {
      return !arg.names.empty() &&
             (arg.names[0] == name || std::ranges::any_of(spec.args, [&](const ArgSpec& each) {
                return each.name == arg.names[0] && has_member(each, name);
              }));
    };
    const bool is_passed = std::ranges::any_of(spec.prepare, [&](const LaunchSpec& launch) {
      return std::ranges::any_of(*launch.args, is_given);
    });
    if (is_passed) continue;
    args.list("a list of arguments")[i]->fail(
        "expected a launch of `prepare` that gets \"{}\" and writes it, found none", name);
  }
}

}  // namespace assay
