#include <algorithm>
#include <map>
#include <set>

#include "base/limits.h"
#include "base/text.h"
#include "spec/kernel_parts.h"
#include "spec/keys.h"
#include "spec/vocabulary.h"

namespace assay {
namespace {

/// What each name of a kernel stands for. A name has one meaning: all expressions share one space
/// of names, and a parameter also becomes a macro in the source.
class Names {
 public:
  void claim(const Location& where, const std::string& name, const std::string& meaning) {
    const auto [owner, added] = owners_.try_emplace(name, meaning);
    if (!added) {
      throw SpecError(where, "expected a new name for {}, found \"{}\", which is {} already",
                      meaning, name, owner->second);
    }
  }

  /// Words may be shared by several parameters.
  void claim_word(const Location& where, const std::string& name) {
    const auto owner = owners_.find(name);
    if (owner == owners_.end() || owner->second != "a word") claim(where, name, "a word");
  }

 private:
  std::map<std::string, std::string> owners_;
};

// The keywords that may be words, for the arguments of a template.
constexpr std::string_view kTypes[] = {"char", "double", "float",   "int",
                                       "long", "short",  "unsigned"};

// A slip of the pen must not make a million values.
constexpr std::size_t kMaxRange = 4096;

/// Checks a key as YamlNode::identifier checks a value.
void check_identifier(const YamlEntry& entry, std::string_view what) {
  YamlNode::scalar(entry.where, entry.key).identifier(what);
}

void check_count(const YamlNode& node, std::size_t count, std::size_t most, std::string_view what) {
  if (count <= most) return;
  node.fail("expected at most {} {}, found {}", most, what, count);
}

void read_dims(const YamlNode& node, Names& names, KernelSpec& spec) {
  const auto& items = node.list("a list of dims");
  check_count(node, items.size(), kMaxDims, "dims");
  for (const YamlPtr& item : items) {
    const std::string& name = item->identifier("the name of a dim");
    names.claim(item->where(), name, "a dim");
    spec.dims.push_back(name);
    spec.symbols.add(name);
  }
}

void read_traits(const YamlNode& node, Names& names, KernelSpec& spec) {
  const auto& entries = node.map("a map of traits to their defaults");
  check_count(node, entries.size(), kMaxDims, "traits");
  for (const YamlEntry& entry : entries) {
    check_identifier(entry, "the name of a trait");
    names.claim(entry.where, entry.key, "a trait");
    spec.symbols.add(entry.key, true);
    spec.traits.emplace_back(entry.key, read_trait(*entry.value));
  }
}

void read_params(const YamlNode& node, Names& names, KernelSpec& spec) {
  const auto& entries = node.map("a map of parameters");
  check_count(node, entries.size(), kMaxParams, "parameters");
  for (const YamlEntry& entry : entries) {
    check_identifier(entry, "the name of a parameter");
    names.claim(entry.where, entry.key, "a parameter");
    spec.symbols.add(entry.key);
    spec.params.push_back({entry.key, {}, entry.where});
    spec.params.back().values = read_values(*entry.value, &spec.params.back().device_values);
  }
  // After all parameters are read, so that a word is refused if a later parameter has its name.
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& values = spec.params[i].values;
    if (!spec.params[i].device_values.empty()) continue;  // these are integers
    for (std::size_t j = 0; j < values.size(); ++j) {
      const auto* word = std::get_if<std::string>(&values[j]);
      if (!word) continue;
      names.claim_word(entries[i].value->list("values")[j]->where(), *word);
      spec.symbols.add(*word);
    }
  }
}

void read_lets(const YamlNode& node, Names& names, KernelSpec& spec) {
  const auto& entries = node.map("a map of names to expressions");
  check_count(node, entries.size(), kMaxLets, "lets");
  for (const YamlEntry& entry : entries) {
    check_identifier(entry, "a name");
    names.claim(entry.where, entry.key, "a let");
    // The expression is parsed before its own name is known, so that it can use only earlier names.
    ExprSpec value = read_expr(*entry.value, spec.symbols);
    spec.symbols.add(entry.key);
    spec.lets.push_back({entry.key, std::move(value)});
  }
}

/// `{from: 32, to: 1024, step: 32}`, or `{from: 32, to: 1024, times: 2}`. `to` is the last value
/// if the steps meet it.
std::vector<Value> read_range(const YamlNode& node) {
  const YamlMap map(node, kRangeKeys);
  const std::int64_t from = map["from"].integer("an integer");
  const std::int64_t to = map["to"].integer("an integer", from);
  const YamlNode* const step = map.find("step");
  const YamlNode* const times = map.find("times");
  if ((step != nullptr) == (times != nullptr)) {
    node.fail("expected one of step, which is added, and times, which multiplies");
  }
  const std::int64_t by = step ? step->integer("an integer", 1) : times->integer("an integer", 2);
  if (times && from < 1) map["from"].fail_expected("an integer of at least 1 to multiply");
  std::vector<Value> values;
  std::int64_t value = from;
  while (value <= to) {
    if (values.size() == kMaxRange) node.fail("expected at most {} values, found more", kMaxRange);
    values.emplace_back(value);
    const bool overflows = step ? __builtin_add_overflow(value, by, &value)
                                : __builtin_mul_overflow(value, by, &value);
    if (overflows) break;
  }
  return values;
}

/// The names that a value of a parameter may read.
Symbols device_symbols() {
  Symbols symbols;
  for (const std::string_view name : kDeviceNames) symbols.add(std::string(name));
  return symbols;
}

using Parse = Expr (*)(std::string_view text, const Symbols& symbols);

ExprSpec parse_expr(const YamlNode& node, const Symbols& symbols, Parse parse) {
  // YAML takes the colon of an unquoted `a ? b : c` for the colon of a map.
  if (node.kind() == YamlNode::Kind::map)
    node.fail_expected("an expression (in quotes if it has ?:)");
  try {
    return {parse(node.text("an expression"), symbols), node.where()};
  } catch (const ExprError& error) {
    std::string_view word = std::string_view(node.text("an expression")).substr(error.column);
    const auto end = std::ranges::find_if_not(word, is_identifier_part);
    word = word.substr(0, static_cast<std::size_t>(end - word.begin()));
    const bool is_boolean = word.size() > 1 && is_yaml_boolean(word);  // y and n may be sizes
    throw SpecError(node.at(error.column), "{}{}", error.what(),
                    is_boolean ? "; write 1 and 0" : "");
  }
}

}  // namespace

