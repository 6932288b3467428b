#include "base/objective.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "base/counters.h"
#include "base/find_named.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::string_view kMinimize = "minimize ", kMaximize = "maximize ", kBetween = "; ";

/// What a word stands for.
std::string_view written_out(std::string_view part) {
  if (part == "time") return "minimize time_ns";
  if (part == "energy") return "minimize energy_j";
  if (part == "edp") return "minimize energy_j * time_ns";
  return part;
}

/// The names in an expression: what begins with a letter and is no function.
std::vector<std::string> names_in(std::string_view text) {
  const auto belongs = [](char c) { return is_letter(c) || is_digit(c) || c == '.'; };
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && belongs(text[end])) ++end;
    const std::size_t next = text.find_first_not_of(" \t", end);
    const bool is_call = next != std::string_view::npos && text[next] == '(';
    if (end > at && is_letter(text[at]) && !is_call) names.emplace_back(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  return names;
}

bool is_objective(std::string_view part) {
  if (std::ranges::count(objective_words(), part) > 0) return true;
  if (expression_begin(part) == 0) return false;
  NamedFigures figures;
  for (std::string& name : names_in(part.substr(expression_begin(part)))) {
    figures.emplace_back(std::move(name), std::int64_t{1});
  }
  try {
    Metric(part, figures);
  } catch (const ExprError&) {
    return false;
  }
  return true;
}

}  // namespace

const Objective Objective::time{"time"};
const Objective Objective::energy{"energy"};
const Objective Objective::edp{"edp"};

std::size_t expression_begin(std::string_view part) {
  return part.starts_with(kMinimize) || part.starts_with(kMaximize) ? kMinimize.size() : 0;
}

std::vector<std::string> Objective::parts() const {
  std::vector<std::string> parts;
  std::string_view rest = text_;
  for (std::size_t end; (end = rest.find(kBetween)) != std::string_view::npos;) {
    parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + kBetween.size());
  }
  parts.emplace_back(rest);
  return parts;
}

bool Objective::is_word() const { return std::ranges::count(objective_words(), text_) > 0; }

std::vector<std::string> Objective::names() const {
  std::vector<std::string> all;
  for (const std::string& part : parts()) {
    const std::string_view metric = written_out(part);
    for (const std::string& name : names_in(metric.substr(expression_begin(metric)))) {
      add_once(all, name);
    }
  }
  return all;
}

bool Objective::reads(std::string_view name) const { return std::ranges::count(names(), name) > 0; }

std::vector<std::string> Objective::counters() const {
  std::vector<std::string> found = names();
  std::erase_if(found, [](const std::string& name) { return !is_counter(name); });
  return found;
}

Objective Objective::without_energy() const {
  std::string kept;
  for (const std::string& part : parts()) {
    if (Objective(part).reads("energy_j")) continue;
    if (!kept.empty()) kept += kBetween;
    kept += part;
  }
  return kept.empty() ? Objective() : Objective(kept);
}

std::strong_ordering Objective::operator<=>(const Objective& other) const {
  const auto key = [](const Objective& objective) {
    const auto& words = objective_words();
    const auto word = std::ranges::find(words, objective.text_);
    return std::tuple(word - words.begin(), std::string_view(objective.text_));
  };
  return key(*this) <=> key(other);
}

std::optional<Objective> parse_objective(std::string_view text) {
  const Objective objective{std::string(text)};
  std::vector<std::string> parts = objective.parts();
  if (!std::ranges::all_of(parts, is_objective)) return std::nullopt;
  std::ranges::sort(parts);
  if (std::ranges::adjacent_find(parts) != parts.end()) return std::nullopt;
  return objective;
}

const std::vector<std::string>& objective_words() {
  static const std::vector<std::string> words = {"time", "energy", "edp"};
  return words;
}

const std::vector<std::string>& measured_names() {
  static const std::vector<std::string> names = {"time_ns", "energy_j"};
  return names;
}

const std::vector<std::string>& figure_names() {
  static const std::vector<std::string> names = {"flops",       "bytes",      "registers",
                                                 "spill_bytes", "smem_bytes", "memory_bytes"};
  return names;
}

Metric::Metric(std::string_view part, const NamedFigures& figures) {
  const std::string_view metric = written_out(part);
  text_ = metric.substr(expression_begin(metric));
  greatest_ = metric.starts_with(kMaximize);
  Symbols symbols;
  for (const std::string& name : measured_names()) symbols.add(name, true);
  values_.resize(symbols.size());
  for (const auto& [name, number] : figures) {
    if (symbols.find(name) >= 0) continue;
    symbols.add(name, true);
    values_.push_back(std::bit_cast<std::int64_t>(to_real(number)));
  }
  expr_ = Expr::parse_real(text_, symbols);
  reads_time_ = std::ranges::find(expr_.slots(), 0) != expr_.slots().end();
}

double Metric::value(double time_ns, double energy_j) const {
  std::vector<std::int64_t> values = values_;
  values[0] = std::bit_cast<std::int64_t>(time_ns);
  values[1] = std::bit_cast<std::int64_t>(energy_j);
  return expr_.eval_real(values);
}

double Metric::cost(double time_ns, double energy_j) const {
  const double value = this->value(time_ns, energy_j);
  const double cost = greatest_ ? 1 / value : value;
  if (!(cost >= 0) || std::isinf(cost)) {
    throw EvalError("\"{}\" is {:.6g}, expected a positive number{}", text_, value,
                    greatest_ ? "" : " or 0");
  }
  return cost;
}

}  // namespace assay
