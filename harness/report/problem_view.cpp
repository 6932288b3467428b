#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "report/config_text.h"
#include "report/entry_json.h"
#include "report/table.h"
#include "report/trials_view.h"

namespace assay {
namespace {

constexpr std::size_t kMostColumns = 60;
constexpr std::size_t kBeside = 26;  // of the words beside a drawing
constexpr std::size_t kRows = 4;
constexpr std::size_t kLevels = 8;  // of one character
constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// How wide a drawing is.
std::size_t columns_of(const Terminal& terminal) {
  return std::clamp(terminal.columns, kBeside + 10, kBeside + kMostColumns) - kBeside;
}

/// The best time after each trial; infinite before the first.
std::vector<double> best_so_far(const std::vector<const TrialRow*>& trials) {
  std::vector<double> best;
  double least = std::numeric_limits<double>::infinity();
  for (const TrialRow* row : trials) {
    const Outcome& outcome = row->record.outcome;
    if (outcome.status == Status::correct && outcome.timing && !outcome.timing->censored()) {
      least = std::min(least, outcome.timing->median_ns);
    }
    best.push_back(least);
  }
  return best;
}

/// Columns of bars, each as high as its ratio to the last, on a logarithmic scale.
std::string convergence_drawing(const std::vector<double>& best, std::size_t most_columns) {
  const auto first = std::ranges::find_if(best, [](double t) { return std::isfinite(t); });
  const double slowest = *first;
  const double fastest = best.back();
  const std::size_t columns = std::min(most_columns, best.size());
  const double height = std::log(std::max(slowest / fastest, 1.001));
  std::vector<std::size_t> levels;
  for (std::size_t column = 0; column < columns; ++column) {
    const double time = best[(column + 1) * best.size() / columns - 1];
    const double share = std::isfinite(time) ? std::log(time / fastest) / height : 0;
    levels.push_back(!std::isfinite(time) ? 0
                                          : 1 + static_cast<std::size_t>(
                                                    std::lround(share * (kRows * kLevels - 1))));
  }
  std::string text;
  for (std::size_t row = kRows; row-- > 0;) {
    text += fmt::format("  {:>9} ", row == kRows - 1 ? format_time(slowest)
                                    : row == 0       ? format_time(fastest)
                                                     : "");
    for (const std::size_t level : levels) {
      const std::size_t filled = level > row * kLevels ? level - row * kLevels : 0;
      text += kBlocks[std::min(filled, kLevels)];
    }
    text += '\n';
  }
  return text;
}

std::string convergence_text(const std::vector<const TrialRow*>& trials, const Terminal& terminal) {
  const std::vector<double> best = best_so_far(trials);
  if (best.empty() || !std::isfinite(best.back())) {
    return fmt::format("no trial of {} has a time\n", trials.size());
  }
  const auto found = std::ranges::find(best, best.back()) - best.begin() + 1;
  std::string text = fmt::format("best time of the screening: {}, found by trial {} of {}\n",
                                 format_time(best.back()), found, trials.size());
  if (terminal.columns > 0 && best.size() > 1) {
    text += '\n' + convergence_drawing(best, columns_of(terminal)) + '\n';
  }
  return text;
}

struct Entry {
  std::string part;  // "winner", "tied", "baseline", ...
  std::string kernel;
  std::string config;  // or a baseline's name
  std::vector<double> sorted_ns;