ExprSpec read_expr(const YamlNode& node, const Symbols& symbols) {
  return parse_expr(node, symbols, Expr::parse);
}

ExprSpec read_real_expr(const YamlNode& node, const Symbols& symbols) {
  return parse_expr(node, symbols, Expr::parse_real);
}

std::map<int, std::string> dependents(const KernelSpec& spec,
                                      const std::vector<std::string>& names) {
  std::map<int, std::string> slots;
  for (const std::string& name : names) slots[spec.symbols.find(name)] = name;
  for (const LetSpec& let : spec.lets) {
    for (const int slot : let.value.expr.slots()) {
      if (slots.contains(slot)) slots[spec.symbols.find(let.name)] = slots[slot];
    }
  }
  return slots;
}

const std::string* find_dependence(const Expr& expr, const std::map<int, std::string>& varying) {
  for (const int slot : expr.slots()) {
    if (const auto found = varying.find(slot); found != varying.end()) return &found->second;
  }
  return nullptr;
}

Number read_trait(const YamlNode& node) { return to_number(node.number("a number")); }

std::int64_t read_size(const YamlNode& node) { return node.integer("an integer", 1); }

std::vector<Value> read_values(const YamlNode& node, std::vector<ExprSpec>* device_values) {
  if (node.kind() == YamlNode::Kind::map) return read_range(node);
  std::vector<Value> values;
  std::set<Value> seen;
  for (const YamlPtr& item : node.list("a list of values")) {
    Value value;
    if (item->is_yaml_boolean()) {
      item->fail(
          "expected a decimal integer or a word, found {}, which YAML may read as a boolean; write "
          "1 and 0",
          item->found());
    }
    if (device_values && item->any_text().find("device.") != std::string::npos) {
      if (!values.empty() && values.front().index() != 0) {
        item->fail_expected("a word like the values before");
      }
      device_values->push_back(read_expr(*item, device_symbols()));
      continue;
    }
    const bool is_number = item->looks_integer();
    if (device_values && !device_values->empty() && !is_number) {
      item->fail_expected("an integer like the values before");
    }
    if (is_number) {
      value = item->integer("an integer");
    } else if (const std::string& word = item->text("a decimal integer or a word");
               std::ranges::find(kTypes, word) != std::end(kTypes)) {
      value = word;
    } else {
      value = item->identifier("a decimal integer or a word");
    }
    if (!values.empty() && values.front().index() != value.index()) {
      item->fail_expected(value.index() == 0 ? "a word like the values before"
                                             : "an integer like the values before");
    }
    if (!seen.insert(value).second) item->fail("duplicate value {}", to_text(value));
    values.push_back(std::move(value));
  }
  return values;
}

void read_names(const YamlMap& kernel, KernelSpec& spec) {
  Names names;
  read_dims(kernel["dims"], names, spec);
  if (const YamlNode* traits = kernel.find("traits")) read_traits(*traits, names, spec);
  if (const YamlNode* params = kernel.find("params")) read_params(*params, names, spec);
  for (const std::string_view name : kDeviceNames) spec.symbols.add(std::string(name));
  if (const YamlNode* lets = kernel.find("let")) read_lets(*lets, names, spec);
}

}  // namespace assay
