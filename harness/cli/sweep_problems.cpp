#include "cli/sweep_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace assay {

void choose_problems(const std::string& text, SweepSpec& sweep) {
  const Problem asked = parse_problem(text);
  const auto value_of = [](const Problem& problem, const std::string& dim) {
    const auto at = std::find_if(problem.begin(), problem.end(),
                                 [&](const auto& entry) { return entry.first == dim; });
    return at == problem.end() ? std::optional<Number>() : at->second;
  };
  const auto is_dim = [&](const std::string& name) {
    return std::any_of(sweep.kernels.begin(), sweep.kernels.end(), [&](const KernelSpec& kernel) {
      return std::find(kernel.dims.begin(), kernel.dims.end(), name) != kernel.dims.end();
    });
  };
  const Problem& pattern = sweep.problems.front();
  for (const auto& [dim, value] : asked) {
    if (!value_of(pattern, dim)) {
      throw UsageError(fmt::format("--problem: {} has no dimension or trait \"{}\"; it has {}",
                                   sweep.name, dim, to_text(pattern)));
    }
    if (is_dim(dim)) check_size(dim, value);
  }
  std::vector<Problem> kept;
  for (const Problem& problem : sweep.problems) {
    if (std::all_of(asked.begin(), asked.end(), [&](const auto& entry) {
          return value_of(problem, entry.first) == entry.second;
        })) {
      kept.push_back(problem);
    }
  }
  if (kept.empty() && asked.size() == pattern.size()) {
    Problem ordered = pattern;
    for (auto& [dim, value] : ordered) value = *value_of(asked, dim);
    kept.push_back(ordered);
  }
  if (kept.empty()) {
    throw UsageError(
        fmt::format("--problem {}: no problem of {} agrees; name all of {} to run one "
                    "that the sweep does not list",
                    text, sweep.name, to_text(pattern)));
  }
  sweep.problems = std::move(kept);
}

void choose_logged_problems(const std::string& file, SweepSpec& sweep) {
  const std::string text = read_file(file);
  const Problem& pattern = sweep.problems.front();
  std::vector<Problem> logged;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string row = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t space = std::min(row.find(' '), row.size());
    const auto is_of_op = [&](const KernelSpec& kernel) {
      return kernel.op == row.substr(0, space);
    };
    if (std::none_of(sweep.kernels.begin(), sweep.kernels.end(), is_of_op)) continue;
    try {
      const Problem found = parse_problem(row.substr(std::min(space + 1, row.size())));
      const bool same_names =
          std::equal(found.begin(), found.end(), pattern.begin(), pattern.end(),
                     [](const auto& a, const auto& b) { return a.first == b.first; });
      if (!same_names) throw UsageError(fmt::format("expected {}", to_text(pattern)));
      if (std::find(logged.begin(), logged.end(), found) == logged.end()) logged.push_back(found);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}:{}: {}", file, line + 1, error.what()));
    }
  }
  if (logged.empty()) {
    throw UsageError(fmt::format("--sizes {}: no line is of {}", file, sweep.kernels.front().op));
  }
  sweep.problems = std::move(logged);
}

void choose_shard(const std::string& text, SweepSpec& sweep) {
  std::size_t shard = 0, count = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, shard);
  const bool is_pair = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = is_pair ? std::from_chars(first.ptr + 1, end, count) : first;
  if (!is_pair || second.ec != std::errc() || second.ptr != end || shard < 1 || shard > count) {
    throw UsageError(
        fmt::format("--shard: expected two numbers as 3/8, the first 1 to 8, found \"{}\"", text));
  }
  if (count > sweep.problems.size()) {
    throw UsageError(fmt::format("--shard {}: {} has {} problems, so at most as many shards", text,
                                 sweep.name, sweep.problems.size()));
  }
  std::vector<Problem> kept;
  for (std::size_t i = shard - 1; i < sweep.problems.size(); i += count) {
    kept.push_back(sweep.problems[i]);
  }
  sweep.problems = std::move(kept);
}

}  // namespace assay
