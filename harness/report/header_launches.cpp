// A contract's expressions are C++ but for their names, for cdiv, min and max, and for integers,
// which have 64 bits. So they are copied, with v_ ahead of each name: no macro is called so.
#include "report/header_launches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "spec/vocabulary.h"

namespace assay {
namespace {

constexpr std::string_view kTypes = R"(
/// One launch. An extent that the kernel leaves open is 1. `entry` is as C++ names it; a parameter
/// of the kernel in its template arguments stands for the parameter's value.
struct Launch {
  std::string_view entry;
  std::int64_t grid[3];
  std::int64_t block[3];
  std::int64_t cluster[3];
  std::int64_t smem_bytes;  // dynamic
  bool runs;                // false: this configuration leaves the launch out
};

)";

constexpr std::string_view kHelpers = R"(namespace launches {

constexpr std::int64_t cdiv(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
}
constexpr std::int64_t min(std::int64_t a, std::int64_t b) { return b < a ? b : a; }
constexpr std::int64_t max(std::int64_t a, std::int64_t b) { return a < b ? b : a; }
template <typename... Rest>
constexpr std::int64_t min(std::int64_t a, std::int64_t b, Rest... rest) {
  return min(min(a, b), rest...);
}
template <typename... Rest>
constexpr std::int64_t max(std::int64_t a, std::int64_t b, Rest... rest) {
  return max(max(a, b), rest...);
}

)";

constexpr std::string_view kRounding[] = {"floor", "ceil", "round"};

std::string variable(std::string_view name) {
  std::string text = fmt::format("v_{}", name);
  std::ranges::replace(text, '.', '_');
  return text;
}

/// An expression of a contract in C++.
std::string translated(const ExprSpec& expr) {
  const std::string_view text = expr.expr.text();
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto is_part = [&](char c) { return is_letter(c) || is_digit(c) || c == '.'; };
    std::size_t end = at;
    while (end < text.size() && is_part(text[end])) ++end;
    if (end == at) {
      out += text[at++];
      continue;
    }
    const std::string_view word = text.substr(at, end - at);
    const std::size_t next = std::min(text.find_first_not_of(' ', end), text.size());
    if (is_digit(word.front())) {
      out += fmt::format("INT64_C({})", word);
    } else if (next < text.size() && text[next] == '(') {
      out += word;
    } else {
      out += variable(word);
    }
    at = end;
  }
  return out;
}

