#include <nlohmann/json.hpp>
#include <set>

#include "matchers.h"
#include "report/example_rows.h"
#include "report/page_data.h"
#include "report/page_parts.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

Problem problem() { return example::problem(16, 64); }

KernelNow no_kernel(const DeviceInfo&, const TunedRow&) { return {}; }
std::optional<Ceilings> no_ceilings(const DeviceInfo&) { return {}; }

Results results_of(double best_ns, const std::string& finished_at) {
  Results results;
  results.trials = {example::trial(problem(), "gemm_mma", example::kBest, best_ns),
                    example::trial(problem(), "gemm_mma", "BLOCK_M=32,STAGES=9", best_ns * 1.05)};
  results.ranks = {example::rank(problem(), "gemm_mma", example::kBest, best_ns, 1200)};
  results.ranks.front().record.finished_at = finished_at;
  return numbered(std::move(results));
}

Figures figures_of(const TrialRow& row) {
  Figures figures;
  figures.title = row.record.kernel.name;
  figures.question = "one";
  figures.config = {row.record.config[0]};
  figures.memory_ns = 900;
  figures.bytes = 1e6;
  figures.report = row.record.compile;
  figures.counters = row.record.measurements;
  return figures;
}

/// A kernel that multiplies in a loop, the more often the larger its tile; of a baseline, nothing.
CodeCounts code_of(const TrialRow& row, const std::string& baseline) {
  CodeCounts counts;
  if (!baseline.empty()) {
    counts.none = "it is a library's";
    return counts;
  }
  const std::string code =
      ".version 9.0\n.target sm_90\n.entry k()\n{\n$L:\n" +
      std::string(row.record.config[0].second == Value(std::int64_t{64})
                      ? "fma.rn.f32 %f1, %f1, %f1, %f1;\n"
                      : "") +
      "add.s32 %r1, %r1, 1;\n@%p1 bra $L;\nret;\n}\n.entry other()\n{\nret;\n}\n";
  add_counts(counts, {"k", read_ptx(code, "k.ptx"), {}, {}, {{}, {{"k", "k"}}}});
  return counts;
}

Json page_of(const std::vector<Results>& files, KernelNowOf kernel_now_of = no_kernel) {
  std::set<std::pair<const TrialRow*, std::string>> told;
  PageData page(
      std::move(kernel_now_of), no_ceilings, figures_of,
      [&](const TrialRow& row, const std::string& baseline) {
        EXPECT_TRUE(told.contains({&row, baseline})) << "not told ahead";
        return code_of(row, baseline);
      },
      [&](const TrialRow& row, const std::string& baseline) { told.emplace(&row, baseline); });
  for (const Results& results : files) {
    for (const TrialRow& row : results.trials) page.take(row, results);
    page.add("file", results);
  }
  return Json::parse(page.json({}));
}

TEST(PageTrials, WriteEachValueOfAParameterOnce) {
  std::vector<TrialRow> rows = {
      example::trial(problem(), "gemm_mma", "BLOCK_M=64,STAGES=3", 1000),
      example::trial(problem(), "gemm_mma", "BLOCK_M=32,STAGES=3", 1234.5678),
      example::trial(problem(), "gemv", "BLOCK_M=64,MODE=wide", 900),
      example::failure(problem(), "BLOCK_M=128,STAGES=3", Status::compile, "nvrtc", "no\nmore")};
  rows[1].record.outcome.timing->stop = StopReason::raced;
  rows[1].record.finished_at = "2026-11-21T10:01:05Z";
  rows[2].id = 9;
  PageTrials columns;
  for (const TrialRow& row : rows) columns.add(row);
  const Json trials = Json::parse(columns.json());
  EXPECT_EQ(trials["kernels"], Json({"gemm_mma", "gemv"}));
  EXPECT_EQ(trials["kernel"], Json({0, 0, 1, 0}));
  EXPECT_EQ(trials["statuses"], Json({"correct", "stopped early", "compile"}));
  EXPECT_EQ(trials["status"], Json({0, 1, 0, 2}));
  EXPECT_EQ(trials["time_ns"], Json({1000.0, 1234.6, 900.0, nullptr}));
  EXPECT_EQ(trials["seconds"], Json({0, 65, 0, 0}));
  EXPECT_EQ(trials["id_steps"], Json({7, 0, 2, -2}));
  EXPECT_EQ(trials["messages"], Json({"", "no"}));
  EXPECT_EQ(trials["params"][0],
            Json({{"name", "BLOCK_M"}, {"values", {32, 64, 128}}, {"at", {1, 0, 1, 2}}}));
  EXPECT_EQ(trials["params"][1],
            Json({{"name", "STAGES"}, {"values", {3}}, {"at", {0, 0, -1, 0}}}));
  EXPECT_EQ(trials["params"][2],
            Json({{"name", "MODE"}, {"values", {"wide"}}, {"at", {-1, -1, 0, -1}}}));
}

