#include "spec/problems.h"

#include <set>

#include "spec/kernel_parts.h"

namespace assay {
namespace {

// Lists multiply: a slip of the pen must not ask for a billion problems.
constexpr std::size_t kMaxProblems = 10000;

std::vector<Number> read_sizes(const YamlNode& node) {
  if (node.kind() != YamlNode::Kind::list) {
    return {node.integer("an integer, or a list of integers,", 1)};
  }
  std::vector<Number> sizes;
  for (const YamlPtr& item : node.list("a list of integers")) sizes.emplace_back(read_size(*item));
  return sizes;
}

std::vector<Number> read_traits(const YamlNode& node) {
  if (node.kind() != YamlNode::Kind::list) {
    return {to_number(node.number("a number, or a list of numbers,"))};
  }
  std::vector<Number> values;
  for (const YamlPtr& item : node.list("a list of numbers")) values.push_back(read_trait(*item));
  return values;
}

}  // namespace

std::vector<Problem> read_problems(const YamlNode& node, const ProblemNames& names) {
  std::vector<Problem> problems;
  std::set<std::string> seen;
  std::vector<std::string> required = names.dims, optional;
  for (const auto& [trait, otherwise] : names.traits) {
    (otherwise ? optional : required).push_back(trait);
  }
  for (const YamlPtr& item : node.list("a list of problems")) {
    const YamlMap map(*item, "a problem", required, optional);
    std::vector<Problem> expanded = {{}};
    const auto expand = [&](const std::string& name, const std::vector<Number>& values) {
      if (expanded.size() * values.size() > kMaxProblems - problems.size()) {
        item->fail("expected at most {} problems, found more", kMaxProblems);
      }
      std::vector<Problem> longer;
      for (const Problem& problem : expanded) {
        for (const Number& value : values) {
          longer.push_back(problem);
          longer.back().emplace_back(name, value);
        }
      }
      expanded = std::move(longer);
    };
    for (const std::string& dim : names.dims) expand(dim, read_sizes(map[dim]));
    for (const auto& [trait, otherwise] : names.traits) {
      const YamlNode* const given = map.find(trait);
      expand(trait, given ? read_traits(*given) : std::vector<Number>{*otherwise});
    }
    for (Problem& problem : expanded) {
      if (!seen.insert(to_text(problem)).second) {
        item->fail("duplicate problem {}", to_text(problem));
      }
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

}  // namespace assay
