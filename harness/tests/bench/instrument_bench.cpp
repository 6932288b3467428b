// How far the instrument can be trusted on the GPU at hand, against the bars it was built to. Runs
// the program beside it in fresh processes, as a user would, and reads what they store:
//
//   build/instrument_bench       in the project's root
//
// Takes some minutes on an H200. Every figure is printed with its bar; the exit code is 1 when one
// is missed.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "ranking/ranking.h"
#include "spec/vocabulary.h"
#include "store/store.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// What other tools spend on each configuration: 25 ms of warm-up and 100 ms of samples.
constexpr double kFixedSeconds = 0.125;

const char* const kSweep = "sweeps/gemm.yaml";

class Bench {
 public:
  Bench(fs::path assay, fs::path folder) : assay_(std::move(assay)), folder_(std::move(folder)) {}

  /// Runs `assay ARGUMENTS` in a process of its own and returns what it prints.
  std::string run(const std::string& arguments) const {
    const fs::path output = folder_ / "output.txt";
    const std::string command =
        fmt::format("{{ '{}' {}; }} >'{}' 2>'{}'", assay_.string(), arguments, output.string(),
                    (folder_ / "errors.txt").string());
    if (std::system(command.c_str()) != 0) {
      throw Error(fmt::format("assay {} failed: {}", arguments, read_file(folder_ / "errors.txt")));
    }
    return read_file(output);
  }

  /// Runs a sweep and opens what it stored.
  Store sweep(const fs::path& yaml, const std::string& name,
              const std::string& kernels = "kernels") const {
    const fs::path db = folder_ / (name + ".db");
    fs::remove(db);
    run(fmt::format("sweep '{}' --kernels '{}' --db '{}'", yaml.string(), kernels, db.string()));
    return Store::open_readonly(db);
  }

  fs::path write(const std::string& name, const std::string& text) const {
    write_file_atomic(folder_ / name, text);
    return folder_ / name;
  }

  /// One line of the report.
  void print(const std::string& what, const std::string& measured, const std::string& bar,
             bool met) {
    fmt::print("{:<58} {:>22}   {:<26} {}\n", what, measured, bar, met ? "met" : "NOT MET");
    std::fflush(stdout);
    all_met_ = all_met_ && met;
  }
  bool all_met() const { return all_met_; }

 private:
  fs::path assay_;
  fs::path folder_;
  bool all_met_ = true;
};

/// The configuration that won a problem in the recording, as a sweep of nothing else.
std::string single_sweep(const std::string& problem, const std::string& protocol) {
  Filter filter;
  filter.problem = problem;
  for (const RankRow& row :
       Store::open_readonly("results/recorded/nvidia_h200/gemm_h200.jsonl").ranks(filter)) {
    for (const RankEntry& entry : row.record.entries) {
      if (!entry.winner) continue;
      std::string yaml =
          fmt::format("sweep: single\nkernels: [{}]\nproblems:\n  - {{", entry.kernel);
      for (const auto& [name, value] : row.record.problem)
        yaml += fmt::format("{}: {}, ", name, to_text(value));
      yaml += "}\nparams:\n";
      for (const auto& [name, value] : parse_config(entry.config)) {
        yaml += fmt::format("  {}: [{}]\n", name, to_text(value));
      }
      // As precise as the sweeps whose recordings are published.
      return yaml +
             fmt::format("measure: {{protocol: {}}}\nrerank: {{precision: 0.1%}}\n", protocol);
    }
  }
  throw Error("the recording has no winner of " + problem);
}

/// What is read of a kernel that lasts as long as it is told, under each protocol.
void print_known(const Bench& bench) {
  for (const auto& protocol : kProtocols) {
    const fs::path yaml = bench.write(
        "known.yaml", fmt::format("sweep: known\nkernels: [spin]\nproblems: [{{N: 100003}}]\n"
                                  "params: {{SPIN_US: [10, 100, 1000, 10000, 100000]}}\n"
                                  "measure: {{protocol: {}}}\n",
                                  protocol.name));
    for (const TrialRow& row :
         bench.sweep(yaml, "known", "harness/tests/kernels/broken").trials({})) {
      const auto& timing = row.record.outcome.timing;
      fmt::print("{:<10} {:<26} {}\n", protocol.name, to_text(row.record.config),
                 timing ? fmt::format("{:>12.2f} us", timing->median_ns / 1e3)
                        : std::string(to_text(row.record.outcome.status)));
    }
  }
}

