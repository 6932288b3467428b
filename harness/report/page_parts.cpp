#include "report/page_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/find_named.h"
#include "report/entry_json.h"
#include "report/explain.h"

namespace assay {
namespace {

/// Seconds of a time like "2026-11-22T18:59:58Z"; 0 for anything else.
std::int64_t seconds_of(const std::string& time) {
  std::tm parts{};
  if (::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return 0;
  return ::timegm(&parts);
}

/// Of the first line of a message: the program shows the rest.
constexpr std::size_t kMostCharacters = 200;

/// A list of numbers. As values of the library, 10^6 of them would take 16 MB.
template <class Number>
std::string list(const std::vector<Number>& numbers) {
  std::string text = "[";
  for (const Number number : numbers) {
    if (text.size() > 1) text += ',';
    if (std::is_floating_point_v<Number> && std::isnan(static_cast<double>(number))) {
      text += "null";
    } else {
      fmt::format_to(std::back_inserter(text), "{}", number);
    }
  }
  return text + ']';
}

/// What the re-rank knows of an entry, which is better than what the screening did.
void add_rounds(Figures& figures, const RankRecord& rank, const RankEntry& entry) {
  figures.time_ns = median_interval(entry.samples_ns);
  figures.verdict = rank.finished_at;
  figures.rounds_ns = entry.samples_ns;
  std::vector<double> clocks_mhz = entry.clocks_mhz;
  std::erase(clocks_mhz, 0.0);
  if (!clocks_mhz.empty()) figures.clock_mhz = median(clocks_mhz);
}

/// The trial of an entry of the re-rank; null where it is not there.
const TrialRow* trial_of(const RankEntry& entry, const std::vector<const TrialRow*>& trials) {
  const auto row = std::ranges::find_if(trials, [&](const TrialRow* each) {
    return each->id == entry.trial_id && each->record.outcome.timing;
  });
  return row == trials.end() ? nullptr : *row;
}

/// Of an entry of the re-rank, timed in turn with the others.
Figures entry_figures(const RankRecord& rank, const RankEntry& entry, const TrialRow& row,
                      const FiguresOf& figures_of) {
  Figures figures = figures_of(row);
  add_rounds(figures, rank, entry);
  return figures;
}

/// Of those whose code is known, how many instructions each has of each class that any has.
Json code_json(const std::vector<std::pair<const char*, CodeCounts>>& all) {
  Json classes = Json::array(), columns = Json::array();
  std::vector<std::size_t> present;
  for (std::size_t i = 0; i < kInstructionClasses; ++i) {
    const auto has = [&](const auto& one) { return one.second.once[i] > 0; };
    if (std::ranges::none_of(all, has)) continue;
    present.push_back(i);
    classes.push_back(to_text(static_cast<InstructionClass>(i)));
  }
  for (const auto& [role, counts] : all) {
    Json column{{"role", role}};
    if (!counts.none.empty()) {
      column["none"] = counts.none;
    } else {
      column["set"] = counts.set == InstructionSet::ptx ? "PTX" : "SASS";
      for (const std::size_t i : present) {
        column["once"].push_back(counts.once[i]);
        column["weighted"].push_back(counts.weighted[i]);
      }
    }
    columns.push_back(std::move(column));
  }
  return {{"classes", classes}, {"columns", columns}};
}

/// It does the same work as the winner; how is not known.
Figures baseline_figures(const Figures& winner, const RankRecord& rank, const RankEntry& entry) {
  Figures figures;
  figures.title = entry.config;
  figures.question = winner.question;
  add_rounds(figures, rank, entry);
  figures.bytes = winner.bytes;
  figures.flops = winner.flops;
  figures.on_tensor_cores = winner.on_tensor_cores;
  figures.from_l2 = winner.from_l2;
  figures.memory_ns = winner.memory_ns;
  figures.operations_ns = winner.operations_ns;
  figures.roofline_ns = winner.roofline_ns;
  return figures;
}

/// The winner and what is compared with it; null where it is not there.
struct Rivals {
  const RankEntry *winner = nullptr, *next = nullptr, *baseline = nullptr;
  const TrialRow *winner_row = nullptr, *next_row = nullptr;  // their trials
};

Rivals rivals_of(const RankRecord& rank, const std::vector<const TrialRow*>& trials) {
  Rivals rivals;
  for (const RankEntry& entry : rank.entries) {
    if (entry.samples_ns.size() < kFewestValues || !entry.failure.empty()) continue;
    if (entry.winner) {
      rivals.winner = &entry;
      continue;
    }
    if (entry.kernel.empty() && !entry.is_rival()) continue;
    const RankEntry*& best = entry.kernel.empty() ? rivals.baseline : rivals.next;
    if (best == nullptr || entry.median_ns < best->median_ns) best = &entry;
  }
  if (rivals.winner != nullptr) rivals.winner_row = trial_of(*rivals.winner, trials);
  if (rivals.next != nullptr) rivals.next_row = trial_of(*rivals.next, trials);
  return rivals;
}

std::vector<ShownCode> codes_of(const Rivals& rivals) {
  std::vector<ShownCode> codes;
  if (rivals.winner_row == nullptr) return codes;
  codes.push_back({"winner", rivals.winner_row, ""});
  if (rivals.next_row != nullptr) codes.push_back({"runner-up", rivals.next_row, ""});
  if (rivals.baseline != nullptr) {
    codes.push_back({"baseline", rivals.winner_row, rivals.baseline->config});
  }
  return codes;
}

}  // namespace

int Words::place_of(const std::string& text) {
  const auto [at, is_new] = places_.try_emplace(text, static_cast<int>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return at->second;
}

PageTrials::Param& PageTrials::param(const std::string& name) {
  if (Param* const known = find_named(params_, name)) return *known;
  return params_.emplace_back(Param{name, {}, {}});
}

void PageTrials::add(const TrialRow& row) {
  const TrialRecord& trial = row.record;
  const Outcome& outcome = trial.outcome;
  const bool timed = outcome.status == Status::correct && outcome.timing.has_value();
  const bool is_censored = timed && outcome.timing->censored();
  const std::int64_t seconds = seconds_of(trial.finished_at);
  if (times_ns_.empty()) {
    started_at_ = trial.finished_at;
    started_ = seconds;
  }
  kernel_.push_back(kernels_.place_of(trial.kernel.name));
  status_.push_back(
      statuses_.place_of(is_censored ? "stopped early" : std::string(to_text(outcome.status))));
  kind_.push_back(kinds_.place_of(outcome.kind));
  message_.push_back(messages_.place_of(
      outcome.message.substr(0, std::min(outcome.message.find('\n'), kMostCharacters))));
  registers_.push_back(trial.compile.registers);
  spills_.push_back(trial.compile.spill_bytes);
  seconds_.push_back(seconds - started_);
  // Numbers mostly follow each other; what lies between two is short, and much alike.
  id_steps_.push_back(row.id - last_id_);
  last_id_ = row.id;
  times_ns_.push_back(
      timed ? std::strtod(fmt::format("{:.5g}", outcome.timing->median_ns).c_str(), nullptr)
            : std::numeric_limits<double>::quiet_NaN());
  for (const auto& [name, value] : trial.config) {
    Param& own = param(name);
    own.at.resize(size() - 1, -1);
    const int next = static_cast<int>(own.places.size());
    own.at.push_back(own.places.try_emplace(value, next).first->second);
  }
}

std::string PageTrials::json() const {
  std::string params;
  for (const Param& each : params_) {
    // Small values first.
    std::vector<int> place_of(each.places.size());
    Json values = Json::array();
    for (const auto& [value, met] : each.places) {
      place_of[static_cast<std::size_t>(met)] = static_cast<int>(values.size());
      values.push_back(value_json(value));
    }
    std::vector<int> at = each.at;
    at.resize(size(), -1);
    for (int& place : at) place = place < 0 ? -1 : place_of[static_cast<std::size_t>(place)];
    params += fmt::format("{}{{\"name\":{},\"values\":{}", params.empty() ? "" : ",",
                          line_of(each.name), line_of(values));
    // A column of zeros says nothing.
    if (std::ranges::any_of(at, [](int place) { return place != 0; })) {
      params += ",\"at\":" + list(at);
    }
    params += '}';
  }
  std::string text = fmt::format("{{\"count\":{},\"params\":[{}]", size(), params);
  const auto add = [&text](const char* key, const std::string& json) {
    text += fmt::format(",\"{}\":{}", key, json);
  };
  add("started_at", line_of(started_at_));
  add("kernels", line_of(kernels_.texts()));
  add("statuses", line_of(statuses_.texts()));
  add("kinds", line_of(kinds_.texts()));
  add("messages", line_of(messages_.texts()));
  add("kernel", list(kernel_));
  add("status", list(status_));
  add("kind", list(kind_));
  add("message", list(message_));
  add("registers", list(registers_));
  add("spill_bytes", list(spills_));
  add("seconds", list(seconds_));
  add("id_steps", list(id_steps_));
  add("time_ns", list(times_ns_));
  return text + '}';
}

std::vector<ShownCode> shown_codes(const RankRecord& rank,
                                   const std::vector<const TrialRow*>& trials) {
  return codes_of(rivals_of(rank, trials));
}

Json why_json(const RankRecord& rank, const std::vector<const TrialRow*>& trials,
              const FiguresOf& figures_of, const CodeOf& code_of) {
  const Rivals rivals = rivals_of(rank, trials);
  const auto [winner, next, baseline, row, next_row] = rivals;
  if (row == nullptr) return nullptr;
  const Figures figures = entry_figures(rank, *winner, *row, figures_of);
  const Explanation explanation = explain(figures);
  Json json{{"headline", explanation.headline},
            {"causes", explain_json(figures, explanation).at("causes")},
            {"memory_ns", known_or_null(figures.memory_ns)},
            {"operations_ns", known_or_null(figures.operations_ns)},
            {"against", Json::array()}};
  const auto compare = [&](const char* role, const RankEntry& entry, const Figures& other) {
    Json faster = faster_json(figures, other);
    // What only the winner has is no difference.
    Json both = Json::array();
    for (const Json& figure : faster.at("differences")) {
      if (figure.at("before") != "-" && figure.at("after") != "-") both.push_back(figure);
    }
    json["against"].push_back({{"role", role},
                               {"kernel", entry.kernel},
                               {"config", entry.config},
                               {"headline", faster.at("headline")},
                               {"because", faster.at("because")},
                               {"figures", both}});
  };
  if (next_row != nullptr) {
    compare("runner-up", *next, entry_figures(rank, *next, *next_row, figures_of));
  }
  if (baseline != nullptr) {
    compare("baseline", *baseline, baseline_figures(figures, rank, *baseline));
  }
  if (!code_of) return json;
  std::vector<std::pair<const char*, CodeCounts>> codes;
  for (const ShownCode& code : codes_of(rivals)) {
    codes.emplace_back(code.role, code_of(*code.row, code.baseline));
  }
  json["code"] = code_json(codes);
  return json;
}

}  // namespace assay
