#include "report/export.h"

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "matchers.h"
#include "report/example_rows.h"
#include "report/golden.h"
#include "space/plan.h"
#include "temp_folder.h"

namespace assay {
namespace {

using example::problem;

/// Winners of two kernels with different parameters, one of them a word.
std::vector<TunedTable> example_tables() {
  std::vector<RankRow> ranks = {
      example::rank(problem(16, 4096), "gemm_mma", "BLOCK_M=64,STAGES=3", 11'900, 14'900),
      example::rank(problem(64, 4096), "gemm_mma", "BLOCK_M=64,STAGES=4", 15'000, 16'000),
      example::rank(problem(4096, 4096), "gemm_wgmma", "BLOCK_M=128,SCHEDULE=grouped", 176'100,
                    171'000)};
  // Verdicts of old files whose trials are gone do not say what they were compiled with.
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    ranks[i].record.toolchain = {};
    ranks[i].record.kernels.clear();
  }
  return tuned_tables(ranks);
}

/// The same winners with all that a re-rank may know, once by time and once by energy.
std::vector<TunedTable> known_tables() {
  RankRow row = example::rank(problem(16, 4096), "gemm_mma", "BLOCK_M=64,STAGES=3", 12'000, 15'000);
  row.record.entries[0].roofline_ns = 9'000;
  row.record.entries[0].energy_j = 0.0035;
  row.record.entries[2].cycles_ratio_to_best = {1.25, 1.24, 1.26};
  RankRow frugal = row;
  frugal.record.objective = Objective::energy;
  return tuned_tables({row, frugal});
}

/// Compiles `code` behind the generated header, as C++17 and as C++20; whether both work.
bool compiles(const std::string& header, const std::string& code) {
  const TempFolder folder;
  folder.write("tuned.h", header);
  // Included twice, because a header must allow that.
  folder.write("use.cpp", "#include \"tuned.h\"\n#include \"tuned.h\"\n" + code);
  const auto works_as = [&](const char* standard) {
    const std::string command = fmt::format(
        "g++ -std={} -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror -fsyntax-only {}",
        standard, (folder / "use.cpp").string());
    return std::system(command.c_str()) == 0;
  };
  return works_as("c++17") && works_as("c++20");
}

constexpr const char* kLookups = R"(
namespace t = tuned::gemm_bf16;
constexpr t::Result exact = t::lookup({16, 4096});
static_assert(exact.match == t::Match::exact);
static_assert(exact.kernel == t::Kernel::gemm_mma);
static_assert(t::name(exact.kernel) == "gemm_mma");
static_assert(exact.config.BLOCK_M == 64 && exact.config.STAGES == 3);
static_assert(exact.config != t::lookup({64, 4096}).config);
static_assert(exact.config.SCHEDULE.empty());
static_assert(t::lookup({4096, 4096}).config.SCHEDULE == "grouped");
static_assert(t::lookup({4096, 4096}).config.STAGES == 0);

// 33 is nearer to 64 than to 16 by ratio (1.94 against 2.06). By difference it is not.
constexpr t::Result nearest = t::lookup({33, 4096});
static_assert(nearest.match == t::Match::nearest && nearest.tuned_for.M == 64);
static_assert(t::lookup({31, 4096}).tuned_for.M == 16);
// The problem is as near to both entries, so the first is taken. A factor is symmetric: below
// counts like above.
static_assert(t::lookup({32, 4096}).tuned_for.M == 16);
static_assert(t::factor({8, 4}, {16, 2}) == 4);
static_assert(t::factor({16, 2}, {8, 4}) == 4);

// The limit itself still counts as near.
static_assert(t::lookup({1, 4096}).match == t::Match::nearest);
static_assert(t::lookup({1, 4095}).match == t::Match::fallback);
static_assert(t::lookup({1 << 30, 4096}).match == t::Match::fallback);
static_assert(t::lookup({0, 4096}).match == t::Match::fallback);
static_assert(t::lookup({-16, 4096}).match == t::Match::fallback);
static_assert(t::lookup({0, 0}).config == t::kEntries[t::kFallback].config);
int main(int argc, char**) { return t::lookup({argc, 4096}).config.BLOCK_M; }
)";

// The header was C++20, and projects that build with C++17 could not include it.
TEST(ExportHeader, CompilesWithoutWarningsAndLooksUp) {
  const std::string header = export_header(example_tables(), "tuned");
  EXPECT_TRUE(compiles(header, kLookups));
  EXPECT_THAT(header, HasSubstr("\n// gemm_bf16 on NVIDIA H200, driver 580.159.04, NVRTC 13.0, "
                                "protocol cold.\n"));
}

// Whoever launched a kernel from the header had to write its grid and shared memory again.
TEST(ExportHeader, ComputesTheLaunchesAsThePlanDoes) {
  const std::filesystem::path kernels = std::filesystem::path(ASSAY_SOURCE_DIR) / "kernels";
  const DeviceInfo device = nominal_device("90a");
  std::string checks = "namespace t = tuned::some_op;\n";
  TunedTable table{"some_op", device, "cold", {}, {}, 0};
  std::map<std::string, KernelSpec> contracts;
  const Problem sizes = {{"M", 300}, {"N", 1000}, {"K", 4096}};
  for (const auto& [name, config] :
       {std::pair<std::string, std::string>{
            "gemm_wgmma",
            "SWAP_AB=0,MODE=cooperative,BLOCK_M=128,BLOCK_N=256,BLOCK_K=64,STAGES=4,CLUSTER_M=2,"
            "CLUSTER_N=1,CLUSTER_K=1,SPLIT_K=1,PERSISTENT=1,SCHEDULE=column,GROUP_M=1,STREAM_K=0,"
            "OVERLAP=0,STORE=tma,EDGE=whole,STREAMED=0"},
        {"gemm_mma", ""}}) {
    KernelSpec kernel = load_kernel(kernels / (name + ".yaml"));
    Config chosen = config.empty() ? Config() : parse_config(config);
    for (const ParamSpec& param : kernel.params) {
      if (config.empty()) chosen.emplace_back(param.name, param.values.front());
    }
    TunedRow row;
    row.problem = sizes;
    row.problem[0].second = std::int64_t{300 + std::ssize(table.entries)};
    row.best = {name, chosen};
    row.time_ns = {1000, 990, 1010};
    const Plan plan = make_plan(kernel, row.problem, chosen, device);
    std::size_t ran = 0;
    checks += fmt::format("static_assert(t::num_launches(t::Kernel::{}) == {});\n", name,
                          kernel.launches.size());
    for (std::size_t i = 0; i < kernel.launches.size(); ++i) {
      const std::string launch = fmt::format(
          "t::launch(t::Kernel::{}, t::kEntries[{}].config, t::kEntries[{}].problem, {})", name,
          table.entries.size(), table.entries.size(), i);
      const bool runs =
          ran < plan.launches.size() && plan.launches[ran].entry == kernel.launches[i].entry;
      checks += fmt::format("static_assert({}.runs == {});\n", launch, runs);
      if (!runs) continue;
      const LaunchPlan& planned = plan.launches[ran++];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        checks += fmt::format(
            "static_assert({0}.grid[{1}] == {2} && {0}.block[{1}] == {3} && {0}.cluster[{1}] == "
            "{4});\n",
            launch, axis, planned.grid[axis], planned.block[axis], planned.cluster[axis]);
      }
      checks += fmt::format("static_assert({0}.smem_bytes == {1} && {0}.entry == \"{2}\");\n",
                            launch, planned.smem_bytes, planned.entry);
    }
    EXPECT_EQ(ran, plan.launches.size()) << name;
    table.entries.push_back(row);
    contracts.emplace(name, std::move(kernel));
  }
  const std::string header = export_header({table}, "tuned", contracts);
  EXPECT_TRUE(compiles(header, checks));
}

// C++ has no literal of the least integer: a compiler took it for an unsigned one, with a warning.
TEST(ExportHeader, WritesTheLeastIntegerAsADifference) {
  auto tables = example_tables();
  tables[0].entries[0].best.config[0].second = std::numeric_limits<std::int64_t>::min();
  EXPECT_THAT(export_header(tables, "tuned"), HasSubstr("=*/-9223372036854775807 - 1"));
}

// Somebody who launches such a kernel from the header alone would compute nonsense.
TEST(ExportHeader, SaysWhichKernelsReadPreparedInputs) {
  auto tables = example_tables();
  tables[0].entries[0].prepared = Prepared{1500.5, 4096};
  tables[0].entries[0].version.contract_hash = "c0ffee";
  const std::string header = export_header(tables, "tuned");
  EXPECT_THAT(header,
              HasSubstr("// launches under `prepare:` in gemm_mma.yaml, contract c0ffee\n"));
  EXPECT_TRUE(compiles(header, R"(
namespace t = tuned::gemm_bf16;
static_assert(t::needs_prepare(t::Kernel::gemm_mma) && !t::needs_prepare(t::Kernel::gemm_wgmma));
static_assert(t::kEntries[0].prepare_ns == 1500.5 && t::kEntries[0].prepared_bytes == 4096);
static_assert(t::kEntries[1].prepared_bytes == 0);
)"));
  EXPECT_THAT(export_header(example_tables(), "tuned"), Not(HasSubstr("prepare")));
}

TEST(ExportHeader, NamesAnObjectiveOtherThanTime) {
  const auto tables = known_tables();
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_THAT(export_header({tables[0]}, "tuned"), HasSubstr("protocol cold.\n"));
  EXPECT_THAT(export_header({tables[1]}, "tuned"), HasSubstr("protocol cold, least energy.\n"));
  EXPECT_THAT(
      [&] { export_header(tables, "tuned"); },
      ThrowsMessage<UsageError>(AllOf(HasSubstr("least energy"), HasSubstr("--objective"))));
}

// Names and texts come from files that others wrote.
TEST(ExportHeader, NothingInARowGetsOutOfItsName) {
  auto tables = example_tables();
  tables[0].op = "7-op\n#error op";
  tables[0].device.name = "GPU \"x\" \\\n#error device \\";
  tables[0].entries[0].best.kernel = "class";
  tables[0].entries[0].best.config = {{"int", std::int64_t{1} << 40}, {"W", std::string("a\"b\\")}};
  tables[0].entries[0].provenance = "recorded on x\n#error provenance \\";
  EXPECT_TRUE(
      compiles(export_header(tables, "a::b"),
               "static_assert(a::b::_7_op__error_op::kEntries[0].config.int_ == 1LL << 40);"));
}

// None of these compiled: an op's namespace hid ::std, members were called like their struct, and
// two kernels became one enumerator.
TEST(ExportHeader, NoNameMeetsAnotherOrOneOfTheHeaders) {
  auto tables = example_tables();
  tables[0].op = "std";
  auto& entries = tables[0].entries;
  ASSERT_EQ(entries.size(), 3U);
  for (TunedRow& entry : entries) {
    entry.problem[0].first = "Problem";
    entry.problem[1].first = "Problem_";
    entry.best.config = {
        {"Config", std::int64_t{1}}, {"std", std::int64_t{2}},   {"__LINE__", std::int64_t{3}},
        {"NULL", std::string("w")},  {"x-y", std::int64_t{4}},   {"x_y", std::int64_t{5}},
        {"EOF", std::int64_t{6}},    {"errno", std::int64_t{7}}, {"_Complex", std::int64_t{8}}};
  }
  entries[0].best.kernel = "a-b";
  entries[1].best.kernel = "a_b";
  entries[2].best.kernel = "Kernel";
  tables.push_back(tables[0]);
  tables[1].op = "std_";
  tables.push_back(tables[0]);
  tables[2].op = "Match";
  const char* uses = R"(
namespace t = tuned::std__;
static_assert(t::kEntries[0].problem.Problem__ == 16 && t::kEntries[0].problem.Problem_ == 4096);
static_assert(t::name(t::Kernel::a_b) == "a_b" && t::name(t::Kernel::a_b_) == "a-b");
static_assert(t::name(t::Kernel::Kernel) == "Kernel");
constexpr t::Config config = t::kEntries[0].config;
static_assert(config.Config_ == 1 && config.std_ == 2 && config.__LINE___ == 3);
static_assert(config.NULL_ == "w" && config.x_y == 5 && config.x_y_ == 4);
static_assert(config.EOF_ == 6 && config.errno_ == 7 && config._Complex_ == 8);
static_assert(tuned::std_::lookup({0, 4096}).match == tuned::std_::Match::fallback);
static_assert(tuned::Match::lookup({0, 4096}).match == tuned::Match::Match::fallback);
)";
  const std::string macros = "#include <cerrno>\n#include <cstdio>\n";
  EXPECT_TRUE(compiles(macros + export_header(tables, "tuned"), uses));
}

TEST(ExportHeader, AParameterThatIsAWordAnywhereIsTextEverywhere) {
  auto tables = example_tables();
  tables[0].entries[0].best.config = {{"MODE", std::int64_t{3}}};
  tables[0].entries[1].best.config = {{"MODE", std::string("fast")}};
  EXPECT_TRUE(compiles(export_header(tables, "tuned"),
                       "static_assert(tuned::gemm_bf16::kEntries[0].config.MODE == \"3\");"));
}

TEST(ExportHeader, RefusesTwoTablesOfOneOpAndSaysHowToChoose) {
  auto tables = example_tables();
  tables.push_back(tables[0]);
  tables[1].device.name = "NVIDIA A100";
  EXPECT_THAT([&] { export_header(tables, "tuned"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("NVIDIA H200"), HasSubstr("NVIDIA A100"),
                                              HasSubstr("--device"))));
}

TEST(ExportHeader, RefusesWhatIsNoNamespace) {
  for (const char* name : {"", "1a", "a::", "::a", "a b", "class", "a:b", "std"}) {
    EXPECT_THROW(export_header(example_tables(), name), UsageError) << name;
  }
}

TEST(ExportJson, IsVersionedAndHoldsEveryProblem) {
  const auto json = nlohmann::json::parse(export_json(example_tables()));
  EXPECT_EQ(json["schema"], "assay-tuned-table");
  EXPECT_EQ(json["version"], 1);
  ASSERT_EQ(json["tables"].size(), 1U);
  const auto& table = json["tables"][0];
  EXPECT_EQ(table["device"]["name"], "NVIDIA H200");
  EXPECT_EQ(table["protocol"], "cold");
  ASSERT_EQ(table["entries"].size(), 3U);
  EXPECT_EQ(table["entries"][0]["toolchain"]["nvrtc"], "13.0");
  EXPECT_TRUE(table["entries"][1]["toolchain"]["nvrtc"].is_null());
  EXPECT_EQ(table["entries"][2]["config"]["SCHEDULE"], "grouped");
}

TEST(ExportJson, HoldsWhatTheRerankKnowsBesideTheTime) {
  const auto json = nlohmann::json::parse(export_json(known_tables()));
  ASSERT_EQ(json["tables"].size(), 2U);
  EXPECT_EQ(json["tables"][0]["objective"], "time");
  EXPECT_EQ(json["tables"][1]["objective"], "energy");
  const auto& entry = json["tables"][1]["entries"][0];
  EXPECT_EQ(entry["roofline_ratio"], 0.75);
  EXPECT_EQ(entry["energy_j"], 0.0035);
  EXPECT_EQ(entry["baseline"]["cycles_speedup"], 1.25);
  EXPECT_EQ(entry["baseline"]["cycles_speedup_low"], 1.24);
  std::vector<TunedTable> tables = known_tables();
  tables[0].entries[0].cubin_hash = "c0de";
  tables[0].entries[0].cublas = "13.1";
  const auto traced = nlohmann::json::parse(export_json(tables))["tables"][0]["entries"][0];
  EXPECT_EQ(traced["cubin_hash"], "c0de");
  EXPECT_EQ(traced["cublas"], "13.1");
  const auto unknown = nlohmann::json::parse(export_json(example_tables()));
  for (const char* name : {"roofline_ratio", "energy_j"}) {
    EXPECT_TRUE(unknown["tables"][0]["entries"][0][name].is_null()) << name;
  }
  EXPECT_TRUE(unknown["tables"][0]["entries"][0]["baseline"]["cycles_speedup"].is_null());
}

TEST(ExportCsv, EndsWithWhatTheRerankKnowsBesideTheTime) {
  std::vector<TunedTable> tables = known_tables();
  tables[0].entries[0].prepared = Prepared{1500.5, 4096};
  tables[0].entries[0].memory_bytes = 40960000;
  tables[0].entries[0].baseline_memory_bytes = 81920000;
  const std::string text = export_csv(tables);
  EXPECT_THAT(text, HasSubstr(",time,0.75,0.0035,1.25,1.24,1.26,1500.5,4096,contract-gemm_mma,,,,"
                              "40960000,81920000\r\n"));
  EXPECT_THAT(text, HasSubstr(",energy,0.75,0.0035,1.25,1.24,1.26,,,contract-gemm_mma,,,,,\r\n"));
}

TEST(ExportCsv, MatchesGolden) { expect_golden("tuned.csv", export_csv(example_tables())); }

TEST(ExportCsv, QuotesWhatWouldBreakARecord) {
  auto tables = example_tables();
  tables[0].device.name = "a \"b\", c\nd";
  EXPECT_THAT(export_csv(tables), HasSubstr("gemm_bf16,\"a \"\"b\"\", c?d\",cold,\"M=16,N=4096\""));
}

// A spreadsheet would run what a recording's author wrote.
TEST(ExportCsv, NoFieldIsAFormula) {
  for (const char* first : {"=", "+", "-", "@"}) {
    auto tables = example_tables();
    tables[0].device.name = std::string(first) + "cmd|' /C calc'!A0";
    EXPECT_THAT(export_csv(tables), HasSubstr(std::string("gemm_bf16,'") + first + "cmd|"));
    tables[0].device.name = std::string("\t") + first + "1";
    EXPECT_THAT(export_csv(tables), HasSubstr(std::string("gemm_bf16,?") + first + "1,"));
  }
}

TEST(Identifier, IsAlwaysOne) {
  EXPECT_EQ(identifier("BLOCK_M"), "BLOCK_M");
  EXPECT_EQ(identifier("gemm-mma.v2"), "gemm_mma_v2");
  EXPECT_EQ(identifier("2d"), "_2d");
  EXPECT_EQ(identifier("class"), "class_");
  EXPECT_EQ(identifier("static_assert"), "static_assert_");  // a list of its own lacked this one
  EXPECT_EQ(identifier(""), "_");
}

// The whole of a drawing is docs/speedups.svg, which e2e/cli_test.sh draws again.
TEST(ExportSvg, SaysWhatHasNoBaselineAndEscapesNames) {
  std::vector<TunedTable> tables = example_tables();
  tables.front().op = "<&>";
  tables.front().entries.back().baseline.clear();
  const std::string drawing = export_svg(tables);
  EXPECT_THAT(drawing, HasSubstr(">&lt;&amp;&gt; on NVIDIA H200, protocol cold: speed-up over"));
  EXPECT_THAT(drawing, HasSubstr(">1.07x cublaslt_best, 15.00 us<"));
  EXPECT_THAT(drawing, HasSubstr(">176.1 us, no baseline<"));
}

}  // namespace
}  // namespace assay