std::string extents(const std::vector<ExprSpec>& exprs) {
  std::vector<std::string> parts;
  for (const ExprSpec& expr : exprs) parts.push_back(translated(expr));
  parts.resize(3, "1");
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::string constant(std::string_view name, std::string_view value) {
  return fmt::format("  [[maybe_unused]] const std::int64_t {} = {};\n", variable(name), value);
}

/// The value of a parameter: of words, the number that stands for it.
std::string param_value(const ParamSpec& param, const std::string& field) {
  std::string text;
  for (const Value& value : param.values) {
    const auto* word = std::get_if<std::string>(&value);
    if (word) text += fmt::format("config.{} == \"{}\" ? {} : ", field, *word, variable(*word));
  }
  return text.empty() ? "config." + field : text + "-1";
}

std::string function_text(const HeaderKernel& kernel, const DeviceInfo& device,
                          const std::map<std::string, std::string>& dims,
                          const std::map<std::string, std::string>& params) {
  const KernelSpec& contract = *kernel.contract;
  std::string out = fmt::format(
      "constexpr Launch launch_{}([[maybe_unused]] const Config& config,\n"
      "    [[maybe_unused]] const Problem& problem, int index) {{\n",
      kernel.name);
  for (const std::string& dim : contract.dims) out += constant(dim, "problem." + dims.at(dim));
  const std::int64_t of_device[] = {device.cc, device.sm_count, device.smem_optin_bytes,
                                    device.l2_bytes};
  for (std::size_t i = 0; i < kDeviceNames.size(); ++i) {
    out += constant(kDeviceNames[i], std::to_string(of_device[i]));
  }
  std::map<std::string, int> words;
  for (const ParamSpec& param : contract.params) {
    for (const Value& value : param.values) {
      const auto* word = std::get_if<std::string>(&value);
      if (word) words.emplace(*word, contract.symbols.find(*word));
    }
  }
  for (const auto& [word, number] : words) out += constant(word, std::to_string(number));
  for (const ParamSpec& param : contract.params) {
    out += constant(param.name, param_value(param, params.at(param.name)));
  }
  for (const LetSpec& let : contract.lets) out += constant(let.name, translated(let.value));
  for (std::size_t i = 0; i < contract.launches.size(); ++i) {
    const LaunchSpec& launch = contract.launches[i];
    out += fmt::format(
        "  if (index == {}) {{\n    return {{\"{}\", {}, {},\n            {}, {}, {}}};\n  }}\n", i,
        launch.entry, extents(launch.grid), extents(launch.block), extents(launch.cluster),
        launch.smem_bytes ? translated(*launch.smem_bytes) : "0",
        launch.when ? fmt::format("({}) != 0", translated(*launch.when)) : "true");
  }
  return out + "  return {};\n}\n\n";
}

/// Whether its launches can be written in C++: none is repeated, and all numbers are integers.
bool has_launch_functions(const KernelSpec& kernel) {
  // Within these an expression is of real numbers, in which 7 / 4 is 1.75.
  const auto is_real = [](const ExprSpec& expr) {
    return std::ranges::any_of(kRounding, [&](std::string_view name) {
      return expr.expr.text().find(name) != std::string::npos;
    });
  };
  const auto any_real = [&](const std::vector<ExprSpec>& exprs) {
    return std::ranges::any_of(exprs, is_real);
  };
  const auto is_beyond = [&](const LaunchSpec& launch) {
    return launch.repeat || any_real(launch.grid) || any_real(launch.block) ||
           any_real(launch.cluster) || (launch.smem_bytes && is_real(*launch.smem_bytes)) ||
           (launch.when && is_real(*launch.when));
  };
  return kernel.traits.empty() &&
         std::ranges::none_of(kernel.lets,
                              [&](const LetSpec& let) { return is_real(let.value); }) &&
         std::ranges::none_of(kernel.launches, is_beyond);
}

}  // namespace

std::string launches_text(const std::vector<HeaderKernel>& kernels, const DeviceInfo& device,
                          const std::map<std::string, std::string>& dims,
                          const std::map<std::string, std::string>& params) {
  std::string functions, counts, cases;
  for (const HeaderKernel& kernel : kernels) {
    if (kernel.contract == nullptr || !has_launch_functions(*kernel.contract)) continue;
    functions += function_text(kernel, device, dims, params);
    counts += fmt::format("    case Kernel::{}:\n      return {};\n", kernel.name,
                          kernel.contract->launches.size());
    cases += fmt::format(
        "    case Kernel::{0}:\n      return launches::launch_{0}(config, problem, index);\n",
        kernel.name);
  }
  if (functions.empty()) return "";
  return fmt::format(
      "{}{}"
      "// Contracts mix && and ||, and numbers and conditions, as they like.\n"
      "#if defined(__GNUC__)\n#pragma GCC diagnostic push\n"
      "#pragma GCC diagnostic ignored \"-Wparentheses\"\n"
      "#pragma GCC diagnostic ignored \"-Wint-in-bool-context\"\n#endif\n"
      "{}#if defined(__GNUC__)\n#pragma GCC diagnostic pop\n#endif\n}}  // namespace launches\n\n"
      "/// How many launches a kernel makes, one behind the other; 0: the contract was not there\n"
      "/// when this header was made, repeats launches, has traits, or rounds real numbers.\n"
      "constexpr int num_launches(Kernel kernel) {{\n  switch (kernel) {{\n{}    default:\n"
      "      return 0;\n  }}\n}}\n\n"
      "constexpr Launch launch(Kernel kernel, const Config& config, const Problem& problem, int "
      "index) {{\n  switch (kernel) {{\n{}    default:\n      return {{}};\n  }}\n}}\n",
      kTypes, kHelpers, functions, counts, cases);
}

}  // namespace assay
