#include "report/problem_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "report/config_text.h"
#include "report/table.h"

namespace assay {
namespace {

constexpr std::size_t kColumns = 60;  // with the words beside it, 80 to 100
constexpr std::size_t kRows = 4;
constexpr std::size_t kLevels = 8;  // of one character
constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

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
std::string convergence_drawing(const std::vector<double>& best) {
  const auto first =
      std::find_if(best.begin(), best.end(), [](double t) { return std::isfinite(t); });
  const double slowest = *first;
  const double fastest = best.back();
  const std::size_t columns = std::min(kColumns, best.size());
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

std::string convergence_text(const std::vector<const TrialRow*>& trials, Drawing drawing) {
  const std::vector<double> best = best_so_far(trials);
  if (best.empty() || !std::isfinite(best.back())) {
    return fmt::format("no trial of {} has a time\n", trials.size());
  }
  const auto found = std::find(best.begin(), best.end(), best.back()) - best.begin() + 1;
  std::string text = fmt::format("best time of the screening: {}, found by trial {} of {}\n",
                                 format_time(best.back()), found, trials.size());
  if (drawing == Drawing::yes && best.size() > 1) text += '\n' + convergence_drawing(best) + '\n';
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
    std::sort(samples_ns.begin(), samples_ns.end());
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

/// The configurations in few columns, by kernel.
std::map<std::string, ConfigText> config_texts(const std::vector<Entry>& entries) {
  std::map<std::string, std::vector<Config>> configs;
  for (const Entry& entry : entries) {
    if (!entry.kernel.empty()) configs[entry.kernel].push_back(parse_config(entry.config));
  }
  std::map<std::string, ConfigText> texts;
  for (const auto& [kernel, list] : configs) texts.emplace(kernel, ConfigText(kernel, list, false));
  return texts;
}

/// How many samples lie where between `low` and `high`; what lies outside is in the end columns.
std::string distribution_drawing(const Entry& entry, double low, double high) {
  std::vector<std::size_t> counts(kColumns, 0);
  const double width = std::max(high - low, 1e-9);
  for (const double sample : entry.sorted_ns) {
    const double share = std::clamp((sample - low) / width, 0.0, 1.0);
    ++counts[std::min(static_cast<std::size_t>(share * kColumns), kColumns - 1)];
  }
  const std::size_t most = *std::max_element(counts.begin(), counts.end());
  std::string text;
  for (const std::size_t count : counts) text += kBlocks[(count * kLevels + most - 1) / most];
  return text;
}

std::string distribution_text(const RankRecord& rank, Drawing drawing) {
  const std::vector<Entry> entries = entries_of(rank);
  if (entries.empty()) return "";
  std::string text = fmt::format("\ntimes of the re-rank, {} rounds\n\n", rank.rounds);
  const std::map<std::string, ConfigText> configs = config_texts(entries);
  Table table({"", ">median", ">5 %", ">95 %", "kernel", "configuration"});
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Entry& entry : entries) {
    const bool is_baseline = entry.kernel.empty();
    table.add_row(
        {entry.part, format_time(entry.at(0.5)), format_time(entry.at(0.05)),
         format_time(entry.at(0.95)), is_baseline ? "-" : entry.kernel,
         is_baseline ? entry.config : configs.at(entry.kernel).line(parse_config(entry.config))});
    low = std::min(low, entry.at(0.01));
    high = std::max(high, entry.at(0.99));
  }
  text += table.text();
  for (const auto& [kernel, config] : configs) {
    if (!config.note().empty()) text += config.note() + '\n';
  }
  if (drawing == Drawing::no) return text;
  text += '\n';
  for (const Entry& entry : entries) {
    text += fmt::format("  {:<13} {:>9} {}\n", entry.part, format_time(entry.at(0.5)),
                        distribution_drawing(entry, low, high));
  }
  return text +
         fmt::format("{:26}{:<{}}{:>9}\n", "", format_time(low), kColumns - 9, format_time(high));
}

}  // namespace

std::string problem_text(const Results& results, Drawing drawing) {
  using Question = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  const auto question_of = [](const auto& row, const std::string& op) {
    return Question(op, to_text(row.record.problem), row.device.name, row.record.protocol.name,
                    row.provenance);
  };
  std::map<Question, std::vector<const TrialRow*>> trials;
  for (const TrialRow& row : results.trials) {
    trials[question_of(row, row.record.kernel.op)].push_back(&row);
  }
  std::string text;
  for (const auto& [question, rows] : trials) {
    const auto& [op, problem, device, protocol, provenance] = question;
    text +=
        fmt::format("{}{} {} on {}, protocol {}{}\n\n", text.empty() ? "" : "\n", op, problem,
                    device, protocol, provenance.empty() ? "" : fmt::format(" ({})", provenance));
    text += convergence_text(rows, drawing);
    for (const RankRow& rank : results.ranks) {
      if (question_of(rank, rank.record.op) == question &&
          rank.record.objective == Objective::time) {
        text += distribution_text(rank.record, drawing);
      }
    }
  }
  return text;
}

}  // namespace assay
