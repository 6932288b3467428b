// What the GPU's counters count, of kernels whose traffic and instructions are known.
#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string>

#include "base/counters.h"
#include "device/gpu_workers.h"
#include "gpu_fixture.h"
#include "timing/counter_session.h"

namespace assay {
namespace {

class Counters : public test::TimedTest {
 protected:
  std::map<std::string, double> count(KernelSpec kernel, const Problem& problem,
                                      const Config& config, const std::string& protocol = "cold") {
    kernel.smoke = problem;
    TrialRequest request = request_of(kernel, runner_->info(), config);
    request.measure.protocol = protocol;
    std::vector<std::string> names;
    for (const CounterRow& row : counters()) names.emplace_back(row.name);
    std::map<std::string, double> values;
    // Of processes that count on one GPU at once, all but one fail.
    GpuTurns turns(runner_->info().uuid);
    const GpuTurns::Turn turn = turns.wait();
    for (const Measurement& counted : runner_->count(request, names)) {
      values[counted.name] = counted.value;
      RecordProperty(counted.name, std::to_string(counted.value));
      printf("  %s %.6g %s\n", counted.name.c_str(), counted.value, counted.unit.c_str());
    }
    return values;
  }
};

// CUPTI's host part knows every chip, also where there is none.
TEST(CounterNames, AreMetricsOfTheChipsThatSweepsRunOn) {
  std::optional<Cupti> cupti;
  try {
    cupti.emplace();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  std::vector<std::string> names;
  for (const CounterRow& row : counters()) names.emplace_back(row.name);
  const std::vector<std::string> metrics = metrics_of(names);
  for (const char* chip : {"GA100", "GA102", "AD102", "GH100", "GB100"}) {
    const CounterSession session(*cupti, chip, metrics);
    EXPECT_EQ(session.metrics(), metrics) << chip;
    // Each is of one run, so that a ratio is, too. L2 counts what it has and lacks in two.
    EXPECT_THAT(session.passes(), testing::Each(1)) << chip;
    EXPECT_LT(session.passes().size(), metrics.size() / 2) << chip;
  }
  EXPECT_THAT(CounterSession(*cupti, "GH100", {"lts__t_sector_hit_rate.pct"}).passes(),
              testing::ElementsAre(2));
  // Some chips lack some.
  EXPECT_GT(CounterSession(*cupti, "GB202", metrics).metrics().size(), 8u);
  EXPECT_THROW(CounterSession(*cupti, "GH100", {"lts__t_no_such.sum"}), Error);
}

// Two vectors of 256 MiB each, far more than any L2 holds.
TEST_F(Counters, OfAColdSumAreItsBytes) {
  const double bytes = 4.0 * (1 << 26);
  auto counted = count(shipped_kernel("vector_add"), {{"N", 1 << 26}}, {});
  EXPECT_NEAR(counted.at("dram_read"), 2 * bytes, 0.02 * 2 * bytes);
  EXPECT_LT(counted.at("dram_write"), 1.02 * bytes);
  EXPECT_GT(counted.at("dram_write"), 0.5 * bytes);  // the rest is still in L2
  EXPECT_NEAR(counted.at("l2_to_sm"), 2 * bytes, 0.02 * 2 * bytes);
  EXPECT_EQ(counted.at("tensor_instructions"), 0);
}

TEST_F(Counters, OfAHotSumShowThatL2HasItsInputs) {
  const KernelSpec kernel = shipped_kernel("vector_add");
  auto cold = count(kernel, {{"N", 1 << 20}}, {});
  auto hot = count(kernel, {{"N", 1 << 20}}, {}, "hot");
  EXPECT_LT(hot.at("dram_read"), 0.05 * cold.at("dram_read"));
  EXPECT_GT(hot.at("l2_hits"), cold.at("l2_hits") + 20);
}

// So little that other traffic of the GPU is as much.
TEST_F(Counters, OfATinySumHaveNoShareAboveAll) {
  for (const std::int64_t size : {32, 1024, 100000}) {
    for (const auto& [name, value] : count(shipped_kernel("vector_add"), {{"N", size}}, {})) {
      const auto row =
          std::find_if(counters().begin(), counters().end(),
                       [&, &of = name](const CounterRow& each) { return each.name == of; });
      if (row->unit == "%") {
        EXPECT_LE(value, 100) << name << " of " << size;
      }
    }
  }
}

// One instruction of a warp for each 16 x 8 x 16 of the product.
TEST_F(Counters, OfAProductAreItsTensorInstructions) {
  auto counted = count(shipped_kernel("gemm_mma"), {{"M", 512}, {"N", 768}, {"K", 256}},
                       {{"BLOCK_M", std::int64_t{128}}, {"BLOCK_N", std::int64_t{128}}});
  EXPECT_EQ(counted.at("tensor_instructions"), 512 * 768 * 256 / (16 * 8 * 16));
}

}  // namespace
}  // namespace assay
