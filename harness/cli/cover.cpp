// `assay cover`: the fewest configurations for many problems, and what that costs.
#include "pack/cover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/device_info.h"
#include "base/error.h"
#include "base/terminal.h"
#include "cli/cross_times.h"
#include "cli/export_pack.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "report/table.h"

namespace assay {
namespace {

struct CoverOptions {
  ResultOptions results;
  std::string protocol = "cold";
  std::string slow_down = "3%";
  int most = 12;
  std::string output;
  std::vector<std::string> archs;
};

/// Ratios of times, as they come.
struct Ratios {
  double log_sum = 0, largest = 0;
  int count = 0;

  void add(double ratio) {
    log_sum += std::log(ratio);
    largest = std::max(largest, ratio);
    ++count;
  }
  double mean() const { return count == 0 ? 1 : std::exp(log_sum / count); }
};

std::string percent_over(double ratio) { return fmt::format("{:.2f} %", 100 * (ratio - 1)); }

void print_left_out(const CrossTimes& times, double slow_down, std::size_t most) {
  Ratios regret, slower;  // than the baseline
  int num_fallbacks = 0;
  for (const LeftOut& left : leave_each_out(times, slow_down, most)) {
    regret.add(left.regret);
    if (left.speedup > 0) slower.add(1 / left.speedup);
    if (left.fallback) ++num_fallbacks;
  }
  if (regret.count == 0) return;
  print_out(
      "left out of the choice, a problem is slower than its winner by {} in the geometric mean, "
      "by {} at most\n",
      percent_over(regret.mean()), percent_over(regret.largest));
  if (slower.count == 0) return;
  print_out(
      "speed-up over the baseline of what is left out: {:.3f} in the geometric mean, {:.3f} at "
      "least; {} of {} call the baseline\n",
      1 / slower.mean(), 1 / slower.largest, num_fallbacks, slower.count);
}

/// Gives the problems of the table the fewest configurations, and prints them. Returns whether all
/// problems are covered.
bool cover_table(CrossTable& cross, const MeasuredConfigs& measured, double slow_down,
                 std::size_t most) {
  const CrossTimes& times = measured.times;
  const std::vector<std::size_t> configs = cover(times, slow_down, most);
  const std::vector<std::size_t> chosen = fastest_of(times, configs);
  choose_configs(cross.table, measured, chosen);
  cross.near = nearness(times, chosen);

  Table rows({"configuration", ">problems", ">slowest"});
  Ratios all;
  for (const std::size_t config : configs) {
    Ratios of_config;
    const TunedRow* row = nullptr;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] != config || measured.trials[config][i] == nullptr) continue;
      row = &cross.table.entries[i];
      of_config.add(times.time_ns[config][i] / times.fastest_ns(i));
      all.add(times.time_ns[config][i] / times.fastest_ns(i));
    }
    if (row == nullptr) continue;
    rows.add_row({row->best.kernel + " " + to_text(row->best.config),
                  std::to_string(of_config.count), percent_over(of_config.largest)});
  }
  print_out("{} on {}, {}: {} configurations for {} problems\n\n{}\n", cross.table.op,
            cross.table.device.name, conditions_text(cross.table), configs.size(), chosen.size(),
            rows.text(stdout_terminal()));
  print_out("slower than a problem's winner: {} in the geometric mean, {} at most\n",
            percent_over(all.mean()), percent_over(all.largest));
  print_left_out(times, slow_down, most);
  return all.largest <= 1 + slow_down && all.count == static_cast<int>(chosen.size());
}

int run_cover(const CoverOptions& options) {
  const double slow_down = parse_margin(options.slow_down);
  const Store store = open_results(options.results);
  Filter filter = options.results.filter();
  filter.status = to_text(Status::correct);
  const Results results = store.results(filter, [](const TrialRow& trial, const Results&) {
    const auto& verification = trial.record.verification;
    return !verification || verification->failure() == nullptr;
  });
  std::vector<CrossTable> crossed;
  bool is_covered = true;
  for (TunedTable& table : tuned_tables(results, Screened::show)) {
    if (table.protocol != options.protocol || table.objective != Objective::time) continue;
    CrossTable& cross = crossed.emplace_back();
    cross.table = unique_problems(std::move(table), results.trials);
    if (crossed.size() > 1) print_out("\n");
    const MeasuredConfigs measured = measured_configs(cross.table, results.trials);
    is_covered &= cover_table(cross, measured, slow_down, static_cast<std::size_t>(options.most));
  }
  if (crossed.empty()) {
    print_err("no timed result of {} in {}\n",
              asked_for(options.results, {{"protocol", options.protocol}}), store.path().string());
    return kExitNo;
  }
  if (!options.output.empty()) export_pack(crossed, store, options.archs, options.output);
  return is_covered ? kExitDone : kExitNo;
}

}  // namespace

void add_cover(Command program) {
  auto options = std::make_shared<CoverOptions>();
  Command verb = program.add_command(
      "cover", "the fewest configurations for the problems of a sweep, and what that costs");
  add_result_options(verb, options->results);
  verb.add_option("--protocol cold|sustained|hot|graph", options->protocol,
                  "only this protocol; default: cold")
      .one_of({"cold", "sustained", "hot", "graph"});
  verb.add_option("--slow-down RATIO", options->slow_down,
                  "how much slower than its winner a problem may be; default: 3%");
  verb.add_option("--most COUNT", options->most, "at most so many configurations; default: 12")
      .between(1, 1000);
  verb.add_option("--output FILE", options->output,
                  "also write a pack in which each problem has one of these configurations");
  verb.add_option("--arch " + known_archs("|"), options->archs,
                  "what the machine code of the pack is for; may be repeated; default: the GPU of "
                  "each table");
  verb.footer("example: assay cover --op gemm_bf16 --slow-down 3% --output gemm.pack");
  verb.runs([options] { return run_cover(*options); });
}

}  // namespace assay
