#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expr.h"
#include "base/value.h"

namespace assay {

/// What names stand for, of one configuration: `registers`, its parameters, and so on. A word
/// stands for a number of its own.
using NamedFigures = std::vector<std::pair<std::string, Number>>;

/// What a winner is the best of. Its text is what users write: `time`, `energy` (of a launch) or
/// `edp` (their product), which are made least; or a metric, `minimize EXPRESSION` or
/// `maximize EXPRESSION`, of real numbers (Expr::parse_real).
///
/// Several, with "; " between them, make a Pareto list. The first of them decides who wins.
class Objective {
 public:
  static const Objective time, energy, edp;

  Objective() = default;  // time

  const std::string& text() const { return text_; }
  /// Each objective alone, in the order written.
  std::vector<std::string> parts() const;
  /// Whether it is one of the three words, and nothing else.
  bool is_word() const;
  /// The names that it reads, each once: `energy` reads energy_j.
  std::vector<std::string> names() const;
  bool reads(std::string_view name) const;
  /// Those of them that are hardware counters (base/counters.h).
  std::vector<std::string> counters() const;
  /// What is left where energy cannot be measured: the objectives that do not read it, else time.
  Objective without_energy() const;

  bool operator==(const Objective&) const = default;
  /// The words come first.
  std::strong_ordering operator<=>(const Objective& other) const;

 private:
  friend std::optional<Objective> parse_objective(std::string_view text);
  explicit Objective(std::string text) : text_(std::move(text)) {}

  std::string text_ = "time";
};

/// The inverse of to_text: nothing if a part is no objective, or is there twice. Names are not
/// checked.
std::optional<Objective> parse_objective(std::string_view text);
inline std::string_view to_text(const Objective& objective) { return objective.text(); }
/// "time", "energy", "edp".
const std::vector<std::string>& objective_words();

/// Whether a part of an objective is a metric, and where its expression begins; 0: it is none.
std::size_t expression_begin(std::string_view part);

/// The names of a metric beside those of the kernel: what a re-rank measures, then what the
/// contract and the compiler say of a configuration.
const std::vector<std::string>& measured_names();
const std::vector<std::string>& figure_names();

/// One objective, of one configuration.
class Metric {
 public:
  /// Throws ExprError where `part` is no objective, or reads a name that `figures` lack.
  Metric(std::string_view part, const NamedFigures& figures);

  bool reads_time() const { return reads_time_; }
  bool greatest() const { return greatest_; }
  /// What it is at this time and energy of a launch. Throws EvalError.
  double value(double time_ns, double energy_j) const;
  /// What is made least: the value, or 1 / value where that is to be greatest. Throws EvalError for
  /// what is negative or no finite number: ratios of it mean nothing.
  double cost(double time_ns, double energy_j) const;

 private:
  std::string text_;
  bool greatest_ = false;
  bool reads_time_ = false;
  Expr expr_;
  std::vector<std::int64_t> values_;  // by slot; of time and energy the first two
};

}  // namespace assay
