#include "report/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/error.h"
#include "report/entry_json.h"
#include "report/export.h"
#include "report/page_parts.h"
#include "store/gzip.h"

namespace assay {
namespace {

constexpr std::size_t kNumBins = 120;  // of a distribution: as many as its picture can show

/// With five digits, which is more than any time is known to, and takes less of the page.
Json five_digits(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr);
}

Json interval_json(const Interval& interval) {
  if (interval.value <= 0) return nullptr;
  const bool open = interval.low <= 0 && interval.high <= 0;
  return {five_digits(interval.value), open ? Json(nullptr) : five_digits(interval.low),
          open ? Json(nullptr) : five_digits(interval.high)};
}

double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

/// The samples that are shown, in bins that all of them share, so that they can be compared by eye.
/// What lies beyond the last bin is counted in it.
struct Bins {
  double low = 0;
  double step = 0;

  explicit Bins(const std::vector<const std::vector<double>*>& all) {
    double high = 0;
    for (const std::vector<double>* samples : all) {
      if (samples->empty()) continue;
      std::vector<double> sorted = *samples;
      std::ranges::sort(sorted);
      low = high == 0 ? sorted.front() : std::min(low, sorted.front());
      high = std::max(high, quantile(sorted, 0.98));
    }
    step = (high - low) / static_cast<double>(kNumBins);
  }

  Json counts(const std::vector<double>& samples) const {
    std::vector<int> counts(kNumBins, 0);
    for (const double sample : samples) {
      const double at = step > 0 ? (sample - low) / step : 0;
      ++counts[static_cast<std::size_t>(std::clamp(at, 0.0, kNumBins - 1.0))];
    }
    return counts;
  }
};

Json entry_of_rank(const RankEntry& entry) {
  const char* role = entry.kernel.empty() ? "baseline"
                     : entry.winner       ? "winner"
                     : entry.tied         ? "tie"
                                          : "other";
  return {{"role", role},
          {"kernel", entry.kernel},
          {"config", entry.config},
          {"time_ns", five_digits(entry.median_ns)},
          {"ratio", interval_json(entry.ratio_to_best)},
          {"speedup", interval_json(entry.speedup_over_baseline)},
          {"cycles_ratio", interval_json(entry.cycles_ratio_to_best)},
          {"energy_j", entry.energy_j > 0 ? five_digits(entry.energy_j) : Json(nullptr)},
          {"rounds", entry.samples_ns.size()},
          {"eliminated", entry.eliminated},
          {"failure", entry.failure}};
}

/// A re-rank: all its entries, and the distribution of those that the verdict rests on.
Json rank_json(const RankRecord& rank) {
  const auto has_duplicate = [&rank](const RankEntry& entry) {
    return rank.noise && rank.noise->kernel == entry.kernel && rank.noise->config == entry.config;
  };
  const auto is_shown = [&](const RankEntry& entry) {
    return !entry.samples_ns.empty() && entry.failure.empty() &&
           (entry.winner || entry.tied || entry.kernel.empty() || has_duplicate(entry));
  };
  std::vector<const std::vector<double>*> shown;
  for (const RankEntry& entry : rank.entries) {
    if (is_shown(entry)) shown.push_back(&entry.samples_ns);
  }
  if (rank.noise) shown.push_back(&rank.noise->samples_ns);
  const Bins bins(shown);
  Json entries = Json::array();
  for (const RankEntry& entry : rank.entries) {
    Json& json = entries.emplace_back(entry_of_rank(entry));
    if (is_shown(entry)) json["counts"] = bins.counts(entry.samples_ns);
  }
  if (rank.noise) {
    entries.push_back(
        {{"role", "duplicate"},
         {"kernel", rank.noise->kernel},
         {"config", rank.noise->config},
         {"time_ns", rank.noise->samples_ns.empty() ? Json(nullptr)
                                                    : five_digits(median(rank.noise->samples_ns))},
         {"ratio", interval_json(rank.noise->ratio)},
         {"rounds", rank.noise->samples_ns.size()},
         {"counts", bins.counts(rank.noise->samples_ns)}});
  }
  return {{"rounds", rank.rounds},          {"num_candidates", rank.identity.num_candidates},
          {"cublas", rank.identity.cublas}, {"bin_low_ns", five_digits(bins.low)},
          {"bin_step_ns", bins.step},       {"entries", std::move(entries)}};
}

/// The winner as each format exports it that can say what it is.
Json exports_json(const TunedTable& table, const TunedRow& row) {
  Json exports = Json::array();
  if (!row.reranked) return exports;
  TunedTable one = table;
  one.entries = {row};
  one.fallback = 0;
  const auto add = [&](const char* format, const auto& write) {
    try {
      exports.push_back({{"format", format}, {"text", write()}});
    } catch (const UsageError&) {
      // Its parameters do not mean what the format says.
    }
  };
  add("json", [&] { return export_json({one}); });
  add("csv", [&] { return export_csv({one}); });
  add("markdown", [&] { return export_markdown({one}); });
  add("header", [&] { return export_header({one}, "assay_tuned"); });
  add("wisdom", [&] { return export_wisdom({one}); });
  add("triton", [&] { return export_triton({one}); });
  add("vllm-moe", [&] { return export_vllm_moe({one}).at(0).text; });
  return exports;
}

/// The verdict that a row was made from; null where it was not re-ranked.
const RankRecord* rank_of(const Results& results, const TunedRow& row) {
  const auto found = std::ranges::find(results.ranks, row.rank_id, &RankRow::id);
  return row.reranked && found != results.ranks.end() ? &found->record : nullptr;
}

/// What became of a row since another run; null where that is not known.
Json change_json(const RunComparison* since, const TunedTable& table, const Problem& problem) {
  if (since == nullptr || table.objective != Objective::time) return nullptr;
  const std::string asked = question_text({table.op, problem, table.device, table.protocol});
  for (const ComparedResult& result : since->results) {
    if (question_text(result) != asked) continue;
    const bool known = result.judgement && result.judgement->ratios.time;
    return {{"fate", to_text(result.fate)},
            {"ratio", known ? five_digits(result.judgement->ratio.value) : Json(nullptr)},
            {"change", change_text(result)},
            {"remarks", remarks_text(result)}};
  }
  return nullptr;
}

/// What trials of one question have in common, by which they are found for a table's row.
std::string name_of(const Question& question) {
  return question_text(question) + ' ' + question.provenance;
}

constexpr std::string_view kPlace = "<!-- the data -->";

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      three = three << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      const bool is_padding = i + j > bytes.size();
      text += is_padding ? '=' : kDigits[three >> (18 - 6 * j) & 63u];
    }
  }
  return text;
}

}  // namespace