  double at(double share) const {
    return sorted_ns[static_cast<std::size_t>(share * static_cast<double>(sorted_ns.size() - 1))];
  }
};

/// Those that were timed in all rounds.
std::vector<Entry> entries_of(const RankRecord& rank) {
  std::vector<Entry> entries;
  const auto add = [&](const char* part, const std::string& kernel, const std::string& config,
                       std::vector<double> samples_ns) {
    std::erase_if(samples_ns, [](double sample) { return !(std::isfinite(sample) && sample > 0); });
    if (samples_ns.empty()) return;
    std::ranges::sort(samples_ns);
    entries.push_back({part, kernel, config, std::move(samples_ns)});
  };
  for (const RankEntry& entry : rank.entries) {
    if (entry.eliminated) continue;
    add(entry.kernel.empty() ? "baseline"
        : entry.winner       ? "winner"
        : entry.tied         ? "tied"
                             : "slower",
        entry.kernel, entry.config, entry.samples_ns);
    if (entry.winner && rank.noise) {
      add("A/A duplicate", rank.noise->kernel, rank.noise->config, rank.noise->samples_ns);
    }
  }
  return entries;
}

/// How many samples lie where between `low` and `high`; what lies outside is in the end columns.
std::string distribution_drawing(const Entry& entry, double low, double high, std::size_t columns) {
  std::vector<std::size_t> counts(columns, 0);
  const double width = std::max(high - low, 1e-9);
  for (const double sample : entry.sorted_ns) {
    const double share = std::clamp((sample - low) / width, 0.0, 1.0);
    ++counts[std::min(static_cast<std::size_t>(share * static_cast<double>(columns)), columns - 1)];
  }
  const std::size_t most = *std::ranges::max_element(counts);
  std::string text;
  for (const std::size_t count : counts) text += kBlocks[(count * kLevels + most - 1) / most];
  return text;
}

std::string distribution_text(const RankRecord& rank, const Terminal& terminal) {
  const std::vector<Entry> entries = entries_of(rank);
  if (entries.empty()) return "";
  std::string text = fmt::format("\ntimes of the re-rank, {} rounds\n\n", rank.rounds);
  std::vector<KernelConfig> configs;
  for (const Entry& entry : entries) {
    if (!entry.kernel.empty()) configs.push_back({entry.kernel, parse_config(entry.config)});
  }
  const ConfigTexts texts(configs);
  Table table({"", ">median", ">5 %", ">95 %", "kernel", "configuration"});
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Entry& entry : entries) {
    const bool is_baseline = entry.kernel.empty();
    table.add_row(
        {entry.part, format_time(entry.at(0.5)), format_time(entry.at(0.05)),
         format_time(entry.at(0.95)), is_baseline ? "-" : entry.kernel,
         is_baseline ? entry.config : texts.line({entry.kernel, parse_config(entry.config)})},
        entry.part == "winner" ? Style::good : Style::plain);
    low = std::min(low, entry.at(0.01));
    high = std::max(high, entry.at(0.99));
  }
  text += table.text(terminal) + texts.notes(terminal);
  if (terminal.columns == 0) return text;
  const std::size_t columns = columns_of(terminal);
  text += '\n';
  for (const Entry& entry : entries) {
    text += fmt::format("  {:<13} {:>9} {}\n", entry.part, format_time(entry.at(0.5)),
                        distribution_drawing(entry, low, high, columns));
  }
  return text +
         fmt::format("{:26}{:<{}}{:>9}\n", "", format_time(low), columns - 9, format_time(high));
}

/// A question with its trials, oldest first, and its verdicts by time.
struct Answered : Question {
  std::vector<const TrialRow*> trials = {};
  std::vector<const RankRecord*> ranks = {};
};

std::vector<Answered> questions_of(const Results& results) {
  std::map<std::array<std::string, 5>, Answered> questions;
  const auto answers_of = [&](Question asked) -> Answered& {
    const std::array key{asked.op, to_text(asked.problem), asked.device.name, asked.protocol,
                         asked.provenance};
    return questions.try_emplace(key, Answered{std::move(asked)}).first->second;
  };
  for (const TrialRow& row : results.trials) answers_of(question_of(row)).trials.push_back(&row);
  for (const RankRow& rank : results.ranks) {
    if (rank.record.objective != Objective::time) continue;
    answers_of(question_of(rank)).ranks.push_back(&rank.record);
  }
  std::vector<Answered> list;
  for (auto& [key, answered] : questions) {
    if (!answered.trials.empty()) list.push_back(std::move(answered));
  }
  return list;
}

Json screening_json(const std::vector<const TrialRow*>& trials) {
  const std::vector<double> best = best_so_far(trials);
  const auto found = std::ranges::find(best, best.back());
  const bool any = std::isfinite(best.back());
  return {{"num_trials", trials.size()},
          {"time_ns", finite_or_null(best.back())},
          {"num_trials_to_best", any ? Json(found - best.begin() + 1) : Json()},
          {"best_so_far_ns", json_list(best, finite_or_null)}};
}

Json rerank_json(const RankRecord* of) {
  const RankRecord& rank = *of;
  const auto timed_json = [](const Entry& entry) -> Json {
    const bool is_baseline = entry.kernel.empty();
    return {{"part", entry.part},
            {"kernel", text_or_null(entry.kernel)},
            {"config", is_baseline ? Json() : config_json(parse_config(entry.config))},
            {"baseline", is_baseline ? Json(entry.config) : Json()},
            {"time_ns", entry.at(0.5)},
            {"percentile_5_ns", entry.at(0.05)},
            {"percentile_95_ns", entry.at(0.95)}};
  };
  return {{"rounds", rank.rounds}, {"entries", json_list(entries_of(rank), timed_json)}};
}

}  // namespace

std::string problem_text(const Results& results, const Terminal& terminal) {
  std::string text;
  for (const Answered& question : questions_of(results)) {
    text += (text.empty() ? "" : "\n") +
            folded_text(
                fmt::format(
                    "{} {} on {}, protocol {}{}", question.op, to_text(question.problem),
                    question.device.name, question.protocol,
                    question.provenance.empty() ? "" : fmt::format(" ({})", question.provenance)),
                terminal) +
            '\n';
    text += convergence_text(question.trials, terminal);
    for (const RankRecord* rank : question.ranks) text += distribution_text(*rank, terminal);
  }
  return text;
}

std::string problem_view_json(const Results& results) {
  Json problems = Json::array();
  for (const Answered& question : questions_of(results)) {
    problems.push_back(question_json(question));
    problems.back().update({{"provenance", text_or_null(question.provenance)},
                            {"screening", screening_json(question.trials)},
                            {"reranks", json_list(question.ranks, rerank_json)}});
  }
  return document("problem", {{"problems", std::move(problems)}});
}

}  // namespace assay
