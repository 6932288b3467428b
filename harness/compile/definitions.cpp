#include "compile/definitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr const char* kHideHeader = "@hide";
constexpr const char* kShowHeader = "@show";

// Prefixes of macros that configure the toolkit's headers.
constexpr std::string_view kToolkitPrefixes[] = {"_",       "CCCL_",   "CUB_",        "CUDA_",
                                                 "CUDART_", "CURAND_", "LIBCUDACXX_", "THRUST_"};

bool sets_up_toolkit(std::string_view name) {
  return std::ranges::any_of(kToolkitPrefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// How a text uses a name.
struct Uses {
  bool as_member = false;     // behind `.` or `->`
  bool in_condition = false;  // in an #if, or in a macro without parameters, which an #if may read
  bool undefined = false;     // by an #undef
  bool defined = false;       // by a #define
  /// Whether the source gives the name a meaning of its own, which no #define of ours may replace.
  bool redefined() const { return undefined && defined; }
};

using AllUses = std::map<std::string, Uses, std::less<>>;

bool is_behind_access(std::string_view text, std::size_t at) {
  while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) --at;
  const std::string_view before = text.substr(0, at);
  return before.ends_with("->") || (before.ends_with('.') && !before.ends_with(".."));
}

/// Whether the line is this directive, `define` or `undef`, for this name.
bool sets(std::string_view line, std::string_view directive, std::string_view name) {
  const auto skip = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  const auto take = [&](std::string_view word) {
    skip();
    const bool is_next = line.starts_with(word) &&
                         (line.size() == word.size() || !is_identifier_part(line[word.size()]));
    if (is_next) line.remove_prefix(word.size());
    return is_next;
  };
  skip();
  if (!line.starts_with('#')) return false;
  line.remove_prefix(1);
  return take(directive) && take(name);
}

/// Whether the line can decide what is compiled.
bool is_conditional(std::string_view line) {
  const auto skip = [&](std::size_t at) {
    return std::min(line.find_first_not_of(" \t", at), line.size());
  };
  std::size_t at = skip(0);
  if (at == line.size() || line[at] != '#') return false;
  const std::string_view directive = line.substr(skip(at + 1));
  if (directive.starts_with("if") || directive.starts_with("elif")) return true;
  if (!directive.starts_with("define")) return false;
  at = std::min(directive.find_first_not_of(" \t", 6), directive.size());
  while (at < directive.size() && is_identifier_part(directive[at])) ++at;
  return at == directive.size() || directive[at] != '(';
}

void find_uses(std::string_view text, AllUses& uses) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const bool conditional = is_conditional(line);
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t from = at;
      while (at < line.size() && is_identifier_part(line[at])) ++at;
      if (at == from) {
        ++at;
        continue;
      }
      const auto found = uses.find(line.substr(from, at - from));
      if (found == uses.end()) continue;
      if (is_behind_access(line, from)) {
        found->second.as_member = true;
      } else if (conditional) {
        found->second.in_condition = true;
      }
      if (sets(line, "undef", found->first)) found->second.undefined = true;
      if (sets(line, "define", found->first)) found->second.defined = true;
    }
    begin = end + 1;
  }
}

AllUses uses_of(const std::vector<Definition>& definitions, const SourceTree& source) {
  AllUses uses;
  for (const Definition& definition : definitions) uses[definition.name] = {};
  find_uses(source.text, uses);
  for (const auto& [name, text] : source.headers) find_uses(text, uses);
  return uses;
}

bool is_constant(const Definition& definition, const AllUses& uses) {
  const Uses& use = uses.at(definition.name);
  return definition.is_integer && use.as_member && !use.in_condition;
}

bool reaches_toolkit(const Definition& definition, const AllUses& uses) {
  return sets_up_toolkit(definition.name) || uses.at(definition.name).redefined();
}

void check_name(const std::string& name, std::string_view what) {
  if (!is_identifier(name)) throw UsageError("{} \"{}\" is no identifier", what, name);
}

bool is_arch(std::string_view text) {
  if (text.ends_with('a') || text.ends_with('f')) text.remove_suffix(1);
  return (text.size() == 2 || text.size() == 3) && std::ranges::all_of(text, is_digit);
}

}  // namespace

