#include "spec/sweep_spec.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/counters.h"
#include "base/find_named.h"
#include "base/text.h"
#include "spec/kernel_parts.h"
#include "spec/keys.h"
#include "spec/problems.h"
#include "spec/twins.h"
#include "spec/vocabulary.h"
#include "spec/yaml.h"

namespace assay {
namespace {

/// The kernels of the YAML files in `directory`, sorted.
std::vector<std::string> kernel_names(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  std::error_code error;  // a directory that is not there has no kernels
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".yaml") continue;
    for (std::string& name : twin_names(entry.path())) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

/// `gemm_mma`, or `examples/softmax` of a folder below.
const std::string& read_kernel_name(const YamlNode& node) {
  constexpr std::string_view kWhat = "the name of a kernel";
  const std::string& name = node.text(kWhat);
  if (name.find('/') == std::string::npos) return node.identifier(kWhat);
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (!is_identifier(std::string_view(name).substr(begin, end - begin))) {
      node.fail_expected("{} of letters, digits and underscores", kWhat);
    }
    begin = end + 1;
  }
  return name;
}

/// `name` is a kernel's own file in `directory`, or that of the contract whose twin it is.
KernelSpec load_named(const YamlNode& node, const std::string& name,
                      const std::filesystem::path& directory) {
  namespace fs = std::filesystem;
  fs::path path = directory / (name + ".yaml");
  if (fs::is_regular_file(path)) return load_kernel(path);
  path = directory / fmt::format("{}.yaml", contract_of_twin(name));
  if (fs::is_regular_file(path)) {
    if (auto twin = find_twin(path, fs::path(name).filename().string())) return *std::move(twin);
  }
  const std::string advice = fs::is_directory(directory)
                                 ? suggestion(name, kernel_names(directory))
                                 : "; there is no such folder: --kernels names another";
  node.fail("expected a kernel in {}, found \"{}\"{}", directory.generic_string(), name, advice);
}

std::vector<KernelSpec> load_kernels(const YamlNode& node, const std::filesystem::path& directory) {
  std::vector<KernelSpec> kernels;
  for (const YamlPtr& item : node.list("a list of kernels")) {
    const std::string& name = read_kernel_name(*item);
    const std::string last = std::filesystem::path(name).filename().string();
    if (find_named(kernels, last)) item->fail("duplicate kernel \"{}\"", name);
    kernels.push_back(load_named(*item, name, directory));
  }
  return kernels;
}

/// Every dim and trait of every kernel, in the order they are first declared. Where kernels have
/// different defaults for a trait, there is none.
ProblemNames problem_names(const std::vector<KernelSpec>& kernels, const YamlNode& where) {
  ProblemNames names;
  for (const KernelSpec& kernel : kernels) {
    for (const std::string& dim : kernel.dims) add_once(names.dims, dim);
  }
  for (const KernelSpec& kernel : kernels) {
    for (const auto& [trait, otherwise] : kernel.traits) {
      if (std::ranges::count(names.dims, trait) > 0) {
        where.fail("expected kernels that agree, found \"{}\", a trait of {} and a dim of another",
                   trait, kernel.name);
      }
      std::optional<Number>* const known = find_value(names.traits, trait);
      if (known == nullptr) {
        names.traits.emplace_back(trait, otherwise);
      } else if (*known != otherwise) {
        known->reset();
      }
    }
  }
  return names;
}

/// Keeps only the values that the sweep names, of each kernel that has the parameter.
void narrow(const YamlEntry& entry, std::vector<KernelSpec>& kernels) {
  std::vector<std::pair<const KernelSpec*, ParamSpec*>> owners;
  std::vector<std::string> known_params, known_values;
  std::set<Value> known;
  for (KernelSpec& kernel : kernels) {
    for (ParamSpec& param : kernel.params) {
      known_params.push_back(param.name);
      if (param.name != entry.key) continue;
      owners.emplace_back(&kernel, &param);
      for (const Value& value : param.values) {
        if (known.insert(value).second) known_values.push_back(to_text(value));
      }
    }
  }
  if (owners.empty()) {
    throw SpecError(entry.where, "expected a parameter of a kernel, found \"{}\"{}", entry.key,
                    suggestion(entry.key, known_params));
  }
  const std::vector<Value> asked = read_values(*entry.value);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!known.contains(asked[i])) {
      const bool listed = entry.value->kind() == YamlNode::Kind::list;
      const YamlNode& at = listed ? *entry.value->list("values")[i] : *entry.value;
      at.fail("expected a value of {} ({}), found \"{}\"", entry.key, fmt::join(known_values, ", "),
              to_text(asked[i]));
    }
  }
  const std::set<Value> kept(asked.begin(), asked.end());
  for (const auto& [kernel, param] : owners) {
    std::erase_if(param->values, [&](const Value& value) { return !kept.contains(value); });
    param->device_values.clear();
    if (param->values.empty()) {
      entry.value->fail("expected a value of {} that the kernel {} has, found none", entry.key,
                        kernel->name);
    }
  }
}

