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

}  // namespace
}  // namespace assay
