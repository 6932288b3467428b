#include "spec/problems.h"

#include <set>

#include <fmt/format.h>

#include "spec/kernel_parts.h"

namespace assay {
namespace {

// Lists multiply: a slip of the pen must not ask for a billion problems.
constexpr std::size_t kMaxProblems = 10000;

std::vector<std::int64_t> read_sizes(const YamlNode& node) {
  if (node.kind() != YamlNode::Kind::list) {
    return {node.integer("an integer, or a list of integers,", 1)};
  }
  std::vector<std::int64_t> sizes;
  for (const YamlPtr& item : node.list("a list of integers")) sizes.push_back(read_size(*item));
  return sizes;
}

}  // namespace

std::vector<Problem> read_problems(const YamlNode& node, const std::vector<std::string>& dims) {
  std::vector<Problem> problems;
  std::set<std::string> seen;
  for (const YamlPtr& item : node.list("a list of problems")) {
    const YamlMap map(*item, "a problem", dims);
    std::vector<Problem> expanded = {{}};
    for (const std::string& dim : dims) {
      const std::vector<std::int64_t> sizes = read_sizes(map[dim]);
      if (expanded.size() * sizes.size() > kMaxProblems - problems.size()) {
        item->fail(fmt::format("expected at most {} problems, found more", kMaxProblems));
      }
      std::vector<Problem> longer;
      for (const Problem& problem : expanded) {
        for (const std::int64_t size : sizes) {
          longer.push_back(problem);
          longer.back().emplace_back(dim, size);
        }
      }
      expanded = std::move(longer);
    }
    for (Problem& problem : expanded) {
      if (!seen.insert(to_text(problem)).second) {
        item->fail(fmt::format("duplicate problem {}", to_text(problem)));
      }
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

}  // namespace assay
