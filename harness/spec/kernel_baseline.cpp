#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/find_named.h"
#include "base/rank.h"
#include "spec/kernel_parts.h"
#include "spec/keys.h"
#include "spec/reference_tensors.h"

namespace assay {
namespace {

// What tables add to the name of a baseline that can be run in several ways.
constexpr std::string_view kWays[] = {"_first", "_best", "_graph", kOtherAccuracy};

void require_one_product(const YamlNode& node, const std::vector<ReferenceSpec>& reference) {
  if (reference.size() == 1 && reference.front().operation == "gemm") return;
  std::vector<std::string_view> found;
  for (const ReferenceSpec& spec : reference) found.push_back(spec.operation);
  node.fail(
      "expected a reference that is one gemm for the baseline {}, found {}; give the baseline a "
      "name and its steps",
      kCublasLt, fmt::join(found, ", "));
}

/// A parameter that decides what the reference computes, if there is one.
std::optional<std::string> param_of_reference(const KernelSpec& spec) {
  const std::map<int, std::string> varying = dependents(spec, names_of(spec.params));
  std::optional<std::string> found;
  const auto look = [&](const ExprSpec& expr) {
    if (const std::string* param = find_dependence(expr.expr, varying)) found = *param;
  };
  const auto look_at_all = [&](const std::vector<ExprSpec>& exprs) {
    std::ranges::for_each(exprs, look);
  };
  for (const ReferenceSpec& step : spec.reference) {
    for (const auto& [option, value] : step.real_options) look(value);
    if (!step.kernel) continue;
    look_at_all(step.kernel->grid);
    look_at_all(step.kernel->block);
    if (step.kernel->repeat) look(*step.kernel->repeat);
    for (const ReferenceKernelSpec::Arg& arg : step.kernel->args) {
      look_at_all(arg.shape);
      const ArgSpec* const given = find_named(spec.args, arg.name);
      const auto* scalar = given ? std::get_if<ScalarSpec>(&given->form) : nullptr;
      if (scalar) look(scalar->value);
    }
  }
  return found;
}

/// `name: [steps]`, and beside it `relative: 0.1` for another accuracy.
BaselineSpec read_alternative(const YamlNode& node, const KernelSpec& spec) {
  const auto& entries = node.map("a baseline: cublaslt, or {name: [its steps]}");
  const YamlNode* relative = node.find(kBaselineRelative);
  if (entries.size() != (relative ? 2 : 1)) {
    node.fail("expected one baseline in each item, found {}", entries.size() - (relative ? 1 : 0));
  }
  const YamlEntry& entry = entries[relative == entries.front().value.get() ? 1 : 0];
  const YamlNode name = YamlNode::scalar(entry.where, entry.key);
  BaselineSpec baseline{name.identifier("the name of a baseline")};
  for (const std::string_view way : kWays) {
    if (!baseline.name.ends_with(way)) continue;
    name.fail("expected a name that does not end in {}, which tables add, found \"{}\"", way,
              baseline.name);
  }
  Tensors tensors(spec.args);
  for (const YamlPtr& item : entry.value->list("a list of steps")) {
    baseline.steps.push_back(read_step(*item, tensors, spec, Steps::baseline));
  }
  tensors.check_complete(*entry.value);
  baseline.hash = steps_hash(baseline.steps);
  if (relative) {
    baseline.relative = relative->positive_number("a positive ratio such as 0.01 or 1%");
    if (*baseline.relative >= 1) {
      relative->fail_expected("a ratio below 1, since an output of zeros is off by 1");
    }
    baseline.hash += fmt::format(" {}", *baseline.relative);
  }
  return baseline;
}

}  // namespace

std::vector<BaselineSpec> read_baseline(const YamlNode& node, const KernelSpec& spec) {
  std::vector<BaselineSpec> baselines;
  if (node.is_empty_list()) return baselines;
  if (const auto param = param_of_reference(spec)) {
    node.fail(
        "expected no baseline, since what is right depends on {}, and a baseline computes one "
        "thing beside all configurations",
        *param);
  }
  for (const YamlPtr& item : node.list("a list of baselines")) {
    BaselineSpec baseline;
    if (item->kind() == YamlNode::Kind::map) {
      baseline = read_alternative(*item, spec);
    } else {
      baseline.name = item->one_of("a baseline", {std::string(kCublasLt)});
      require_one_product(*item, spec.reference);
    }
    if (find_named(baselines, baseline.name)) {
      item->fail("duplicate baseline \"{}\"", baseline.name);
    }
    baselines.push_back(std::move(baseline));
  }
  return baselines;
}

}  // namespace assay