/// Gives each kernel those constraints of which it defines every name.
void constrain(const YamlNode& node, std::vector<KernelSpec>& kernels) {
  Symbols all;
  for (const KernelSpec& kernel : kernels) {
    for (std::size_t slot = 0; slot < kernel.symbols.size(); ++slot) {
      const int at = static_cast<int>(slot);
      all.add(kernel.symbols.name(at), kernel.symbols.is_real(at));
    }
  }
  for (const YamlPtr& item : node.list("a list of constraints")) {
    const ExprSpec constraint = read_expr(*item, all);
    const auto& slots = constraint.expr.slots();
    bool applied = false;
    for (KernelSpec& kernel : kernels) {
      const bool defines_all = std::ranges::all_of(
          slots, [&](int slot) { return kernel.symbols.find(all.name(slot)) >= 0; });
      if (!defines_all) continue;
      kernel.constraints.push_back(read_expr(*item, kernel.symbols));
      applied = true;
    }
    if (!applied) {
      item->fail(
          "expected a constraint over the names of one kernel, found names of several that no "
          "kernel has together");
    }
  }
}

constexpr std::string_view kSeconds = "a positive number of seconds";

SearchSpec read_search(const YamlNode& node) {
  const YamlMap map(node, kSearchKeys);
  SearchSpec search;
  if (const YamlNode* strategy = map.find("strategy")) {
    const std::string& name = strategy->one_of("a strategy", kStrategies);
    const auto at = std::ranges::find(kStrategies, name);
    search.strategy = static_cast<Strategy>(at - kStrategies.begin());
  }
  map.read("seed", search.seed, &YamlNode::integer, "an integer", 0, INT64_MAX);
  if (const YamlNode* budget_node = map.find("budget")) {
    const YamlMap budget(*budget_node, kBudgetKeys);
    budget.read("configs", search.budget_configs, &YamlNode::integer, "an integer", 1, INT64_MAX);
    budget.read("seconds", search.budget_seconds, &YamlNode::positive_number, kSeconds);
    if (const YamlNode* until = budget.find("until")) {
      constexpr std::string_view kWhat = "a gain below 1 such as 0.02 or 2%";
      search.budget_until_ratio = until->positive_number(kWhat);
      if (*search.budget_until_ratio >= 1) until->fail_expected(kWhat);
    }
  }
  return search;
}

double read_precision(const YamlNode& node) {
  constexpr std::string_view kWhat = "a ratio below 1 such as 0.005 or 0.5%, or 0";
  const double ratio = node.non_negative_number(kWhat);
  if (ratio >= 1) node.fail_expected(kWhat);
  return ratio;
}

/// Names of counters and of sets of them.
std::vector<std::string> read_counters(const YamlNode& node) {
  constexpr std::string_view kWhat = "a list of counters, or of sets of them such as memory";
  const std::vector<std::string> allowed = counter_words();
  std::vector<std::string> names;
  for (const YamlPtr& item : node.list(kWhat)) {
    const std::string& word = item->one_of("a counter or a set", allowed);
    for (const CounterRow& row : counters_of(word)) {
      add_once(names, std::string(row.name));
    }
  }
  return names;
}

MeasureSpec read_measure(const YamlNode& node) {
  const YamlMap map(node, kMeasureKeys);
  MeasureSpec measure;
  map.read("protocol", measure.protocol, &YamlNode::one_of, "a protocol", names_of(kProtocols));
  map.read("precision", measure.precision_ratio, read_precision);
  map.read("max_seconds_per_config", measure.max_seconds_per_config, &YamlNode::positive_number,
           kSeconds);
  map.read("counters", measure.counters, read_counters);
  return measure;
}

RerankSpec read_rerank(const YamlNode& node) {
  const YamlMap map(node, kRerankKeys);
  RerankSpec rerank;
  map.read("top", rerank.top, &YamlNode::integer, "an integer", 1, kMostTop);
  map.read("rounds", rerank.rounds, &YamlNode::integer, "an integer", 1, RerankSpec::kMostRounds);
  map.read("precision", rerank.precision_ratio, read_precision);
  return rerank;  // its objective is read once the kernels are known
}

