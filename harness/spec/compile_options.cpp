#include "spec/compile_options.h"

#include <fmt/format.h>

#include "base/find_named.h"
#include "spec/vocabulary.h"

namespace assay {
namespace {

const std::vector<CompilerOption>& options_of(bool of_ptxas) {
  static const std::vector<std::string_view> kSwitch = {"true", "false"};
  static const std::vector<CompilerOption> kNvrtc = {
      {"--fmad", "-fmad", kSwitch},
      {"--ftz", "-ftz", kSwitch},
      {"--prec-div", "-prec-div", kSwitch},
      {"--prec-sqrt", "-prec-sqrt", kSwitch},
      {"--extra-device-vectorization", "-extra-device-vectorization"},
      {"--generate-line-info", "-lineinfo"},
      {"--device-int128", "-device-int128"},
  };
  // ptxas takes a level of -O that is too high for the highest, without a word.
  static const std::vector<CompilerOption> kPtxas = {
      {"--def-load-cache", "-dlcm", {"ca", "cg", "cs", "cv", "lu"}},
      {"--def-store-cache", "-dscm", {"wb", "cg", "cs", "wt"}},
      {"--opt-level", "-O", {"0", "1", "2", "3"}},
      {"--register-usage-level",
       "-register-usage-level",
       {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}},
      {"--allow-expensive-optimizations", "-allow-expensive-optimizations", kSwitch},
  };
  return of_ptxas ? kPtxas : kNvrtc;
}

}  // namespace

const CompilerOption* find_compiler_option(std::string_view text, bool of_ptxas,
                                           std::string_view& value) {
  for (const CompilerOption& option : options_of(of_ptxas)) {
    for (const std::string_view name : {option.name, option.other_name}) {
      if (!text.starts_with(name)) continue;
      value = text.substr(name.size());
      if (value.empty() && !option.values.empty()) continue;
      if (value.starts_with('=')) {
        value.remove_prefix(1);
      } else if (!value.empty() && name != "-O") {  // -O3 needs no =
        continue;
      }
      return &option;
    }
  }
  return nullptr;
}

std::string instantiate_option(const std::string& text, const Config& config) {
  const std::size_t begin = text.find('{');
  if (begin == std::string::npos) return text;
  const std::string name = text.substr(begin + 1, text.size() - begin - 2);
  const Value* const value = find_value(config, name);
  if (value == nullptr) return text;
  std::string_view ignored;
  constexpr std::string_view kPtxas = "--ptxas-options=";
  const bool of_ptxas = text.starts_with(kPtxas);
  const CompilerOption* option = find_compiler_option(
      std::string_view(text).substr(of_ptxas ? kPtxas.size() : 0), of_ptxas, ignored);
  std::string word = to_text(*value);
  if (option->values.front() == "true" && word == "1") word = "true";
  if (option->values.front() == "true" && word == "0") word = "false";
  return text.substr(0, begin) + word;
}

std::string known_compiler_options(bool of_ptxas) {
  return fmt::format("{}", fmt::join(names_of(options_of(of_ptxas)), ", "));
}

}  // namespace assay
