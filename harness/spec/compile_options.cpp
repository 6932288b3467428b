#include "spec/compile_options.h"

#include <fmt/format.h>

#include "base/find_named.h"

namespace assay {
namespace {

/// An option under its long and its short name.
struct Row {
  CompilerOption option;
  std::string_view other_name;
};

const std::vector<Row>& rows(bool of_ptxas) {
  static const std::vector<std::string_view> kSwitch = {"true", "false"};
  static const std::vector<Row> kNvrtc = {
      {{"--fmad", kSwitch}, "-fmad"},
      {{"--ftz", kSwitch}, "-ftz"},
      {{"--prec-div", kSwitch}, "-prec-div"},
      {{"--prec-sqrt", kSwitch}, "-prec-sqrt"},
      {{"--extra-device-vectorization"}, "-extra-device-vectorization"},
      {{"--generate-line-info"}, "-lineinfo"},
      {{"--device-int128"}, "-device-int128"},
  };
  // ptxas takes a level of -O that is too high for the highest, without a word.
  static const std::vector<Row> kPtxas = {
      {{"--def-load-cache", {"ca", "cg", "cs", "cv", "lu"}}, "-dlcm"},
      {{"--def-store-cache", {"wb", "cg", "cs", "wt"}}, "-dscm"},
      {{"--opt-level", {"0", "1", "2", "3"}}, "-O"},
      {{"--register-usage-level", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}},
       "-register-usage-level"},
      {{"--allow-expensive-optimizations", kSwitch}, "-allow-expensive-optimizations"},
  };
  return of_ptxas ? kPtxas : kNvrtc;
}

}  // namespace

const CompilerOption* find_compiler_option(std::string_view text, bool of_ptxas,
                                           std::string_view& value) {
  for (const Row& row : rows(of_ptxas)) {
    for (const std::string_view name : {row.option.name, row.other_name}) {
      if (!text.starts_with(name)) continue;
      value = text.substr(name.size());
      if (value.empty() && !row.option.values.empty()) continue;
      if (value.starts_with('=')) {
        value.remove_prefix(1);
      } else if (!value.empty() && name != "-O") {  // -O3 needs no =
        continue;
      }
      return &row.option;
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
  std::string names;
  for (const Row& row : rows(of_ptxas)) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.option.name);
  }
  return names;
}

}  // namespace assay