struct PageData::Answered {
  std::string source;
  TunedTable table;  // with this question's row alone; with none if nothing was correct
  Problem problem;
  std::string finished_at;
  Json json;                                 // without what is found for it at the end
  std::shared_ptr<const PageTrials> trials;  // which questions of several objectives share

  /// What is kept of several is the one for which this is largest.
  auto worth() const {
    const bool reranked = !table.entries.empty() && table.entries.front().reranked;
    return std::tuple(!table.entries.empty(), reranked, finished_at);
  }
};

/// The trials of one question, and what all of them say.
struct PageData::Taken : Question {
  PageTrials columns = {};
  std::string finished_at = {};  // of the last
};

PageData::PageData(KernelNowOf kernel_now_of, CeilingsOf ceilings_of, FiguresOf figures_of,
                   CodeOf code_of, CodeAhead code_ahead)
    : kernel_now_of_(std::move(kernel_now_of)),
      ceilings_of_(std::move(ceilings_of)),
      figures_of_(std::move(figures_of)),
      code_of_(std::move(code_of)),
      code_ahead_(std::move(code_ahead)) {}
PageData::~PageData() = default;

bool PageData::take(const TrialRow& trial, const Results& results) {
  if (taking_ == nullptr || !answers(trial, *taking_)) {
    Question question = question_of(trial);
    const std::string name = name_of(question);
    taking_ = &taken_.try_emplace(name, Taken{std::move(question)}).first->second;
  }
  taking_->finished_at = trial.record.finished_at;
  taking_->columns.add(trial);
  return tuned_(trial, results);
}

