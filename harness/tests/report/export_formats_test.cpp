// Each format against its reader's own rule, which consumers.py has.
#include <stdio.h>

#include "base/error.h"
#include "base/file.h"
#include "matchers.h"
#include "message_of.h"
#include "report/example_rows.h"
#include "report/export.h"
#include "temp_folder.h"

namespace assay {
namespace {

using example::problem;

/// What the reader of `format` prints of a file with this text.
std::string read_as(const std::string& format, const std::string& text,
                    const std::string& arguments = "", const std::string& file_name = "export") {
  const TempFolder folder;
  write_file_atomic(folder.path() / file_name, text);
  const std::string command =
      fmt::format("python3 {}/harness/tests/report/consumers.py {} '{}' {} 2>&1", ASSAY_SOURCE_DIR,
                  format, (folder.path() / file_name).string(), arguments);
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += static_cast<char>(c);
  if (pclose(pipe) != 0) return "refused: " + output;
  output.pop_back();
  return output;
}

std::vector<TunedTable> tables_of(const std::vector<std::pair<Problem, std::string>>& winners,
                                  const std::string& kernel = "gemm_mma") {
  std::vector<RankRow> ranks;
  double time_ns = 10'000;
  for (const auto& [asked, config] : winners) {
    ranks.push_back(example::rank(asked, kernel, config, time_ns, 15'000));
    time_ns += 1000;
  }
  return tuned_tables(ranks);
}

std::vector<TunedTable> two_winners() {
  return tables_of({{problem(16, 4096), "BLOCK_M=64,WARPS=4,STAGES=3,ORDER=row"},
                    {problem(512, 4096), "BLOCK_M=128,WARPS=8,STAGES=4,ORDER=grouped"}});
}

/// Why a format is not written of these.
std::string refusal(const auto& write, const auto& rows) {
  return message_of<UsageError>([&] { write(rows); });
}

TEST(ExportWisdom, IsFoundByTheReadersRule) {
  const std::string text = export_wisdom(two_winners());
  const auto look_up = [&](const std::string& asked) {
    return read_as("wisdom", text, "gemm_mma 'NVIDIA H200' " + asked);
  };
  EXPECT_THAT(look_up("16 4096"),
              HasSubstr(R"("BLOCK_M": 64, "WARPS": 4, "STAGES": 3, "ORDER": "row")"));
  EXPECT_THAT(look_up("512 4096"), HasSubstr(R"("BLOCK_M": 128)"));
  // Off the grid: 200 x 4096 is nearer to 16 than to 512 by its volume, 300 x 4096 is not.
  EXPECT_THAT(look_up("200 4096"), HasSubstr(R"("BLOCK_M": 64)"));
  EXPECT_THAT(look_up("300 4096"), HasSubstr(R"("BLOCK_M": 128)"));
}

TEST(ExportWisdom, RefusesWhatItsReaderCannotLookUp) {
  auto tables = two_winners();
  for (TunedRow& entry : tables[0].entries) {
    entry.problem = {{"A", 1}, {"B", 2}, {"C", 3}, {"D", 4}};
  }
  EXPECT_THAT(refusal(export_wisdom, tables), HasSubstr("up to three sizes"));
  tables = two_winners();
  tables[0].entries[1].best.kernel = "gemm_wgmma";
  EXPECT_THAT(refusal(export_wisdom, tables),
              AllOf(HasSubstr("gemm_mma and gemm_wgmma"), HasSubstr("--kernel")));
  tables[0].entries[1].best = {"gemm_mma", {{"OTHER", std::int64_t{1}}}};
  EXPECT_THAT(refusal(export_wisdom, tables), HasSubstr("different parameters: OTHER=1"));
  tables.push_back(tables[0]);
  EXPECT_THAT(refusal(export_wisdom, tables), HasSubstr("choose with --op"));
}

TEST(ExportTriton, RunsAsPython) {
  EXPECT_EQ(read_as("triton", export_triton(two_winners())),
            R"([[{"M": 16, "N": 4096}, {"BLOCK_M": 64, "ORDER": "row", "num_warps": 4, )"
            R"("num_stages": 3}], [{"M": 512, "N": 4096}, {"BLOCK_M": 128, "ORDER": "grouped", )"
            R"("num_warps": 8, "num_stages": 4}]])");
}

TEST(ExportTriton, RefusesKernelsThatAreNotLaunchedSo) {
  auto tables = tables_of({{problem(16, 4096), "BLOCK_M=64,STAGES=3"}});
  EXPECT_THAT(
      refusal(export_triton, tables),
      AllOf(HasSubstr("triton.Config has no meaning for kernel gemm_mma"), HasSubstr("WARPS")));
  tables = tables_of({{problem(16, 4096), "WARPS=4"}});
  EXPECT_THAT(refusal(export_triton, tables), HasSubstr("STAGES"));
  tables = tables_of({{problem(16, 4096), "WARPS=6,STAGES=2"}});
  EXPECT_THAT(refusal(export_triton, tables), HasSubstr("power of two"));
}

Problem experts(std::int64_t tokens) { return {{"M", tokens}, {"E", 8}, {"N", 1024}, {"K", 4096}}; }

std::vector<TunedTable> moe_tables() {
  return tables_of({{experts(4096),
                     "BLOCK_SIZE_M=128,BLOCK_SIZE_N=128,BLOCK_SIZE_K=64,"
                     "GROUP_SIZE_M=16,NUM_WARPS=8,NUM_STAGES=3"},
                    {experts(1),
                     "BLOCK_SIZE_M=16,BLOCK_SIZE_N=32,BLOCK_SIZE_K=64,GROUP_SIZE_M=1,"
                     "NUM_WARPS=4,NUM_STAGES=4"},
                    {experts(64),
                     "BLOCK_SIZE_M=64,BLOCK_SIZE_N=64,BLOCK_SIZE_K=64,GROUP_SIZE_M=1,"
                     "NUM_WARPS=4,NUM_STAGES=4"}},
                   "fused_moe");
}

TEST(ExportVllmMoe, IsFoundByItsNameAndTheNearestNumberOfTokens) {
  const auto files = export_vllm_moe(moe_tables());
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].file_name, "E=8,N=1024,device_name=NVIDIA_H200.json");
  const auto look_up = [&](const std::string& tokens) {
    return read_as("vllm-moe", files[0].text, "8 1024 'NVIDIA H200' " + tokens, files[0].file_name);
  };
  EXPECT_THAT(look_up("1"), HasSubstr(R"("BLOCK_SIZE_M": 16,)"));
  EXPECT_THAT(look_up("32"), HasSubstr(R"("BLOCK_SIZE_M": 16,)"));
  EXPECT_THAT(look_up("33"), HasSubstr(R"("BLOCK_SIZE_M": 64,)"));
  EXPECT_THAT(look_up("99999"), HasSubstr(R"("num_warps": 8)"));
}

TEST(ExportVllmMoe, NamesDevicesAndTypesAsTheReaderDoes) {
  auto tables = moe_tables();
  const auto name_of = [&](const std::string& device, const std::string& op) {
    tables[0].device.name = device;
    tables[0].op = op;
    return export_vllm_moe(tables)[0].file_name;
  };
  EXPECT_EQ(name_of("NVIDIA H200 141GB HBM3e", "moe_bf16"),
            "E=8,N=1024,device_name=NVIDIA_H200.json");
  EXPECT_EQ(name_of("NVIDIA A100-SXM4  80GB/x", "moe_fp8_w8a8"),
            "E=8,N=1024,device_name=NVIDIA_A100-SXM4_80GB_x,dtype=fp8_w8a8.json");
  EXPECT_THAT(message_of<UsageError>([&] { name_of("x", "moe"); }),
              HasSubstr("does not end in one"));
}

// The block of the scales was left out: vLLM never found the file for the model that it was tuned
// for, and found it for one with other scales.
TEST(ExportVllmMoe, NamesTheBlockOfTheScalesOrRefuses) {
  auto tables = moe_tables();
  for (TunedRow& entry : tables[0].entries) {
    entry.problem.emplace_back("block_n", std::int64_t{128});
    entry.problem.emplace_back("block_k", std::int64_t{64});
  }
  EXPECT_EQ(export_vllm_moe(tables)[0].file_name,
            "E=8,N=1024,device_name=NVIDIA_H200,block_shape=[128,64].json");
  tables[0].entries[0].problem.pop_back();
  EXPECT_THAT(refusal(export_vllm_moe, tables), HasSubstr("has one of them"));
  tables = moe_tables();
  tables[0].entries[0].problem.emplace_back("density", 0.1);
  EXPECT_THAT(refusal(export_vllm_moe, tables), HasSubstr("no place for the density"));
}

TEST(ExportVllmMoe, RefusesWhatHasAnotherMeaning) {
  EXPECT_THAT(refusal(export_vllm_moe, two_winners()),
              AllOf(HasSubstr("mixtures of experts"), HasSubstr("has no E")));
  auto tables = moe_tables();
  tables[0].entries[0].best.config.emplace_back("SPLIT_K", std::int64_t{2});
  EXPECT_THAT(refusal(export_vllm_moe, tables), HasSubstr("SPLIT_K=2"));
  tables = moe_tables();
  tables[0].entries[0].best.config.erase(tables[0].entries[0].best.config.begin());
  EXPECT_THAT(refusal(export_vllm_moe, tables), HasSubstr("parameter BLOCK_SIZE_M"));
  tables = moe_tables();
  tables[0].entries[1].problem = tables[0].entries[0].problem;
  EXPECT_THAT(refusal(export_vllm_moe, tables), HasSubstr("several problems agree"));
}

std::vector<TrialRow> tried() {
  TrialRow only_compiled = example::trial(problem(16, 4096), "gemm_mma", "B=256,ORDER=row", 1);
  only_compiled.record.outcome = {Status::compiled};
  std::vector<TrialRow> trials = {
      example::trial(problem(16, 4096), "gemm_mma", "B=64,ORDER=row", 12'000),
      example::trial(problem(16, 4096), "gemm_mma", "B=128,ORDER=grouped", 11'000),
      example::failure(problem(16, 4096), "B=128,ORDER=row", Status::compile, "error", "no"),
      example::failure(problem(16, 4096), "B=32,ORDER=row", Status::correctness, "mismatch", "no"),
      only_compiled};
  trials[0].record.measurements = {{"dram_bytes", 1048576, "B"}};
  return trials;
}

TEST(ExportKernelTuner, IsReadAndGoneOnWith) {
  const std::string text = export_kernel_tuner(tried());
  EXPECT_EQ(read_as("kernel-tuner", text, "64 row"), "0.012");
  EXPECT_EQ(read_as("kernel-tuner", text, "128 row"), "\"CompilationFailedConfig\"");
  EXPECT_EQ(read_as("kernel-tuner", text, "32 row"), "\"RuntimeFailedConfig\"");
  EXPECT_THAT(text, Not(HasSubstr("\"256,row\"")));
}

TEST(ExportKernelTuner, ComesBackThroughOurOwnImport) {
  const TempFolder folder;
  for (const bool is_t4 : {false, true}) {
    const auto path = folder.path() / "gemm.json";
    std::vector<TrialRow> trials = tried();
    trials.pop_back();
    write_file_atomic(path, is_t4 ? export_t4(trials) : export_kernel_tuner(trials));
    const Recording recording = read_recording(path);
    ASSERT_EQ(recording.trials.size(), trials.size());
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const TrialRecord& read = recording.trials[i];
      EXPECT_EQ(to_text(read.config), to_text(trials[i].record.config));
      EXPECT_EQ(read.finished_at, trials[i].record.finished_at);
      ASSERT_EQ(read.outcome.timing.has_value(), trials[i].record.outcome.timing.has_value());
      if (read.outcome.timing) {
        EXPECT_NEAR(read.outcome.timing->median_ns, trials[i].record.outcome.timing->median_ns,
                    1e-6);
      }
    }
  }
}

// T4 has no word for what was compiled and not run, which was written as a correct result.
TEST(ExportT4, AgreesWithTheSchema) { EXPECT_EQ(read_as("t4", export_t4(tried())), "4"); }

TEST(ExportTrials, AreOfOneKernelAndProblem) {
  std::vector<TrialRow> trials = tried();
  trials.push_back(example::trial(problem(64, 4096), "gemm_mma", "B=64,ORDER=row", 12'000));
  for (const auto write : {export_t4, export_kernel_tuner}) {
    EXPECT_THAT(refusal(write, trials),
                AllOf(HasSubstr("M=16,N=4096"), HasSubstr("M=64,N=4096"), HasSubstr("--problem")));
  }
}

// A service that follows a benchmark over time knows it by its name.
TEST(ExportForServices, NamesSayWhatWasAskedAndNotWhatWon) {
  const auto before = two_winners();
  auto after = before;
  after[0].entries[0].best = {"gemm_wgmma", {{"OTHER", std::int64_t{1}}}};
  for (const auto& tables : {before, after}) {
    EXPECT_EQ(read_as("google-benchmark", export_google_benchmark(tables),
                      "gemm_bf16/best/M:16/N:4096/iterations:1/manual_time"),
              "10000.0");
    EXPECT_EQ(read_as("google-benchmark", export_google_benchmark(tables),
                      "gemm_bf16/cublaslt_best/M:512/N:4096/iterations:1/manual_time"),
              "15000.0");
    EXPECT_EQ(read_as("github-action-benchmark", export_github_action_benchmark(tables),
                      "nvidia_h200/gemm_bf16/best/M:512/N:4096"),
              "11000.0");
    EXPECT_EQ(read_as("bencher", export_bencher(tables), "nvidia_h200/gemm_bf16/best/M:16/N:4096"),
              "10000.0");
  }
}

TEST(ExportForServices, ProtocolsAndObjectivesHaveNamesOfTheirOwn) {
  auto tables = two_winners();
  for (const auto& [protocol, objective] :
       {std::pair("sustained", Objective::time), std::pair("sustained", Objective::energy)}) {
    tables.push_back(tables[0]);
    tables.back().protocol = protocol;
    tables.back().objective = objective;
  }
  EXPECT_EQ(read_as("google-benchmark", export_google_benchmark(tables),
                    "gemm_bf16/best/M:16/N:4096/sustained/energy/iterations:1/manual_time"),
            "10000.0");
  EXPECT_EQ(read_as("bencher", export_bencher(tables),
                    "nvidia_h200/gemm_bf16/best/M:16/N:4096/sustained"),
            "10000.0");
  tables[1].device.name = "NVIDIA A100";
  EXPECT_THAT(refusal(export_google_benchmark, tables),
              AllOf(HasSubstr("NVIDIA A100"), HasSubstr("--device")));
}

TEST(ExportJunit, FailsWhatItsVerificationFailed) {
  auto tables = two_winners();
  EXPECT_EQ(read_as("junit", export_junit(tables)), "2 0");
  tables[0].op = "a<b>&\"c\"";
  tables[0].entries[1].verification =
      Verification{{{"seeds", CheckResult::failed, "seed <7> & more"}}, {}, "2026-11-22"};
  EXPECT_EQ(read_as("junit", export_junit(tables)), "2 1");
}

TEST(ExportMarkdown, IsATableOfAsManyCellsInEachRow) {
  auto tables = two_winners();
  tables[0].entries[0].best.kernel = "a|b";
  const std::string text = export_markdown(tables);
  EXPECT_THAT(text, HasSubstr("### gemm\\_bf16 on NVIDIA H200, protocol cold\n\n| problem |"));
  EXPECT_THAT(text, HasSubstr("| a\\|b | BLOCK\\_M=64,WARPS=4,STAGES=3,ORDER=row | 10.00 us |"));
  std::size_t cells = 0;
  for (std::size_t at = text.find("| problem"); at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::size_t count = 0;
    for (std::size_t i = at; i < end; ++i) count += text[i] == '|' && text[i - 1] != '\\' ? 1 : 0;
    if (cells == 0) cells = count;
    EXPECT_EQ(count, cells) << text.substr(at, end - at);
    at = end + 1;
  }
}

}  // namespace
}  // namespace assay