TEST(PageTrials, LeaveOutAColumnThatSaysNothing) {
  const TrialRow row = example::trial(problem(), "gemm_mma", example::kBest, 1000);
  PageTrials columns;
  columns.add(row);
  EXPECT_FALSE(Json::parse(columns.json())["params"][0].contains("at"));
}

TEST(PageData, KeepsTheNewestVerdictOfAQuestion) {
  const Results older = results_of(1000, "2026-11-20T00:00:00Z");
  const Results newer = results_of(990, "2026-11-21T00:00:00Z");
  for (const auto& files : {std::vector{older, newer}, std::vector{newer, older}}) {
    const Json page = page_of(files);
    ASSERT_EQ(page["questions"].size(), 1U);
    EXPECT_EQ(page["trials"].size(), 1U);
    EXPECT_EQ(page["questions"][0]["entry"]["time_ns"], 990.0);
  }
}

TEST(PageData, CountsEverySampleOfTheVerdict) {
  const Json page = page_of({results_of(1000, "2026-11-20T00:00:00Z")});
  const Json& rank = page["questions"][0]["rank"];
  ASSERT_EQ(rank["entries"].size(), 3U);
  EXPECT_EQ(rank["entries"][0]["role"], "winner");
  EXPECT_EQ(rank["entries"][2]["role"], "baseline");
  EXPECT_FALSE(rank["entries"][1].contains("counts"));  // neither winner, tie nor baseline
  for (const int i : {0, 2}) {
    int sum = 0;
    for (const int count : rank["entries"][i]["counts"]) sum += count;
    EXPECT_EQ(sum, 11);
  }
}

TEST(PageData, ShowsTheDuplicateBesideItsTwin) {
  Results results = results_of(1000, "2026-11-20T00:00:00Z");
  const RankEntry& twin = results.ranks.front().record.entries[1];
  results.ranks.front().record.noise = {twin.kernel, twin.config, twin.samples_ns, {1, 0.99, 1.01}};
  const Json entries = page_of({results})["questions"][0]["rank"]["entries"];
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[3]["role"], "duplicate");
  EXPECT_EQ(entries[3]["config"], entries[1]["config"]);
  EXPECT_EQ(entries[3]["counts"], entries[1]["counts"]);
}

TEST(PageData, SaysWhatTheKernelIsByNow) {
  const auto now = [](const DeviceInfo&, const TunedRow& row) {
    return KernelNow{Work{"folder/" + row.best.kernel, 100, 50}, "it has changed since"};
  };
  const Results results = results_of(1000, "2026-11-20T00:00:00Z");
  const Json known = page_of({results}, now)["questions"][0];
  EXPECT_EQ(known["work"],
            Json({{"contract", "folder/gemm_mma"}, {"flops", 100.0}, {"bytes", 50.0}}));
  EXPECT_EQ(known["stale"], "it has changed since");
  const Json unknown = page_of({results})["questions"][0];
  EXPECT_TRUE(unknown["work"].is_null());
  EXPECT_TRUE(unknown["stale"].is_null());
}

