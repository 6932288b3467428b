#include "spec/entry.h"

#include <algorithm>

#include "base/identifier.h"

namespace assay {
namespace {

bool is_name_part(char c) { return is_letter(c) || is_digit(c); }

/// What C++ reads as the value: `1-BLOCK` must not become `1--1`.
std::string to_cpp(const Value& value) {
  const std::string text = to_text(value);
  return text.starts_with('-') ? "(" + text + ")" : text;
}

}  // namespace

std::vector<EntryName> names_in(std::string_view entry) {
  std::vector<EntryName> names;
  for (std::size_t at = std::min(entry.find('<'), entry.size()); at < entry.size();) {
    const std::size_t begin = at;
    while (at < entry.size() && is_name_part(entry[at])) ++at;
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
    for (const auto& [name, value] : config) {
      if (name != each.name) continue;
      text.append(entry, done, each.offset - done).append(to_cpp(value));
      done = each.offset + name.size();
    }
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

}  // namespace assay
