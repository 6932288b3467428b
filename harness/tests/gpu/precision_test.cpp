// The derived tolerance tells the arithmetic that a contract names from a cheaper one, for short
// sums and for long ones.

#include <gtest/gtest.h>

#include "gpu_fixture.h"

namespace assay {
namespace {

class PrecisionTest : public test::GpuTest {
 protected:
  void expect_only_full_passes(const std::string& name) {
    TrialRunner runner(test::gpu_index());
    runner.setup(support_cubin(runner.info()), {});
    KernelSpec kernel =
        load_kernel(test::source_folder() / "harness/tests/kernels/precision" / (name + ".yaml"));
    for (const std::int64_t k : {64, 1024, 16384, 65536}) {
      for (auto& [dim, size] : kernel.smoke) {
        if (dim == "K") size = k;
      }
      for (const Value& word : kernel.params.at(0).values) {
        TrialRequest request = request_of(kernel, runner.info(), {{"ARITHMETIC", word}});
        request.measure.max_seconds_per_config = 0.05;
        const Outcome outcome = runner.run(request);
        const std::string text = to_text(word);
        EXPECT_EQ(to_text(outcome.status), text == "full" ? "correct" : "correctness")
            << text << " K=" << k << ": " << outcome.message
            << (outcome.validation ? fmt::format(" error {} limit {} worst element {}",
                                                 outcome.validation->relative_error,
                                                 outcome.validation->relative_limit,
                                                 outcome.validation->worst_element_ratio)
                                   : "");
      }
    }
  }
};

TEST_F(PrecisionTest, InF32) { expect_only_full_passes("products_f32"); }
TEST_F(PrecisionTest, InBf16) { expect_only_full_passes("products_bf16"); }

// Right kernels pass, in a trial and in `assay verify`, whatever the order in which they add up:
// six of twelve were convicted for an element or two of 12,480 that was off by a few units of its
// last bit.
class HonestTest : public test::RunnerTest, public testing::WithParamInterface<int> {};

TEST_P(HonestTest, EveryOrderOfSummationIsCorrect) {
  KernelSpec kernel =
      load_kernel(test::source_folder() / "harness/tests/kernels/honest/product_orders.yaml");
  for (auto& [dim, size] : kernel.smoke) {
    if (dim == "K") size = GetParam();
    // The emulator takes seconds for a hundred million terms, which a launch adds up otherwise.
    if (dim == "M" && test::is_emulated() && GetParam() > 10000) size = 6;
  }
  for (const Value& order : kernel.params.at(0).values) {
    TrialRequest request = request_of(kernel, runner_->info(), {{"ORDER", order}});
    request.measure.max_seconds_per_config = 0.05;
    const Outcome trial = runner_->run(request);
    EXPECT_EQ(to_text(trial.status), "correct") << to_text(order) << ": " << trial.message;
    const int num_seeds = test::is_emulated() ? 1 : 8;
    const Outcome verified = runner_->verify(request, {"data", num_seeds, 60});
    EXPECT_EQ(to_text(verified.status), "correct") << to_text(order) << ": " << verified.message;
  }
}

INSTANTIATE_TEST_SUITE_P(, HonestTest, testing::Values(61, 1021, 16381));

}  // namespace
}  // namespace assay