TEST(PageData, SaysWhyTheWinnerIsFaster) {
  Results results = results_of(1000, "2026-11-20T00:00:00Z");
  results.trials[1].record.compile.registers = 168;
  for (int i : {0, 1}) {
    results.trials[i].record.measurements = {{"bank_conflicts", 1000.0 * i, ""}};
  }
  const Json why = page_of({results})["questions"][0]["why"];
  EXPECT_EQ(why["headline"], "memory-bound: 90 % of what this GPU reads; 10 % not explained");
  EXPECT_EQ(why["causes"][0]["name"], "memory");
  EXPECT_EQ(why["memory_ns"], 900.0);
  EXPECT_TRUE(why["operations_ns"].is_null());
  ASSERT_EQ(why["against"].size(), 2U);
  const Json& next = why["against"][0];
  EXPECT_EQ(next["role"], "runner-up");
  EXPECT_EQ(next["config"], "BLOCK_M=32,STAGES=9");
  EXPECT_THAT(
      next["headline"].get<std::string>(),
      HasSubstr("the first is 1.05 times as fast [1.05, 1.05], timed in turn for 11 rounds"));
  std::vector<std::string> names;
  for (const Json& figure : next["figures"]) names.push_back(figure["name"]);
  EXPECT_THAT(names, ElementsAre("BLOCK_M", "time", "registers", "bank_conflicts"));
  EXPECT_EQ(next["figures"][2], Json({{"name", "registers"}, {"before", "128"}, {"after", "168"}}));
  EXPECT_EQ(why["against"][1]["role"], "baseline");
  EXPECT_THAT(why["against"][1]["headline"].get<std::string>(),
              HasSubstr("the first is 1.2 times as fast"));
  // Of a baseline no more is known than its rounds.
  ASSERT_EQ(why["against"][1]["figures"].size(), 1U);
  EXPECT_EQ(why["against"][1]["figures"][0]["name"], "time");
  // What is not launched is left out, and what none has.
  EXPECT_EQ(why["code"]["classes"], Json({"fma", "integer", "branch"}));
  EXPECT_EQ(why["code"]["columns"][0], Json({{"role", "winner"},
                                             {"set", "PTX"},
                                             {"once", {1.0, 1.0, 2.0}},
                                             {"weighted", {10.0, 10.0, 11.0}}}));
  EXPECT_EQ(why["code"]["columns"][1]["role"], "runner-up");
  EXPECT_EQ(why["code"]["columns"][1]["weighted"], Json({0.0, 10.0, 11.0}));
  EXPECT_EQ(why["code"]["columns"][2], Json({{"role", "baseline"}, {"none", "it is a library's"}}));
  results.trials.erase(results.trials.begin());  // the winner's
  EXPECT_TRUE(page_of({results})["questions"][0]["why"].is_null());
}

// A page that goes to others may not say what is in the code.
TEST(PageData, SaysNothingOfInstructionsWithoutCode) {
  const Results results = results_of(1000, "2026-11-20T00:00:00Z");
  PageData page(no_kernel, no_ceilings, figures_of, nullptr, nullptr);
  for (const TrialRow& row : results.trials) page.take(row, results);
  page.add("file", results);
  const Json why = Json::parse(page.json({}))["questions"][0]["why"];
  EXPECT_EQ(why["against"].size(), 2U);
  EXPECT_FALSE(why.contains("code"));
}

TEST(PageData, HasTheQuestionsWithNothingCorrect) {
  Results results;
  results.trials = {
      example::failure(problem(), example::kBest, Status::runtime, "launch", "<b>refused")};
  const Json page = page_of({results});
  ASSERT_EQ(page["questions"].size(), 1U);
  EXPECT_TRUE(page["questions"][0]["entry"].is_null());
  EXPECT_EQ(page["trials"][0]["messages"], Json({"<b>refused"}));
}

TEST(PageData, ExportsTheWinnerInEachFormat) {
  const Json page = page_of({results_of(1000, "2026-11-20T00:00:00Z")});
  std::vector<std::string> formats;
  for (const Json& one : page["questions"][0]["exports"]) {
    formats.push_back(one["format"]);
    EXPECT_THAT(one["text"].get<std::string>(), HasSubstr("64"));
  }
  EXPECT_THAT(formats, testing::IsSupersetOf({"json", "csv", "markdown", "header"}));
  // The parameters of this kernel do not mean what vLLM says.
  EXPECT_THAT(formats, Not(Contains("vllm-moe")));
}

}  // namespace
}  // namespace assay
