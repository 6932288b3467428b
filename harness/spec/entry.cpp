#include "spec/entry.h"

#include <algorithm>

#include "base/find_named.h"
#include "base/text.h"
#include "spec/kernel_parts.h"

namespace assay {
namespace {

/// What C++ reads as the value: `1-BLOCK` must not become `1--1`.
std::string to_cpp(const Value& value) {
  const std::string text = to_text(value);
  return text.starts_with('-') ? "(" + text + ")" : text;
}

bool is_entry(std::string_view text) {
  const std::size_t bracket = text.find('<');
  return is_qualified_name(text.substr(0, bracket)) &&
         (bracket == std::string_view::npos || text.ends_with('>')) &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

std::vector<EntryName> names_in(std::string_view entry) {
  std::vector<EntryName> names;
  for (std::size_t at = std::min(entry.find('<'), entry.size()); at < entry.size();) {
    const std::size_t begin = at;
    while (at < entry.size() && is_identifier_part(entry[at])) ++at;
    if (at == begin) {
      ++at;
      continue;
    }
    // `16UL` is a number, and `b` in `a::b` is the namespace's.
    if (is_digit(entry[begin]) || entry.substr(0, begin).ends_with("::")) continue;
    names.push_back(
        {std::string(entry.substr(begin, at - begin)), begin, entry.substr(at).starts_with("::")});
  }
  return names;
}

std::string instantiate(std::string_view entry, const Config& config) {
  std::string text;
  std::size_t done = 0;
  for (const EntryName& each : names_in(entry)) {
    const Value* const value = find_value(config, each.name);
    if (value == nullptr) continue;
    text.append(entry, done, each.offset - done).append(to_cpp(*value));
    done = each.offset + each.name.size();
  }
  return text.append(entry, done);
}

Config macros_of(const Config& config, const std::vector<std::string>& entries) {
  Config macros = config;
  for (const std::string& entry : entries) {
    for (const EntryName& each : names_in(entry)) {
      std::erase_if(macros, [&](const auto& param) { return param.first == each.name; });
    }
  }
  return macros;
}

bool is_qualified_name(std::string_view text) {
  if (text.starts_with("::")) text.remove_prefix(2);
  for (;;) {
    const std::size_t end = text.find("::");
    const std::string_view part = text.substr(0, end);
    if (!is_identifier(part) || is_reserved(part)) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 2);
  }
}

std::string read_entry(const YamlNode& node, const KernelSpec& spec, bool of_reference) {
  constexpr std::string_view kWhat =
      "a kernel's name such as foo, ns::foo or foo<float> (in quotes if it has a comma)";
  const std::string& entry = node.text(kWhat);
  if (!is_entry(entry)) node.fail_expected(kWhat);
  for (const EntryName& each : names_in(entry)) {
    if (each.is_scope) continue;
    const bool is_dim = std::ranges::find(spec.dims, each.name) != spec.dims.end();
    const auto refuse = [&](std::string_view allowed, std::string_view found) {
      throw SpecError(node.at(each.offset),
                      "expected {} among template arguments, found \"{}\", which is {}{}", allowed,
                      each.name, found,
                      of_reference ? "" : "; a macro under compile, define may stand there");
    };
    const std::string_view allowed = of_reference ? "only dims" : "only parameters";
    if (find_named(spec.lets, each.name)) refuse(allowed, "a let");
    if (find_value(spec.traits, each.name)) refuse(allowed, "a trait");
    if (of_reference && find_named(spec.params, each.name)) refuse(allowed, "a parameter");
    if (!of_reference && is_dim) refuse(allowed, "a dim");
  }
  return entry;
}

}  // namespace assay
