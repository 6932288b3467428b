// `assay cover`: the fewest configurations for many problems, and what that costs.
#include "pack/cover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "base/error.h"
#include "base/terminal.h"
#include "cli/cross_times.h"
#include "cli/export_pack.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "report/config_text.h"
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
  Ratios regret, slower;  // than the library
  int num_libraries = 0;
  for (const LeftOut& left : leave_each_out(times, slow_down, most)) {
    regret.add(left.regret);
    if (left.speedup > 0) slower.add(1 / left.speedup);
    if (left.library) ++num_libraries;
  }
  if (regret.count == 0) return;
  print_out(
      "left out of the choice, a problem is slower than the fastest by {} in the geometric mean, "
      "by {} at most\n",
      percent_over(regret.mean()), percent_over(regret.largest));
  if (slower.count == 0) return;
  print_out(
      "speed-up over the library of what is left out: {:.3f} in the geometric mean, {:.3f} at "
      "least; {} of {} call the library\n",
      1 / slower.mean(), 1 / slower.largest, num_libraries, slower.count);
}

/// Gives the problems of the table the fewest configurations, and prints them. Returns whether all
/// problems are covered.
bool cover_table(CrossTable& cross, const MeasuredConfigs& measured, double slow_down,
                 std::size_t most) {
  const CrossTimes& times = measured.times;
  const std::vector<std::size_t> configs = cover(times, slow_down, most);
  const std::vector<std::size_t> chosen =
      configs.empty() ? measured.winners : fastest_of(times, configs);
  choose_configs(cross.table, measured, chosen);
  cross.regrets = regrets(times, chosen);

  std::map<std::size_t, Ratios> served;
  Ratios all, library;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const double time_ns = times.time_ns[chosen[i]][i], least_ns = times.fastest_ns(i);
    const double ratio = std::min(time_ns, times.library_ns[i]) / least_ns;
    all.add(ratio);
    (times.library_ns[i] < time_ns ? library : served[chosen[i]]).add(ratio);
  }
  const auto best_of = [&](std::size_t config) -> const KernelConfig& {
    const auto found = std::find(chosen.begin(), chosen.end(), config);
    return cross.table.entries[static_cast<std::size_t>(found - chosen.begin())].best;
  };
  std::map<std::string, std::vector<Config>> of_kernels;
  for (const auto& [config, ratios] : served) {
    of_kernels[best_of(config).kernel].push_back(best_of(config).config);
  }
  const std::map<std::string, ConfigText> texts = config_texts(of_kernels, false);
  Table rows({"kernel", "configuration", ">problems", ">slowest"});
  for (const auto& [config, ratios] : served) {
    const KernelConfig& best = best_of(config);
    rows.add_row({best.kernel, texts.at(best.kernel).line(best.config),
                  std::to_string(ratios.count), percent_over(ratios.largest)});
  }
  if (library.count > 0) {
    rows.add_row({"cuBLASLt", "", std::to_string(library.count), percent_over(library.largest)});
  }
  print_out("{} on {}, {}: {} configurations for {} problems\n\n{}{}\n", cross.table.op,
            cross.table.device.name, conditions_text(cross.table), served.size(), chosen.size(),
            rows.text(stdout_terminal()), notes_text(texts, stdout_terminal()));
  print_out("slower than the fastest of a problem: {} in the geometric mean, {} at most\n",
            percent_over(all.mean()), percent_over(all.largest));
  print_left_out(times, slow_down, most);
  return all.largest <= 1 + slow_down;
}

int run_cover(const CoverOptions& options) {
  const double slow_down = parse_margin(options.slow_down, "--slow-down");
  const Store store = open_results(options.results);
  Filter filter = options.results.filter();
  filter.status = to_text(Status::correct);
  Results results = store.results(filter, [](const TrialRow& trial, const Results&) {
    const auto& verification = trial.record.verification;
    return !verification || verification->failure() == nullptr;
  });
  std::vector<TunedTable> tables = tuned_tables(results, Screened::hide);
  filter.status = to_text(Status::correctness);
  keep_checked(results.trials, results.ranks, store.results(filter).trials);
  std::vector<CrossTable> crossed;
  bool is_covered = true;
  for (TunedTable& table : tables) {
    if (table.protocol != options.protocol || table.objective != Objective::time) continue;
    CrossTable& cross = crossed.emplace_back();
    cross.table = unique_problems(std::move(table), results.trials);
    if (crossed.size() > 1) print_out("\n");
    const MeasuredConfigs measured = measured_configs(cross.table, results.trials);
    is_covered &= cover_table(cross, measured, slow_down, static_cast<std::size_t>(options.most));
  }
  if (crossed.empty()) {
    print_err("no re-ranked winner of {} in {}\n",
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
                  "how much slower than the fastest a problem may be; default: 3%");
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