std::vector<Definition> definitions_of(const Config& config, const CompileSettings& settings) {
  std::map<std::string, Definition> definitions;
  for (const auto& [name, text] : settings.defines) {
    check_name(name, "macro");
    // A text with none of these cannot end the line of its #define.
    const bool is_whole = text.find_first_of("\n\r") == std::string::npos &&
                          text.find("/*") == std::string::npos && !text.ends_with('\\');
    if (!is_whole) {
      throw UsageError(
          "the value of macro {} is \"{}\"; expected one line without a comment or a \\ at its end",
          name, text);
    }
    definitions[name] = {name, text, false};
  }
  for (const auto& [name, value] : config) {
    check_name(name, "parameter");
    const std::string* word = std::get_if<std::string>(&value);
    if (word != nullptr && !is_identifier(*word)) {
      throw UsageError("{} is \"{}\"; expected an integer or an identifier", name, *word);
    }
    definitions[name] = {name, to_text(value), word == nullptr};
  }
  std::vector<Definition> in_order;
  for (auto& [name, definition] : definitions) in_order.push_back(std::move(definition));
  return in_order;
}

std::vector<std::pair<std::string, std::string>> definition_headers(
    const std::vector<Definition>& definitions, const SourceTree& source) {
  const AllUses uses = uses_of(definitions, source);
  std::string define, hide, show;
  for (const Definition& definition : definitions) {
    const auto& [name, text, is_integer] = definition;
    if (is_constant(definition, uses)) {
      define += fmt::format("[[maybe_unused]] constexpr auto {} = {};\n", name, text);
      continue;
    }
    const std::string line = fmt::format("#define {} {}\n", name, text);
    define += line;
    if (reaches_toolkit(definition, uses)) continue;
    // The source may have undefined the macro; then it stays undefined.
    hide += fmt::format("#ifdef {0}\n#undef {0}\n#define assay_hidden_{0}\n#endif\n", name);
    show +=
        fmt::format("#ifdef assay_hidden_{0}\n#undef assay_hidden_{0}\n{1}#endif\n", name, line);
  }

  std::vector<std::pair<std::string, std::string>> headers = {
      {kDefinitionsHeader, define}, {kHideHeader, hide}, {kShowHeader, show}};
  for (std::size_t i = 0; i < source.outside.size(); ++i) {
    const SourceTree::Outside& outside = source.outside[i];
    // The #line makes an error about a missing header name the line that includes the header.
    headers.emplace_back(
        fmt::format("{}{}", SourceTree::kOutsidePrefix, i),
        fmt::format("#include \"{}\"\n#line {} \"{}\"\n#include {}\n#include \"{}\"\n", kHideHeader,
                    outside.line, outside.file, outside.spelling, kShowHeader));
  }
  return headers;
}

bool reach_toolkit(const std::vector<Definition>& definitions, const SourceTree& source) {
  const AllUses uses = uses_of(definitions, source);
  return std::ranges::any_of(
      definitions, [&](const Definition& definition) { return reaches_toolkit(definition, uses); });
}

std::vector<std::string> members_that_are_macros(const std::vector<Definition>& definitions,
                                                 const SourceTree& source) {
  const AllUses uses = uses_of(definitions, source);
  std::vector<std::string> names;
  for (const Definition& definition : definitions) {
    const bool is_member = uses.at(definition.name).as_member;
    if (is_member && !is_constant(definition, uses)) names.push_back(definition.name);
  }
  return names;
}

std::vector<std::string> common_options(int std) {
  return {
      fmt::format("--std=c++{}", std),  // 17 compiles no faster (measured: 108 ms against 106 ms)
      "-default-device",
      "--no-cache",  // the cache is ours
      "--ptxas-options=-v",
  };
}

std::vector<std::string> compile_options(const std::string& arch, const CompileSettings& settings) {
  if (!is_arch(arch)) {
    throw UsageError("architecture \"{}\"; expected two or three digits, as in 86 or 90a", arch);
  }
  std::vector<std::string> options = common_options(settings.std);
  options.push_back("--gpu-architecture=sm_" + arch);
  if (settings.fast_math) options.push_back("--use_fast_math");
  if (settings.max_registers > 0) {
    options.push_back(fmt::format("--maxrregcount={}", settings.max_registers));
  }
  options.insert(options.end(), settings.options.begin(), settings.options.end());
  return options;
}

}  // namespace assay
