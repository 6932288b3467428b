#include <algorithm>
#include <map>
#include <set>

#include "base/file.h"
#include "base/find_named.h"
#include "base/hash.h"
#include "base/text.h"
#include "spec/choices.h"
#include "spec/kernel_parts.h"
#include "spec/keys.h"
#include "spec/reference_tensors.h"
#include "spec/vocabulary.h"

namespace assay {
namespace {

// What is read into memory once to be hashed, and once more for each buffer that it fills.
constexpr std::size_t kMaxInputBytes = std::size_t{1} << 30;

/// `normal`, or `{name: uniform, low: 0, high: 7}`, a map with the key `name`.
FillSpec read_generator(const YamlNode& node, DType dtype, const Symbols& symbols) {
  const bool has_arguments = node.kind() == YamlNode::Kind::map;
  const YamlNode* name = &node;
  if (has_arguments) name = node.find("name");
  const auto& generator =
      row_of(generators(), "generator", name->one_of("a generator", names_of(generators())));
  // Its numbers are powers of two.
  const bool wrong_type =
      (dtype == DType::ue8m0 && generator.id == Generator::normal) ||
      (generator.makes == GeneratorRow::Makes::floating && !is_floating(dtype)) ||
      (generator.makes == GeneratorRow::Makes::integer && is_floating(dtype));
  if (wrong_type) {
    name->fail("expected a generator of {} values, found \"{}\"", to_text(dtype), generator.name);
  }
  FillSpec fill{std::string(generator.name), {}};
  if (has_arguments) YamlMap(node, keys_of(generator));
  std::vector<std::string> missing;
  for (const auto& argument : generator.arguments) {
    const bool real = argument.numbers == GeneratorRow::Numbers::real ||
                      (argument.numbers == GeneratorRow::Numbers::as_dtype && is_floating(dtype));
    if (const YamlNode* given = node.find(argument.name)) {
      fill.arguments[argument.name] =
          real ? read_real_expr(*given, symbols) : read_expr(*given, symbols);
    } else if (!argument.value) {
      missing.push_back(argument.name);
    } else if (!argument.late) {
      fill.arguments[argument.name] = {Expr::constant(*argument.value), node.where()};
    }
  }
  if (!missing.empty()) {
    node.fail("expected {{name: {0}, {1}: ..}}, found \"{0}\" without arguments", generator.name,
              fmt::join(missing, ": .., "));
  }
  return fill;
}

FillSpec read_fill_file(const YamlNode& node, const KernelSpec& spec) {
  FillSpec fill{std::string(kFillFile), {}};
  fill.file = read_data_file(node, spec);
  return fill;
}

/// `{choices: {file: choices.txt, of: E}}`
FillSpec read_fill_choices(const YamlNode& node, const BufferSpec& buffer, const KernelSpec& spec) {
  const YamlMap map(node, kChoicesKeys);
  if (buffer.dtype != DType::i32 || buffer.shape.size() != 2) {
    node.fail("expected choices in an input of i32 with 2 dimensions, found {} with {}",
              to_text(buffer.dtype), buffer.shape.size());
  }
  FillSpec fill = read_fill_file(map["file"], spec);
  fill.generator = kFillChoices;
  fill.arguments["of"] = read_expr(map["of"], spec.symbols);
  const std::filesystem::path& path = fill.file->path;
  try {
    read_choices(load_source(path));  // mistakes show before anything runs
  } catch (const SpecError&) {
    // A mistake is shown with its line, in logs that people show to each other. A contract of
    // somebody else must not put there a file that it was not given.
    namespace fs = std::filesystem;
    const fs::path folder = folder_at(spec, map["file"].where()) / ".";
    if (is_inside(fs::canonical(path), fs::canonical(folder))) throw;
    map["file"].fail(
        "expected rows of numbers, found none in {}; put it beside the contract to see what is "
        "wrong",
        path.generic_string());
  }
  return fill;
}

/// The input that another one, called `name`, is made of.
const ArgSpec& find_source(const YamlNode& node, const std::string& name, const KernelSpec& spec) {
  const std::string& wanted = node.text("the name of an input");
  std::vector<std::string> inputs;
  for (const ArgSpec& arg : spec.args) {
    const auto* buffer = std::get_if<BufferSpec>(&arg.form);
    if (!buffer || !is_filled(buffer->role) || arg.name == name) continue;
    if (arg.name == wanted) return arg;
    inputs.push_back(arg.name);
  }
  node.fail("expected the name of another input, found \"{}\"{}", wanted,
            suggestion(wanted, inputs));
}

/// What is said beside the input that another one is made of.
void read_derivation_keys(const YamlMap& map, const Symbols& symbols, FillSpec& fill) {
  if (const YamlNode* index = map.find("index"))
    fill.arguments["index"] = read_expr(*index, symbols);
  if (const YamlNode* block = map.find("block")) {
    const std::vector<ExprSpec> sides = read_exprs(*block, symbols, 2, 2);
    fill.arguments["block_rows"] = sides[0];
    fill.arguments["block_columns"] = sides[1];
  }
  for (const char* flag : {"powers_of_two", "transpose"}) {
    const YamlNode* given = map.find(flag);
    if (given && given->boolean(flag)) fill.arguments[flag] = {Expr::constant(1), given->where()};
  }
}

/// `quantise`: small floating numbers of larger ones.
void check_quantised(const YamlNode& of, const BufferSpec& buffer, const ArgSpec& source) {
  const auto& other = std::get<BufferSpec>(source.form);
  const auto is_small = [](DType dtype) {
    return dtype == DType::e4m3 || dtype == DType::e5m2 || dtype == DType::e2m1;
  };
  if (!is_small(buffer.dtype)) {
    of.fail("expected quantise in an input of e4m3, e5m2 or e2m1, found {}", to_text(buffer.dtype));
  }
  if (!is_floating(other.dtype) || size_bytes(other.dtype) < 2) {
    of.fail("expected an input of bf16, f16, f32 or f64, found \"{}\" of {}", source.name,
            to_text(other.dtype));
  }
  if (other.shape.size() < 2 || other.shape.size() != buffer.shape.size()) {
    of.fail("expected two inputs of the same 2 dimensions or more, found {} and \"{}\" with {}",
            buffer.shape.size(), source.name, other.shape.size());
  }
}

/// `scales`: of an input that is made by `quantise`.
void check_scales(const YamlNode& of, const BufferSpec& buffer, const ArgSpec& source) {
  const auto& other = std::get<BufferSpec>(source.form);
  if (buffer.dtype != DType::f32 && buffer.dtype != DType::ue8m0) {
    of.fail("expected scales in an input of f32 or ue8m0, found {}", to_text(buffer.dtype));
  }
  if (other.fill.generator != name_of(derivations(), Derivation::quantise)) {
    of.fail("expected an input that is made by quantise and stands before its scales, found \"{}\"",
            source.name);
  }
  if (buffer.dtype == DType::ue8m0 && !other.fill.arguments.contains("powers_of_two")) {
    of.fail(
        "expected scales of f32, or `powers_of_two: true` in what makes \"{}\": ue8m0 holds powers "
        "of two",
        source.name);
  }
  if (other.shape.size() != buffer.shape.size()) {
    of.fail("expected scales of {} dimensions like \"{}\", found {}", other.shape.size(),
            source.name, buffer.shape.size());
  }
}

/// `{starts: ids}` or `{column: {of: X, index: 0}}`.
FillSpec read_derivation(const YamlEntry& entry, const std::string& name, const BufferSpec& buffer,
                         const KernelSpec& spec) {
  const DerivationRow& row = row_of(derivations(), "derivation", entry.key);
  FillSpec fill{std::string(row.name), {}};
  const YamlNode* of = entry.value.get();
  if (!row.required.empty() || of->kind() == YamlNode::Kind::map) {
    const YamlMap map(*entry.value, keys_of(row));
    of = &map["of"];
    read_derivation_keys(map, spec.symbols, fill);
  }
  const ArgSpec& source = find_source(*of, name, spec);
  const auto& other = std::get<BufferSpec>(source.form);
  fill.of = source.name;
  if (row.id == Derivation::quantise || row.id == Derivation::scales) {
    (row.id == Derivation::quantise ? check_quantised : check_scales)(*of, buffer, source);
    return fill;
  }
  if (row.copies && other.dtype != buffer.dtype) {
    of->fail("expected an input of {}, found \"{}\" of {}", to_text(buffer.dtype), source.name,
             to_text(other.dtype));
  }
  if (!row.copies && is_floating(buffer.dtype)) {
    throw SpecError(entry.where, "expected what makes values of {}, found \"{}\"",
                    to_text(buffer.dtype), row.name);
  }
  if (row.of_integers && is_floating(other.dtype)) {
    of->fail("expected an input of integers, found \"{}\" of {}", source.name,
             to_text(other.dtype));
  }
  if (row.rank != 0 && other.shape.size() != row.rank) {
    of->fail("expected an input of {} dimensions, found \"{}\" with {}", row.rank, source.name,
             other.shape.size());
  }
  return fill;
}

ReferenceKernelSpec::Arg read_fill_arg(const YamlNode& node, const std::string& name,
                                       const KernelSpec& spec, const FixedExprs& exprs) {
  ReferenceKernelSpec::Arg arg;
  arg.name = node.text("the name of an argument");
  const auto* given = find_named(spec.args, arg.name);
  if (given == nullptr) {
    if (arg.name != kSeed) {
      std::vector<std::string> names = names_of(spec.args);
      names.insert(names.begin(), std::string(kSeed));
      node.fail("expected an input, a scalar or seed, found \"{}\"{}", arg.name,
                suggestion(arg.name, names));
    }
    arg.seed = true;
    arg.dtype = DType::u64;
    return arg;
  }
  const auto* scalar = std::get_if<ScalarSpec>(&given->form);
  const auto* buffer = std::get_if<BufferSpec>(&given->form);
  if (scalar) {
    exprs.check(node.where(), arg.name, scalar->value.expr);
  } else if (!buffer || !is_filled(buffer->role)) {
    node.fail("expected an input, a scalar or seed, found \"{}\"", arg.name);
  }
  arg.dtype = scalar ? scalar->dtype : buffer->dtype;
  if (arg.name == name) arg.role = Role::out;
  return arg;
}

FillSpec read_fill_kernel(const YamlNode& node, const std::string& name, const KernelSpec& spec) {
  const FixedExprs exprs(spec, "such input");
  const YamlMap map(node, kFillKernelKeys);
  FillSpec fill{std::string(kFillKernel), {}};
  ReferenceKernelSpec& kernel = fill.kernel.emplace();
  std::set<std::string> seen;
  for (const YamlPtr& item : map["args"].list("a list of arguments")) {
    kernel.args.push_back(read_fill_arg(*item, name, spec, exprs));
    if (!seen.insert(kernel.args.back().name).second) {
      item->fail("duplicate argument \"{}\"", kernel.args.back().name);
    }
  }
  if (!seen.contains(name)) {
    map["args"].fail("expected \"{}\", which it fills, among the arguments", name);
  }
  read_source_and_size(map, spec, exprs, kernel);
  return fill;
}

FillSpec read_fill(const YamlNode& node, const std::string& name, const BufferSpec& buffer,
                   const KernelSpec& spec) {
  if (node.kind() != YamlNode::Kind::map || node.find("name")) {
    return read_generator(node, buffer.dtype, spec.symbols);
  }
  std::vector<std::string> known = names_of(derivations());
  for (const std::string_view word : {kFillKernel, kFillFile, kFillChoices}) {
    known.emplace_back(word);
  }
  const auto& entries = node.map("a fill");
  const bool is_known = std::ranges::any_of(
      entries, [&](const YamlEntry& entry) { return std::ranges::count(known, entry.key) > 0; });
  if (!is_known) {
    node.fail("expected the key \"name\" in a fill, or one of {}, found none",
              fmt::join(known, ", "));
  }
  if (entries.size() != 1) {
    node.fail("expected one way to fill an input, found {} keys", entries.size());
  }
  const YamlEntry& entry = entries.front();
  if (entry.key == kFillFile) return read_fill_file(*entry.value, spec);
  if (entry.key == kFillChoices) return read_fill_choices(*entry.value, buffer, spec);
  if (entry.key == kFillKernel) return read_fill_kernel(*entry.value, name, spec);
  return read_derivation(entry, name, buffer, spec);
}

std::vector<std::string> sources_of(const std::string& name, const FillSpec& fill) {
  if (!fill.of.empty()) return {fill.of};
  std::vector<std::string> names;
  if (!fill.kernel) return names;
  for (const auto& arg : fill.kernel->args) {
    if (arg.name != name) names.push_back(arg.name);
  }
  return names;
}

/// Refuses an input that is made of itself.
void check_order(const KernelSpec& spec) {
  std::map<std::string, const FillSpec*> fills;
  for (const ArgSpec& arg : spec.args) {
    const auto* buffer = std::get_if<BufferSpec>(&arg.form);
    if (buffer && is_filled(buffer->role)) fills[arg.name] = &buffer->fill;
  }
  std::set<std::string> ready;
  for (std::size_t before = fills.size() + 1; before != ready.size();) {
    before = ready.size();
    for (const auto& [name, fill] : fills) {
      const std::vector<std::string> sources = sources_of(name, *fill);
      const bool can_be_made = std::ranges::all_of(sources, [&](const auto& source) {
        return !fills.contains(source) || ready.contains(source);
      });
      if (can_be_made) ready.insert(name);
    }
  }
  for (const auto& [name, fill] : fills) {
    if (ready.contains(name)) continue;
    throw SpecError(fill->where,
                    "expected what can be made before \"{}\", found what is made of it", name);
  }
}

}  // namespace

DataFileSpec read_data_file(const YamlNode& node, const KernelSpec& spec) {
  DataFileSpec file;
  file.path = (folder_at(spec, node.where()) / node.text("the path of a file")).lexically_normal();
  file.where = node.where();
  if (!std::filesystem::is_regular_file(file.path)) {
    node.fail_expected("a file, as seen from the folder of this file");
  }
  try {
    const std::string content = read_file(file.path, kMaxInputBytes);
    file.hash = hash_hex(content);
    file.bytes = static_cast<std::int64_t>(content.size());
  } catch (const UsageError& error) {
    node.fail(error.what());
  }
  return file;
}

void read_fills(const YamlNode& args, KernelSpec& spec) {
  const auto& items = args.list("a list of arguments");
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto* buffer = std::get_if<BufferSpec>(&spec.args[i].form);
    const YamlNode* fill = items[i]->find("fill");
    if (!buffer || !fill) continue;
    buffer->fill = read_fill(*fill, spec.args[i].name, *buffer, spec);
    buffer->fill.where = fill->where();
  }
  check_order(spec);
}

std::vector<const ReferenceKernelSpec*> own_kernels(const KernelSpec& kernel) {
  std::vector<const ReferenceKernelSpec*> kernels;
  for (const ReferenceSpec& step : kernel.reference) {
    if (step.kernel) kernels.push_back(&*step.kernel);
  }
  for (const ArgSpec& arg : kernel.args) {
    const auto* buffer = std::get_if<BufferSpec>(&arg.form);
    if (buffer && buffer->fill.kernel) kernels.push_back(&*buffer->fill.kernel);
  }
  return kernels;
}

}  // namespace assay
