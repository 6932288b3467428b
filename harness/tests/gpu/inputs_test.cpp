// What the generators of support.cu make, on a real GPU.
#include "support/inputs.h"

#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "cuda/device_query.h"
#include "gpu_fixture.h"

namespace assay {
namespace {

using InputsTest = test::GpuTest;

TEST_F(InputsTest, RoutingGivesEachTokenDifferentExpertsAndEachExpertItsShare) {
  const Driver driver;
  const Context context(driver, 0);
  const DeviceInfo info = query_device(driver, context.device());
  const Stream stream = make_stream(driver);
  const SupportKernels support(driver, stream.get(), read_file(support_cubin(info)), info.sm_count);
  Inputs inputs(driver, stream.get(), support);

  constexpr std::int64_t kTokens = 4096, kExperts = 24, kTop = 3;
  const BufferPlan plan{
      "R",      DType::i32, {kTokens, kTop},
      Role::in, "routing",  {{"tokens", kTokens}, {"experts", kExperts}, {"top", kTop}}};
  const auto made = [&](std::uint64_t seed) {
    const auto input = inputs.get(plan, seed);
    std::vector<std::int32_t> experts(kTokens * kTop);
    driver.check(driver.cuMemcpyDtoHAsync(experts.data(), input->buffer.data,
                                          experts.size() * sizeof experts[0], stream.get()),
                 "cuMemcpyDtoHAsync");
    driver.check(driver.cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
    return experts;
  };

  const std::vector<std::int32_t> experts = made(1);
  std::vector<int> tokens_of(kExperts);
  for (std::size_t row = 0; row < kTokens; ++row) {
    const auto begin = experts.begin() + static_cast<std::ptrdiff_t>(row * kTop);
    const std::set<std::int32_t> distinct(begin, begin + kTop);
    ASSERT_EQ(distinct.size(), std::size_t{kTop}) << "token " << row;
    for (const std::int32_t expert : distinct) {
      ASSERT_TRUE(expert >= 0 && expert < kExperts) << expert;
      ++tokens_of[static_cast<std::size_t>(expert)];
    }
  }
  // 512 each, give or take six standard deviations of 21.
  for (const int tokens : tokens_of) EXPECT_NEAR(tokens, 512, 128);
  inputs.clear();
  EXPECT_EQ(made(1), experts);
  EXPECT_NE(made(2), experts);
}

}  // namespace
}  // namespace assay
