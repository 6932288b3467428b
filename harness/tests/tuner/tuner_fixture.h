#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "store/database.h"
#include "temp_folder.h"
#include "tuner/scripted.h"
#include "tuner/tuner.h"

namespace assay::test {

using Blocks = std::multiset<std::int64_t>;

inline constexpr const char* kAddYaml = R"(kernel: add
op: add_f32
arch: [80]
dims: [N]
params: {BLOCK: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}
args:
  - {name: A, dtype: f32, shape: [N], role: in, fill: normal}
  - {name: B, dtype: f32, shape: [N], role: out}
  - {name: N, dtype: i32, value: N}
launches:
  - {grid: [cdiv(N, BLOCK)], block: [BLOCK]}
work: {flops: N, bytes: 8 * N}
reference: [{add: {a: A, b: A, out: B}}]
smoke: {N: 1000}
)";

inline constexpr const char* kSweepYaml = R"(sweep: test
kernels: [add]
problems: [{N: 1000}]
)";

/// A second kernel of the same op, with the same configurations.
inline void add_kernel(SweepSpec& sweep, const std::string& name) {
  sweep.kernels.push_back(sweep.kernels.front());
  sweep.kernels.back().name = name;
}

/// A sweep over ten configurations, BLOCK=1 to BLOCK=10, whose results lie in a file.
class TunerTest : public testing::Test {
 protected:
  TunerTest() {
    folder_.write("kernels/add.yaml", kAddYaml);
    folder_.write("kernels/add.cu", "extern \"C\" __global__ void add() {}\n");
    folder_.write("test.yaml", kSweepYaml);
    load("test.yaml");
  }

  std::filesystem::path db() const { return folder_ / "x.db"; }

  /// Gives the kernel these parameters, and what is said behind the contract.
  void load_with(const std::string& params, const std::string& more = "") {
    std::string yaml = kAddYaml;
    const std::size_t at = yaml.find("params:");
    yaml.replace(at, yaml.find("args:") - at, "params: {" + params + "}\n");
    folder_.write("kernels/add.yaml", yaml + more);
    load("test.yaml");
  }
  void load(const std::string& sweep) { sweep_ = load_sweep(folder_ / sweep, folder_ / "kernels"); }

  void search_by(Strategy strategy, std::int64_t budget_configs) {
    sweep_.search.strategy = strategy;
    sweep_.search.budget_configs = budget_configs;
  }

  /// Runs the sweep on `device` to its end, or until it throws.
  SweepReport run(Device& device, Compiler& compiler) {
    Store store = Store::open(db());
    Progress progress(Progress::Mode::silent);
    Tuner tuner(sweep_, device, compiler, store, progress, options_);
    try {
      tuner.run();
    } catch (...) {
      report_ = tuner.report();
      throw;
    }
    return report_ = tuner.report();
  }
  SweepReport run() { return run(device_, compiler_); }

  /// "done", "interrupted", "failed" or "running": how each run of the sweep ended.
  std::vector<std::string> sweep_states() const {
    Database database = Database::open_readonly(db());
    std::vector<std::string> states;
    for (Query rows = database.query("SELECT state FROM sweep ORDER BY id"); rows.step();) {
      states.push_back(rows.text(0));
    }
    return states;
  }

  std::vector<TrialRow> trials() const { return Store::open_readonly(db()).trials({}); }
  std::vector<RankRow> ranks() const { return Store::open_readonly(db()).ranks({}); }

  /// The first of the newest verdict.
  RankEntry winner() const { return ranks().back().record.entries.at(0); }

  Blocks stored_blocks() const {
    Blocks blocks;
    for (const TrialRow& row : trials()) {
      blocks.insert(block_of(row.record.config));
    }
    return blocks;
  }

  /// Expects of all that is stored that these blocks alone are wrong.
  void expect_wrong(const Blocks& wrong) const {
    const Store store = Store::open_readonly(db());
    for (const TrialRow& row : store.trials({})) {
      const bool is_wrong = wrong.contains(block_of(row.record.config));
      EXPECT_EQ(row.record.outcome.status, is_wrong ? Status::correctness : Status::correct);
    }
    EXPECT_TRUE(store.check().empty());
  }

  static Blocks blocks_of(const std::vector<TrialRequest>& requests) {
    Blocks blocks;
    for (const TrialRequest& request : requests) blocks.insert(block_of(request.plan.config));
    return blocks;
  }

  TempFolder folder_;
  SweepSpec sweep_;
  ScriptedDevice device_;
  ScriptedCompiler compiler_;
  SweepRun::Options options_{{}, "90a", "assay sweep", {}, "", false, false, false};
  SweepReport report_;  // of the last run, complete or not
};

inline const Blocks kAllBlocks{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

}  // namespace assay::test
