#include "cli/judged_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/include_path.h"
#include "spec/op_file.h"
#include "spec/problems.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The names of the ops in the folder of the kernels: `gemm`, of all its types, and `gemm_bf16`.
std::vector<std::string> known_ops(const fs::path& kernels) {
  std::vector<std::string> known;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(kernels / "ops", absent)) {
    if (entry.path().extension() != ".yaml") continue;
    known.push_back(entry.path().stem().string());
    for (std::string& name : op_names(entry.path())) {
      if (name != known.back()) known.push_back(std::move(name));
    }
  }
  std::ranges::sort(known);
  return known;
}

/// How large a problem is, to try small ones first.
double size_of(const Problem& problem) {
  double size = 1;
  for (const auto& [name, value] : problem) {
    if (const auto* dim = std::get_if<std::int64_t>(&value)) size *= static_cast<double>(*dim);
  }
  return size;
}

std::vector<Problem> read_hidden(const std::string& file, const KernelSpec& kernel) {
  try {
    const YamlPtr root = load_yaml(file);
    const YamlNode* const list = root->find("problems");
    return read_problems(list ? *list : *root,
                         {kernel.dims, {kernel.traits.begin(), kernel.traits.end()}});
  } catch (const UsageError& mistake) {
    throw HiddenMistake{mistake.what()};
  }
}

}  // namespace

fs::path op_file(const std::string& op, const fs::path& kernels) {
  for (const fs::path& folder : {kernels, here_or_shipped("kernels")}) {
    const fs::path whole = folder / "ops" / (op + ".yaml");
    if (fs::is_regular_file(whole)) return whole;
    const fs::path of_type = find_op(folder, op);
    if (!of_type.empty()) return of_type;
  }
  throw UsageError(fmt::format("expected the op {} in {}, found none{}", op,
                               (kernels / "ops").generic_string(),
                               suggestion(op, known_ops(kernels))));
}

std::vector<JudgedProblem> problems_of(const KernelSpec& kernel, const std::string& hidden) {
  std::vector<JudgedProblem> problems{{kernel.smoke}};
  for (const Problem& problem : kernel.problems) {
    if (problem != kernel.smoke) problems.push_back({problem});
  }
  if (!hidden.empty()) {
    int number = 0;
    for (const Problem& problem : read_hidden(hidden, kernel)) {
      problems.push_back({problem, ++number});
    }
  }
  std::ranges::stable_sort(problems, [](const auto& a, const auto& b) {
    return size_of(a.problem) < size_of(b.problem);
  });
  return problems;
}

}  // namespace assay