void PageData::add(const std::string& source, const Results& results, const RunComparison* since) {
  sources_.push_back(source);
  if (since != nullptr) {
    comparisons_.push_back(
        fmt::format("{} since {}: {}", source, since->before, summary_text(*since)));
  }
  std::map<std::string, std::vector<const TrialRow*>> trials;  // that were kept
  for (const TrialRow& row : results.trials) {
    trials[name_of(question_of(row))].push_back(&row);
  }
  std::map<std::string, Taken> taken = std::exchange(taken_, {});
  taking_ = nullptr;
  tuned_ = TunedTrials();
  std::map<std::string, std::shared_ptr<const PageTrials>> columns;
  for (auto& [name, question] : taken) {
    columns[name] = std::make_shared<const PageTrials>(std::move(question.columns));
  }
  const auto keep = [&](Answered question) {
    const TunedTable& table = question.table;
    const Key key(order_of({table.op, question.problem, table.device, table.protocol}),
                  table.objective);
    const auto [at, is_new] = questions_.try_emplace(key, std::move(question));
    if (!is_new && at->second.worth() < question.worth()) at->second = std::move(question);
  };
  const std::vector<TunedTable> tables = tuned_tables(results, Screened::show);
  const auto name_in = [](const TunedTable& table, const TunedRow& row) {
    return name_of({table.op, row.problem, table.device, table.protocol, row.provenance});
  };
  for (const TunedTable& table : tables) {
    for (const TunedRow& row : table.entries) {
      const RankRecord* const rank = rank_of(results, row);
      if (rank == nullptr || !code_of_) continue;
      for (const ShownCode& code : shown_codes(*rank, trials[name_in(table, row)])) {
        code_ahead_(*code.row, code.baseline);
      }
    }
  }
  std::set<std::string> answered;
  for (const TunedTable& table : tables) {
    for (const TunedRow& row : table.entries) {
      const std::string name = name_in(table, row);
      answered.insert(name);
      Answered question{source, table, row.problem, row.finished_at, Json::object(), columns[name]};
      question.table.entries = {row};
      question.table.fallback = 0;
      Json& json = question.json;
      json["entry"] = entry_json(row);
      const auto [work, stale] = kernel_now_of_(table.device, row);
      json["work"] =
          work ? Json{{"contract", work->contract}, {"flops", work->flops}, {"bytes", work->bytes}}
               : Json(nullptr);
      json["stale"] = text_or_null(stale);
      json["roofline_ns"] = row.roofline_ns > 0 ? five_digits(row.roofline_ns) : Json(nullptr);
      const RankRecord* const rank = rank_of(results, row);
      json["rank"] = rank != nullptr ? rank_json(*rank) : Json(nullptr);
      json["why"] =
          rank != nullptr ? why_json(*rank, trials[name], figures_of_, code_of_) : Json(nullptr);
      json["exports"] = exports_json(table, row);
      json["change"] = change_json(since, table, row.problem);
      keep(std::move(question));
    }
  }
  // Where nothing was correct there is no row, but there are trials that say why.
  for (const auto& [name, last] : taken) {
    if (answered.contains(name)) continue;
    Answered question{source,
                      {last.op, last.device, last.protocol, Objective::time, {}, 0},
                      last.problem,
                      last.finished_at,
                      Json{{"entry", nullptr}},
                      columns[name]};
    question.json["change"] = change_json(since, question.table, last.problem);
    keep(std::move(question));
  }
}

std::size_t PageData::num_trials() const {
  std::set<const PageTrials*> counted;
  std::size_t sum = 0;
  for (const auto& [key, question] : questions_) {
    const PageTrials* const trials = question.trials.get();
    if (trials != nullptr && counted.insert(trials).second) sum += trials->size();
  }
  return sum;
}

std::string PageData::json(const std::vector<ResultHistory>& histories) const {
  Json questions = Json::array();
  std::string trials;
  Json devices = Json::object();
  std::map<const PageTrials*, std::size_t> places;  // of the trials that are written already
  for (const auto& [key, question] : questions_) {
    const TunedTable& table = question.table;
    const auto [place, is_new] = places.try_emplace(question.trials.get(), places.size());
    if (is_new)
      trials += (trials.empty() ? "" : ",") + (question.trials ? question.trials->json() : "null");
    if (!devices.contains(table.device.slug())) {
      Json device = device_json(table.device);
      const Ceilings ceilings = ceilings_of_(table.device).value_or(Ceilings{});
      device["memory_bytes_per_s"] = five_digits(ceilings.read_bytes_per_s);
      device["l2_bytes_per_s"] = five_digits(ceilings.l2_bytes_per_s);
      devices[table.device.slug()] = std::move(device);
    }
    Json json{{"op", table.op},
              {"problem", problem_json(question.problem)},
              {"device", table.device.slug()},
              {"protocol", table.protocol},
              {"objective", to_text(table.objective)},
              {"source", question.source},
              {"trials", place->second}};
    json.update(question.json);
    questions.push_back(std::move(json));
  }
  const Json page{{"sources", sources_},
                  {"comparisons", comparisons_},
                  {"devices", std::move(devices)},
                  {"questions", std::move(questions)},
                  {"history", history_json(histories)}};
  std::string text = line_of(page);
  text.pop_back();  // the bracket
  return text + ",\"trials\":[" + trials + "]}";
}

std::string page_html(std::string_view data) {
  const std::size_t place = kPageTemplate.find(kPlace);
  if (place == std::string_view::npos) {
    throw Error(
        "this assay was built without the page; scripts/setup.sh installs what it is built with, "
        "then scripts/build.sh");
  }
  std::string html(kPageTemplate.substr(0, place));
  html += "<script id=\"data\" type=\"text/plain\">" + base64(gzip(data)) + "</script>";
  html += kPageTemplate.substr(place + kPlace.size());
  return html;
}

}  // namespace assay
