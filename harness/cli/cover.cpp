// `assay cover`: the fewest configurations for many problems, and what that costs.
#include "pack/cover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/device_info.h"
#include "base/error.h"
#include "base/terminal.h"
#include "cli/export_pack.h"
#include "cli/results.h"
#include "cli/verbs.h"
#include "report/config_text.h"
#include "report/entry_json.h"
#include "report/table.h"

namespace assay {
namespace {

struct CoverOptions {
  ResultOptions results;
  std::string protocol = "cold";
  std::string slow_down = "3%";
  int most = 12;
  std::string output, pack;
  std::vector<std::string> archs;
  bool json = false;
};

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

/// A configuration that is chosen, or the library, and the problems that get it.
struct Served {
  const KernelConfig* config = nullptr;
  Ratios ratios = {};
};

/// The choice for a table, and what it costs.
struct CoveredTable {
  CrossTable cross;
  std::vector<Served> configs;
  Ratios library, all;
  std::vector<LeftOut> left_out;
  bool is_covered = false;
};

/// Gives the problems of the table the fewest configurations.
CoveredTable cover_table(TunedTable table, const Results& results, double slow_down,
                         std::size_t most) {
  CoveredTable covered;
  covered.cross.table = unique_problems(std::move(table), results.trials);
  const MeasuredConfigs measured = measured_configs(covered.cross.table, results);
  const CrossTimes& times = measured.times;
  const std::vector<std::size_t> configs = cover(times, slow_down, most);
  const std::vector<std::size_t> chosen =
      configs.empty() ? measured.winners : fastest_of(times, configs);
  choose_configs(covered.cross.table, measured, chosen);
  covered.cross.compare(times, chosen);
  covered.left_out = leave_each_out(times, slow_down, most);

  std::map<std::size_t, Served> served;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const double time_ns = times.time_ns[chosen[i]][i], least_ns = times.fastest_ns(i);
    const double ratio = std::min(time_ns, times.library_ns[i]) / least_ns;
    covered.all.add(ratio);
    if (times.library_ns[i] < time_ns) {
      covered.library.add(ratio);
      continue;
    }
    Served& each = served[chosen[i]];
    each.config = &covered.cross.table.entries[i].best;
    each.ratios.add(ratio);
  }
  for (auto& [config, each] : served) covered.configs.push_back(each);
  covered.is_covered = covered.all.largest <= 1 + slow_down;
  return covered;
}

std::string left_out_text(const std::vector<LeftOut>& left_out) {
  Ratios regret, slower;  // than the library
  int num_libraries = 0;
  for (const LeftOut& left : left_out) {
    regret.add(left.regret);
    if (left.speedup > 0) slower.add(1 / left.speedup);
    if (left.library) ++num_libraries;
  }
  if (regret.count == 0) return {};
  std::string text = fmt::format(
      "left out of the choice, a problem is slower than the fastest by {} in the geometric mean, "
      "by {} at most\n",
      percent_over(regret.mean()), percent_over(regret.largest));
  if (slower.count == 0) return text;
  return text +
         fmt::format(
             "speed-up over the library of what is left out: {:.3f} in the geometric mean, {:.3f} "
             "at least; {} of {} call the library\n",
             1 / slower.mean(), 1 / slower.largest, num_libraries, slower.count);
}

std::string cover_text(const CoveredTable& covered) {
  const TunedTable& table = covered.cross.table;
  std::vector<KernelConfig> shown;
  for (const Served& served : covered.configs) shown.push_back(*served.config);
  const ConfigTexts texts(shown);
  Table rows({"kernel", "configuration", ">problems", ">slowest"});
  for (const auto& [config, ratios] : covered.configs) {
    rows.add_row({config->kernel, texts.line(*config), std::to_string(ratios.count),
                  percent_over(ratios.largest)});
  }
  const Ratios& library = covered.library;
  if (library.count > 0) {
    rows.add_row({"cuBLASLt", "", std::to_string(library.count), percent_over(library.largest)});
  }
  return fmt::format(
      "{} on {}, {}: {} configurations for {} problems\n\n{}{}\n"
      "slower than the fastest of a problem: {} in the geometric mean, {} at most\n{}",
      table.op, table.device.name, conditions_text(table), covered.configs.size(),
      table.entries.size(), rows.text(stdout_terminal()), texts.notes(stdout_terminal()),
      percent_over(covered.all.mean()), percent_over(covered.all.largest),
      left_out_text(covered.left_out));
}

Json ratios_json(const Ratios& ratios) {
  return {{"num_problems", ratios.count},
          {"mean_regret_ratio", ratios.mean()},
          {"largest_regret_ratio", ratios.largest}};
}

Json cover_json(const CoveredTable& covered) {
  const TunedTable& table = covered.cross.table;
  Json json{{"op", table.op},
            {"device", table.device.name},
            {"protocol", table.protocol},
            {"objective", to_text(table.objective)},
            {"is_covered", covered.is_covered}};
  json.update(ratios_json(covered.all));
  json["configs"] = json_list(covered.configs, [](const Served& served) {
    Json config = choice_json(*served.config);
    config.update(ratios_json(served.ratios));
    return config;
  });
  json["library"] = covered.library.count > 0 ? ratios_json(covered.library) : Json();
  json["left_out"] = json_list(covered.left_out, [&](const LeftOut& left) {
    return Json{{"problem", problem_json(table.entries[left.problem].problem)},
                {"is_library", left.library},
                {"regret_ratio", left.regret},
                {"speedup", known_or_null(left.speedup)}};
  });
  return json;
}

/// What the rows of a pack cost for the problems of a table, perhaps on another GPU than theirs.
struct PackRegret {
  Ratios ratios = {};
  Json problems = Json::array();
  int num_missing = 0;  // of which the pack has no row, or whose configuration was not measured
};

PackRegret regret_of(const Pack& pack, TunedTable table, const Results& results) {
  table = unique_problems(std::move(table), results.trials);
  const MeasuredConfigs measured = measured_configs(table, results);
  PackRegret regret;
  const auto time_ns = [&](const PackTable& packed, const PackRow& row, std::size_t problem) {
    const bool is_same_gpu = packed.device.name == table.device.name;
    if (is_library_as_fast(row, is_same_gpu)) {
      return (is_same_gpu ? measured.times.library_ns : measured.times.first_ns)[problem];
    }
    const std::string& kernel = pack.kernels[row.kernel].spec.name;
    for (std::size_t i = 0; i < measured.trials.size(); ++i) {
      const TrialRow* const trial = measured.trials[i][problem];
      if (trial != nullptr && trial->record.kernel.name == kernel &&
          trial->record.config == row.config) {
        return measured.times.time_ns[i][problem];
      }
    }
    return std::numeric_limits<double>::infinity();
  };
  for (std::size_t i = 0; i < table.entries.size(); ++i) {
    double least_ns = std::numeric_limits<double>::infinity();
    for (const PackTable& packed : pack.tables) {
      if (packed.op != table.op) continue;
      for (const PackRow& row : packed.rows) {
        if (row.problem != table.entries[i].problem) continue;
        least_ns = std::min(least_ns, time_ns(packed, row, i));
      }
    }
    if (std::isfinite(least_ns)) {
      const double ratio = least_ns / measured.times.fastest_ns(i);
      regret.ratios.add(ratio);
      regret.problems.push_back(
          {{"problem", problem_json(table.entries[i].problem)}, {"regret_ratio", ratio}});
    } else {
      ++regret.num_missing;
    }
  }
  return regret;
}

int run_regret(const CoverOptions& options, const std::vector<TunedTable>& tables,
               const Results& results) {
  const PackFile file(options.pack);
  Json all = Json::array();
  for (const TunedTable& table : tables) {
    const PackRegret regret = regret_of(file.pack(), table, results);
    if (options.json) {
      all.push_back(
          {{"op", table.op}, {"device", table.device.name}, {"num_missing", regret.num_missing}});
      all.back().update(ratios_json(regret.ratios));
      all.back()["problems"] = regret.problems;
      continue;
    }
    print_out(
        "{} of {} on {}: slower than the fastest of {} problems by {} in the geometric mean, by {} "
        "at most; {} problems were not measured with it\n",
        options.pack, table.op, table.device.name, regret.ratios.count,
        percent_over(regret.ratios.mean()), percent_over(regret.ratios.largest),
        regret.num_missing);
  }
  if (options.json) write_out(document("cover", {{"pack", options.pack}, {"tables", all}}));
  return kExitDone;
}

int run_cover(const CoverOptions& options) {
  const double slow_down = parse_margin(options.slow_down, "--slow-down");
  const Store store = open_results(options.results);
  Filter filter = options.results.filter(Status::correct);
  Results results = store.results(filter, [](const TrialRow& trial, const Results&) {
    const auto& verification = trial.record.verification;
    return !verification || verification->failure() == nullptr;
  });
  std::vector<TunedTable> tables = tuned_tables(results, Screened::hide);
  filter.status = Status::correctness;
  keep_checked(results.trials, results.ranks, store.results(filter).trials);
  std::erase_if(tables, [&](const TunedTable& table) {
    return table.protocol != options.protocol || table.objective != Objective::time;
  });
  if (!options.pack.empty() && !tables.empty()) return run_regret(options, tables, results);
  std::vector<CoveredTable> covered;
  for (TunedTable& table : tables) {
    covered.push_back(
        cover_table(std::move(table), results, slow_down, static_cast<std::size_t>(options.most)));
  }
  if (options.json) {
    write_out(document(
        "cover", {{"slow_down_ratio", 1 + slow_down}, {"tables", json_list(covered, cover_json)}}));
  } else {
    const char* between = "";
    for (const CoveredTable& each : covered) {
      print_out("{}{}", std::exchange(between, "\n"), cover_text(each));
    }
  }
  if (covered.empty()) {
    return say_none("re-ranked winner", store, options.results, {{"protocol", options.protocol}});
  }
  if (!options.output.empty()) {
    std::vector<CrossTable> crossed;
    for (const CoveredTable& each : covered) crossed.push_back(each.cross);
    const std::string written = export_pack(crossed, store, options.archs, options.output);
    options.json ? print_err("{}", written) : print_out("{}", written);
  }
  return std::ranges::all_of(covered, &CoveredTable::is_covered) ? kExitDone : kExitNo;
}

}  // namespace

void add_cover(Command program) {
  auto [verb, options] = program.add_verb<CoverOptions>(
      "cover", "the fewest configurations for the problems of a sweep, and what that costs",
      run_cover);
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
  verb.add_option("--pack FILE", options->pack,
                  "instead, say what the configurations of this pack cost for these problems");
  verb.add_option("--arch " + known_archs("|"), options->archs,
                  "what the machine code of the pack is for; may be repeated; default: the GPU of "
                  "each table");
  verb.add_flag("--json", options->json, "print JSON instead of tables");
  verb.footer("example: assay cover --op gemm_bf16 --slow-down 3% --output gemm.pack");
}

}  // namespace assay