/// The ratios to cuBLASLt: each is a part of its own, since each takes minutes of a GPU.
struct RatioPart {
  const char* name;
  const char* problem;
  const char* protocol;
  double bar;
};
constexpr RatioPart kRatioParts[] = {
    {"cold", "M=4096,N=4096,K=4096", "cold", 0.005},
    {"skinny", "M=16,N=4096,K=4096", "cold", 0.007},
    {"sustained", "M=4096,N=4096,K=4096", "sustained", 0.005},
};

struct Repeats {
  std::vector<double> ratios;  // of the one configuration to the best of cuBLASLt
  /// The same in cycles: another algorithm of cuBLASLt shows as another group of numbers.
  std::vector<double> cycles_ratios;
  std::vector<double> times_ns;
  int pairs = 0;
  int different = 0;  // pairs of one cubin with itself
  int rounds = 0;
};

/// One configuration in many processes.
Repeats repeat(const Bench& bench, const RatioPart& part, int processes) {
  Repeats repeats;
  const fs::path yaml = bench.write("single.yaml", single_sweep(part.problem, part.protocol));
  for (int i = 0; i < processes; ++i) {
    const RankRecord rank = bench.sweep(yaml, "single").ranks({}).at(0).record;
    const RankEntry* ours = nullptr;
    const RankEntry* best = nullptr;
    for (const RankEntry& entry : rank.entries) {
      if (entry.winner) ours = &entry;
      if (entry.config == "cublaslt_best") best = &entry;
    }
    if (ours == nullptr || best == nullptr) throw Error("a re-rank lacks its baseline");
    repeats.ratios.push_back(paired_ratio(ours->samples_ns, best->samples_ns).value);
    if (best->cycles_ratio_to_best.value > 0) {
      repeats.cycles_ratios.push_back(1 / best->cycles_ratio_to_best.value);
    }
    repeats.times_ns.push_back(ours->median_ns);
    repeats.rounds = std::max(repeats.rounds, static_cast<int>(ours->samples_ns.size()));
    if (!rank.noise) continue;
    // Treat the A/A duplicate as if it were another configuration.
    const auto pair =
        rank_entries({{"k", "A=1", ours->samples_ns}, {"k", "A=2", rank.noise->samples_ns}});
    ++repeats.pairs;
    repeats.different += !pair[0].tied || !pair[1].tied;
  }
  return repeats;
}

double spread(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *high / *low - 1;
}

void print_repeats(Bench& bench, Repeats& all, const RatioPart& part, int processes) {
  const Repeats repeats = repeat(bench, part, processes);
  const double measured = spread(repeats.ratios);
  bench.print(fmt::format("{} {}: ratio to cuBLASLt best, {} processes", part.problem,
                          part.protocol, processes),
              fmt::format("{:.2f} % ({:.4f})", measured * 100, median(repeats.ratios)),
              fmt::format("full spread <= {:.1f} %", part.bar * 100), measured <= part.bar);
  fmt::print(
      "    time {:.2f} to {:.2f} us, {} rounds at most, {} of {} A/A pairs called different\n",
      *std::min_element(repeats.times_ns.begin(), repeats.times_ns.end()) / 1e3,
      *std::max_element(repeats.times_ns.begin(), repeats.times_ns.end()) / 1e3, repeats.rounds,
      repeats.different, repeats.pairs);
  fmt::print("    ratios {:.4f}\n    in cycles {:.4f}\n", fmt::join(repeats.ratios, " "),
             fmt::join(repeats.cycles_ratios, " "));
  all.pairs += repeats.pairs;
  all.different += repeats.different;
}

/// Winner and tie set of every problem.
struct Verdict {
  std::string winner;
  std::set<std::string> tied;
};

std::map<std::string, Verdict> verdicts(const Store& store) {
  std::map<std::string, Verdict> verdicts;
  for (const RankRow& row : store.ranks({})) {
    Verdict& verdict = verdicts[to_text(row.record.problem)];
    for (const RankEntry& entry : row.record.entries) {
      if (entry.winner) verdict.winner = entry.config;
      if (entry.tied) verdict.tied.insert(entry.config);
    }
  }
  return verdicts;
}

