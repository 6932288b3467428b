#include "cli/sweep_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/terminal.h"
#include "report/entry_json.h"
#include "report/launch_figures.h"
#include "report/table.h"
#include "report/trials_view.h"
#include "report/tuned_table.h"
#include "search/search.h"
#include "space/plan.h"

namespace assay {
namespace {

constexpr std::size_t kExampleColumns = 110;

double mean(std::size_t sum, std::size_t count) {
  return static_cast<double>(sum) / static_cast<double>(count);
}

void print_counts(const SweepReport& report, const Terminal& terminal) {
  Table table({"status", ">trials", "for example"});
  for (const auto& [what, count] : report.counts) {
    const auto example = report.examples.find(what);
    table.add_row(
        {status_text(what.first, what.second), format_count(count),
         example == report.examples.end() ? "" : first_line(example->second, kExampleColumns)},
        is_failure(what.first) ? Style::failure : Style::plain);
  }
  write_out(table.text(terminal));
}

void print_searches(const std::vector<SearchReport>& searches, const Terminal& terminal) {
  Table table({"kernel", "problem", ">tried", ">of", ">still to gain"});
  for (const SearchReport& search : searches) {
    std::string gain =
        search.gain_ratio ? fmt::format("{:.1f} %", *search.gain_ratio * 100) : "not known";
    if (search.tried >= search.size) gain = "nothing";
    table.add_row({search.kernel, search.problem, format_count(search.tried),
                   format_count(search.size), gain});
  }
  print_out("\n{}{}", table.text(terminal),
            folded_text(fmt::format("still to gain: so much faster, at most, is anything untried; "
                                    "the search's model is {:.0f} % sure",
                                    kGainSureness * 100),
                        terminal));
}

/// `word` as a shell reads it as one.
std::string shell_word(const std::string& word) {
  const bool is_plain = std::ranges::all_of(word, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-+=,./:@%").find(c) != std::string_view::npos;
  });
  if (is_plain && !word.empty()) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Three commands that look at what is there now.
void print_next(const TunedTable& table, const std::string& sweep, const Store& store) {
  const std::string path = shell_word(store.path().string());
  const std::string only = "--db " + path + " --sweep " + shell_word(sweep);
  print_out(
      "next: assay best {} --ties\n"
      "      assay show {} {}\n"
      "      assay report {} --html report.html\n",
      only, shell_word(to_text(table.entries.front().problem)), only, path);
}

/// The winners of this sweep's problems on this device, without those of other devices in the same
/// database.
std::vector<TunedTable> winners(const SweepSummary& summary, const Store& store) {
  Results results = store.results({.status = Status::correct, .sweep = summary.sweep.name});
  const auto is_other = [&](const auto& row) {
    const std::vector<Problem>& asked = summary.sweep.problems;
    return row.provenance != summary.provenance || row.device.uuid != summary.device.uuid ||
           std::ranges::find(asked, row.record.problem) == asked.end();
  };
  std::erase_if(results.ranks, is_other);
  std::erase_if(results.trials, is_other);
  std::erase_if(results.baselines, is_other);
  return tuned_tables(results, Screened::show);
}

/// What was compiled for this device and not run.
std::vector<CompiledConfig> compiled_configs(const SweepSummary& summary, const Store& store) {
  const Filter filter{.status = Status::compiled, .sweep = summary.sweep.name};
  std::vector<CompiledConfig> configs;
  for (const TrialRow& row : store.trials(filter)) {
    if (row.device.uuid != summary.device.uuid) continue;
    CompiledConfig& config =
        configs.emplace_back(CompiledConfig{row.record.kernel.name, row.record.compile});
    for (const Measurement& each : row.record.measurements) {
      if (each.name == kBlockSmem) config.smem_bytes = each.value;
      if (each.name == kBlocksPerSm) config.blocks_per_sm = each.value;
    }
  }
  return configs;
}

/// The warnings of the report, and which problems have no winner by the objective.
std::vector<std::string> warnings_of(const SweepSummary& summary, const SweepReport& report,
                                     const std::vector<TunedTable>& tables) {
  std::vector<std::string> dropped;
  for (const Problem& problem : summary.sweep.problems) {
    bool has_times = false, has_winner = false;
    for (const TunedTable& table : tables) {
      for (const TunedRow& row : table.entries) {
        if (row.problem != problem) continue;
        has_times = true;
        has_winner = has_winner || table.objective == summary.sweep.rerank.objective;
      }
    }
    if (has_times && !has_winner) dropped.push_back(to_text(problem));
  }
  std::vector<std::string> warnings = report.warnings;
  if (!dropped.empty()) {
    warnings.push_back(fmt::format("no winner by {} for {} of {} problems: {}",
                                   to_text(summary.sweep.rerank.objective), dropped.size(),
                                   summary.sweep.problems.size(), fmt::join(dropped, "; ")));
  }
  return warnings;
}

}  // namespace

Json summary_json(const SweepSummary& summary, const SweepReport& report, const Store& store,
                  const char* error) {
  const std::vector<TunedTable> best = winners(summary, store);
  Json counts = Json::array();
  for (const auto& [what, count] : report.counts) {
    counts.push_back(
        {{"status", to_text(what.first)}, {"kind", what.second}, {"num_trials", count}});
  }
  const auto removed_json = [](const auto& removed) -> Json {
    return {{"constraint", removed.first}, {"num_configs", removed.second}};
  };
  const auto search_json = [](const SearchReport& search) -> Json {
    return {{"kernel", search.kernel},
            {"problem", problem_json(parse_problem(search.problem))},
            {"num_tried", search.tried},
            {"num_configs", search.size},
            {"gain_ratio", search.gain_ratio ? Json(*search.gain_ratio) : Json()}};
  };
  return {
      {"error", error == nullptr ? Json(nullptr) : Json(error)},
      {"sweep", summary.sweep.name},
      {"device", summary.device.name},
      {"provenance", summary.provenance},
      {"database", store.path().string()},
      {"num_trials", report.total},
      {"num_measured", report.measured},
      {"num_reused", report.kept},
      {"num_claimed", report.taken},
      {"num_same_code", report.same_code},
      {"num_skipped", report.skipped},
      {"num_carried_over", report.carried_over},
      {"counts", counts},
      {"removed", json_list(report.removed, removed_json)},
      {"wall_s", report.wall_s},
      {"screening_s", report.screening_s},
      {"device_s", report.device_s},
      {"compiler_wait_s", report.compiler_wait_s},
      {"compile_s", report.compile_s},
      {"stopped_early",
       {{"num_configs", report.racing.raced},
        {"num_samples", report.racing.raced_samples},
        {"saved_s", report.racing.saved_s()}}},
      {"sampled_in_full",
       {{"num_configs", report.racing.finished}, {"num_samples", report.racing.finished_samples}}},
      {"searches", json_list(report.searches, search_json)},
      {"best", best_json(best)},
      {"warnings", warnings_of(summary, report, best)}};
}

void print_summary(const SweepSummary& summary, const SweepReport& report, const Store& store) {
  const Terminal terminal = stdout_terminal();
  const auto say = [&terminal](const std::string& line) { write_out(folded_text(line, terminal)); };
  const std::vector<TunedTable> best =
      summary.compile_only ? std::vector<TunedTable>() : winners(summary, store);
  if (!summary.compile_only) print_out("{}\n", best_text(best, {.terminal = terminal}));
  print_counts(report, terminal);
  if (summary.compile_only) {
    const std::vector<CompiledConfig> compiled = compiled_configs(summary, store);
    if (!compiled.empty()) print_out("\n{}", compiled_text(compiled, terminal));
  }
  if (!report.searches.empty()) print_searches(report.searches, terminal);
  std::string line = fmt::format("{} of {} trials", format_count(report.measured + report.kept),
                                 format_count(report.total));
  line += fmt::format(": {} now, {} kept from before", format_count(report.measured),
                      format_count(report.kept));
  if (report.taken > 0)
    line +=
        fmt::format(", {} of them by another sweep at the same time", format_count(report.taken));
  if (report.skipped > 0)
    line += fmt::format(", {} skipped (budget used up)", format_count(report.skipped));
  write_out("\n");
  say(line);
  if (!summary.sample.empty()) say(summary.sample);
  std::size_t faults = 0;
  for (const auto& [what, count] : report.counts) {
    if (is_machine_fault(what.first, what.second)) faults += count;
  }
  if (faults > 0 && summary.provenance.empty()) {
    say(fmt::format(
        "{} failed because the machine did, not the configuration; the same command tries them "
        "again",
        faults));
  }
  std::uint64_t removed = 0;
  for (const auto& [constraint, points] : report.removed) removed += points;
  if (removed > 0) {
    say(fmt::format(
        "constraints left out {} configurations; `assay list {}` says which removed how many",
        format_count(removed), std::filesystem::proximate(summary.sweep.yaml_path).string()));
  }
  if (report.measured > 0) {
    say(fmt::format(
        "{:.1f} s: {} configurations in {:.1f} s ({:.1f}/s), baselines and re-ranks {:.1f} s",
        report.wall_s, report.measured, report.screening_s,
        static_cast<double>(report.measured) / report.screening_s,
        report.wall_s - report.screening_s));
    say(fmt::format("compiled for {:.1f} s of thread time", report.compile_s));
  }
  if (!summary.compile_only && summary.provenance.empty() && report.measured > 0) {
    say(fmt::format("the GPU worked {:.1f} s and waited {:.1f} s for the compiler", report.device_s,
                    report.compiler_wait_s));
  }
  if (const RacingReport& racing = report.racing;
      racing.raced > 0 && racing.finished > 0 && summary.provenance.empty()) {
    say(fmt::format(
        "{} clearly slower configurations were stopped early, after {:.1f} samples each; the "
        "others took {:.1f}; this saved {:.1f} s",
        racing.raced, mean(racing.raced_samples, racing.raced),
        mean(racing.finished_samples, racing.finished), racing.saved_s()));
  }
  if (report.same_code > 0 && summary.provenance.empty()) {
    say(fmt::format(
        "{} had the same machine code and launches as another: they took its times over",
        report.same_code));
  }
  if (report.carried_over > 0) {
    say(fmt::format(
        "{} were tried because of what the database knew before; --cold-start leaves that out",
        report.carried_over));
  }
  for (const std::string& warning : warnings_of(summary, report, best))
    print_err("warning: {}\n", warning);
  print_out("database: {}\n", store.path().string());
  if (!best.empty()) print_next(best.front(), summary.sweep.name, store);
}

}  // namespace assay