/// The expression of a metric, as a kernel sees it.
Expr parse_metric(std::string_view text, const KernelSpec& kernel) {
  Symbols symbols = kernel.symbols;
  std::vector<std::string> added = measured_names();
  added.insert(added.end(), figure_names().begin(), figure_names().end());
  for (const CounterRow& row : counters()) added.emplace_back(row.name);
  for (const std::string& name : added) symbols.add(name, true);
  Expr metric = Expr::parse_real(text, symbols);
  for (const int slot : metric.slots()) {
    const std::string& name = symbols.name(slot);
    if (name.starts_with("device.")) {
      throw ExprError(
          text.find(name),
          fmt::format(
              "expected a name of a configuration, found \"{}\"; a let of the kernel may read it",
              name));
    }
    if (kernel.symbols.find(name) >= 0 && std::ranges::count(added, name)) {
      throw ExprError(
          text.find(name),
          fmt::format(
              "expected a name with one meaning, found \"{}\", which {} has for something else",
              name, kernel.name));
    }
  }
  return metric;
}

/// One objective, checked.
const std::string& read_part(const YamlNode& node, const std::vector<KernelSpec>& kernels) {
  constexpr std::string_view kWhat = "an objective";
  const std::string& part = node.text(kWhat);
  const std::size_t begin = expression_begin(part);
  if (begin == 0) {
    std::vector<std::string> allowed = objective_words();
    allowed.insert(allowed.end(), {"minimize EXPRESSION", "maximize EXPRESSION"});
    return node.one_of(kWhat, allowed);
  }
  for (const KernelSpec& kernel : kernels) {
    try {
      parse_metric(std::string_view(part).substr(begin), kernel);
    } catch (const ExprError& error) {
      throw SpecError(node.at(begin + error.column),
                      fmt::format("{}{}", error.what(),
                                  kernels.size() > 1 ? ", for the kernel " + kernel.name : ""));
    }
  }
  return part;
}

Objective read_parts(const std::vector<YamlNode>& nodes, const std::vector<KernelSpec>& kernels) {
  std::vector<std::string> parts;
  for (const YamlNode& node : nodes) {
    const std::string& part = read_part(node, kernels);
    if (std::ranges::count(parts, part)) node.fail("duplicate objective \"{}\"", part);
    parts.push_back(part);
  }
  return parse_objective(fmt::format("{}", fmt::join(parts, "; "))).value();
}

/// A single one, or a list.
Objective read_objective(const YamlNode& node, const std::vector<KernelSpec>& kernels) {
  if (node.kind() != YamlNode::Kind::list) return read_parts({node}, kernels);
  std::vector<YamlNode> nodes;
  for (const YamlPtr& item : node.list("a list of objectives")) nodes.push_back(*item);
  return read_parts(nodes, kernels);
}

bool is_kernel(const YamlNode& root) { return root.find("kernel") && !root.find("sweep"); }

SweepSpec smoke_sweep(const std::filesystem::path& path) {
  SweepSpec sweep;
  sweep.kernels = load_twins(path);
  sweep.name = sweep.kernels.front().name;
  sweep.yaml_path = path;
  sweep.problems.push_back(sweep.kernels.front().smoke);
  return sweep;
}

}  // namespace

Objective read_objective(const std::vector<std::string>& texts,
                         const std::vector<KernelSpec>& kernels) {
  std::vector<YamlNode> nodes;
  for (const std::string& text : texts) {
    const auto source = std::make_shared<const SourceText>(SourceText{"--objective", text});
    nodes.push_back(YamlNode::scalar({source, 1, 1}, text));
  }
  return read_parts(nodes, kernels);
}

std::string_view to_text(Strategy strategy) {
  return kStrategies[static_cast<std::size_t>(strategy)];
}

SweepSpec load_sweep(const std::filesystem::path& path,
                     const std::filesystem::path& kernel_directory) {
  const YamlPtr root = load_yaml(path);
  root->map("a kernel or a sweep");
  if (is_kernel(*root)) return smoke_sweep(path);
  if (root->find("op") && !root->find("sweep")) {
    root->fail("expected a kernel or a sweep, found an op; `assay list` says which kernels it has");
  }
  const YamlMap map(*root, kSweepKeys);
  SweepSpec sweep;
  sweep.yaml_path = path;
  sweep.name = map["sweep"].identifier("the name of a sweep");
  map.read("search", sweep.search, read_search);
  map.read("measure", sweep.measure, read_measure);
  const YamlNode* const rerank = map.find("rerank");
  if (rerank) sweep.rerank = read_rerank(*rerank);
  sweep.kernels = load_kernels(map["kernels"], kernel_directory);
  if (const YamlNode* objective = rerank ? rerank->find("objective") : nullptr) {
    sweep.rerank.objective = read_objective(*objective, sweep.kernels);
  }
  sweep.problems = read_problems(map["problems"], problem_names(sweep.kernels, map["kernels"]));
  if (const YamlNode* params = map.find("params")) {
    for (const YamlEntry& entry : params->map("a map of parameters")) narrow(entry, sweep.kernels);
  }
  if (const YamlNode* constraints = map.find("constraints")) constrain(*constraints, sweep.kernels);
  return sweep;
}

bool is_kernel_file(const std::filesystem::path& path) { return is_kernel(*load_yaml(path)); }

}  // namespace assay