/// On how many problems each run's winner is among the other's tied; names the other problems.
void print_agreement(Bench& bench, const std::string& what, const Store& a, const Store& b) {
  const auto first = verdicts(a), second = verdicts(b);
  std::string others;
  std::size_t agreed = 0;
  for (const auto& [problem, verdict] : first) {
    const auto found = second.find(problem);
    if (found != second.end() && found->second.tied.contains(verdict.winner) &&
        verdict.tied.contains(found->second.winner)) {
      ++agreed;
    } else {
      others += "    " + problem + '\n';
    }
  }
  bench.print(what, fmt::format("{} of {}", agreed, first.size()), "all", agreed == first.size());
  fmt::print("{}", others);
}

/// Seconds that the device spent on the trials: checks and samples.
double device_seconds(const Store& store) {
  double total_ms = 0;
  for (const TrialRow& row : store.trials({})) total_ms += row.record.outcome.device_ms;
  return total_ms * 1e-3;
}

/// The GEMM sweep as it is, twice.
void print_sweeps(Bench& bench) {
  const Store first = bench.sweep(kSweep, "first");
  const Store second = bench.sweep(kSweep, "second");
  print_agreement(bench, "the GEMM sweep twice: winners mutually tied", first, second);
}

/// The same sweep with a fixed time for every configuration.
void print_cost(Bench& bench) {
  const Store adaptive = bench.sweep(kSweep, "adaptive");
  std::string text = read_file(kSweep);
  const std::string precision = "precision: 0.5%";
  const std::size_t at = text.find(precision);
  if (at == std::string::npos)
    throw Error(fmt::format("{} does not ask for {}", kSweep, precision));
  text.replace(at, precision.size(),
               fmt::format("precision: 0, max_seconds_per_config: {}", kFixedSeconds));
  const Store fixed = bench.sweep(bench.write("fixed.yaml", text), "fixed");
  const double share = device_seconds(adaptive) / device_seconds(fixed);
  bench.print("GPU time of the screening over that of fixed 25 + 100 ms",
              fmt::format("{:.3f} ({:.1f} s)", share, device_seconds(adaptive)), "<= 1/3",
              share <= 1.0 / 3);
  print_agreement(bench, "winners mutually tied with those of the fixed times", adaptive, fixed);
}

/// What the doctor says of the flush: a 33.5 MB read after each kind.
void print_flush(const Bench& bench) {
  const auto doctor = nlohmann::json::parse(bench.run("doctor --json || true"));
  for (const auto& finding : doctor.at("findings")) {
    const std::string check = finding.at("check");
    if (!check.ends_with(" flush")) continue;
    fmt::print("{}: {}\n", check, finding.at("found").get<std::string>());
  }
}

int run(int argc, char** argv) {
  CLI::App app("measures how far the instrument can be trusted on this GPU");
  fs::path folder = fs::temp_directory_path() / "assay_instrument";
  int processes = 15;
  std::vector<std::string> parts{"flush", "known", "cold", "skinny", "sustained", "sweeps", "cost"};
  app.add_option("--folder", folder, "where the databases go");
  app.add_option("--processes", processes, "how often each ratio is measured");
  app.add_option("--parts", parts, "which parts to run")
      ->delimiter(',')
      ->check(CLI::IsMember(parts))
      ->option_text(fmt::format("{}", fmt::join(parts, ",")));
  CLI11_PARSE(app, argc, argv);
  fs::create_directories(folder);
  Bench bench(fs::read_symlink("/proc/self/exe").parent_path() / "assay", folder);
  Repeats all;
  for (const std::string& part : parts) {
    if (part == "flush") print_flush(bench);
    if (part == "known") print_known(bench);
    for (const RatioPart& ratio : kRatioParts) {
      if (part == ratio.name) print_repeats(bench, all, ratio, processes);
    }
    if (part == "sweeps") print_sweeps(bench);
    if (part == "cost") print_cost(bench);
  }
  if (all.pairs > 0) {
    bench.print("A/A pairs called different", fmt::format("{} of {}", all.different, all.pairs),
                "<= 1 in 50", 50 * all.different <= all.pairs);
  }
  return bench.all_met() ? kExitDone : kExitNo;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  try {
    return assay::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "instrument_bench: {}\n", error.what());
    return assay::kExitMachine;
  }
}
