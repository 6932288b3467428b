#include "messages/messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "device/fixtures.h"
#include "matchers.h"
#include "message_of.h"

namespace assay {
namespace {

/// What the other side of the socket makes of it.
template <typename T>
T sent(const T& value) {
  return message::decode<T>(message::unpack(message::pack(message::encode(value))));
}

Timing make_timing() {
  Timing timing{{1.5, 0.1, 1e300, 5e-324}, 1.0 / 3, 0.25, 2, StopReason::time_limit};
  timing.clocks_mhz = {1980.25, 0, 1965, 1755};
  timing.clock_mhz = 1965;
  timing.state = GpuState{~std::uint64_t{0}, 699.5, 61};
  return timing;
}

TEST(Messages, AnOutcomeKeepsEveryBit) {
  Outcome outcome{Status::correctness, "mismatch",
                  "C[3] is 1.5, \"expected\" 2\n\x80 is not UTF-8"};
  outcome.validation = Validation{1e-3, 1e-5, 77.25, std::int64_t{1} << 40, "gemm"};
  outcome.timing = make_timing();
  outcome.device_ms = 0.125;
  outcome.prepared = Prepared{12.5, std::int64_t{1} << 40};
  EXPECT_EQ(sent(outcome), outcome);
  EXPECT_EQ(sent(Outcome{}), Outcome{}) << "without figures";
}

// Fewer than six samples have no interval, and a wrong output can have any error.
TEST(Messages, InfinityAndNanCross) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Outcome outcome;
  outcome.timing = Timing{{1}, 1, -kInfinity, kInfinity, StopReason::sample_limit};
  outcome.validation = Validation{std::nan(""), 0, kInfinity, 1};
  const Outcome copy = sent(outcome);
  EXPECT_EQ(copy.timing->ci_low_ns, -kInfinity);
  EXPECT_EQ(copy.timing->ci_high_ns, kInfinity);
  EXPECT_TRUE(std::isnan(copy.validation->relative_error));
  EXPECT_EQ(copy.validation->worst_element_ratio, kInfinity);
}

TEST(Messages, ATrialKeepsItsPlanAndItsMeasure) {
  TrialRequest request = test::request_of("vector_add");
  request.cubin_path = "/tmp/a b.cubin";
  request.measure = {"sustained", 0.0125, 3.5};
  request.seed = ~std::uint64_t{0};
  EXPECT_EQ(request.plan.args.size(), 4u);
  EXPECT_EQ(sent(request), request);
  request.best_ns = 1.5;
  request.screened_ns = 2.5;
  EXPECT_EQ(sent(request), request);
}

TEST(Messages, ARerankKeepsItsOrder) {
  RerankResult result;
  result.candidates = {{"A=2", {1, 2}, {}}, {"A=1", {}, {}}};
  result.candidates[1].outcome.status = Status::timeout;
  result.candidates[0].clocks_mhz = {1980, 0};
  result.candidates[0].eliminated = true;
  result.candidates[0].energy_j = 0.5;
  result.baselines = {{"cublaslt_first", {3}, {}}};
  EXPECT_EQ(sent(result), result);
  result.duplicate = RerankEntry{"A=1", {4, 5}, {}};
  result.duplicate_of = 1;
  EXPECT_EQ(sent(result), result);
}

TEST(Messages, TheSmallOnesKeepEveryField) {
  const auto expect_kept = [](const auto& value) { EXPECT_EQ(sent(value), value); };
  expect_kept(DeviceInfo{"NVIDIA H200", "GPU-1", "580.1", 90, 132, 232448, 50 << 20, 1ll << 37});
  expect_kept(Ceilings{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  expect_kept(Vitals{1, 2, true});
  expect_kept(Vitals{});
  expect_kept(VerifySpec{"data", 16, 20});
  expect_kept(RerankSpec{.top = 3, .rounds = 7, .objective = Objective::edp});
  SelfTest self_test{1, 2, 3, 4, 5, 6, 7, 8};
  expect_kept(self_test);
  self_test.health = GpuHealth{.state = {4, 700, 60}, .clock_mhz = 1500, .ecc = false};
  expect_kept(self_test);
  expect_kept(BaselineTiming{"cublaslt_best", "algorithm 2 of 8", make_timing()});
}

TEST(Messages, DamageIsAnErrorThatSaysWhat) {
  const auto sentence = [](nlohmann::json json) -> std::string {
    return message_of<Error>([&] { message::decode<Outcome>(json); });
  };
  const nlohmann::json good = message::encode(Outcome{});
  for (const auto& item : good.items()) {
    nlohmann::json missing = good;
    missing.erase(item.key());
    EXPECT_THAT(sentence(missing), HasSubstr(item.key())) << item.key();
  }
  nlohmann::json word = good;
  word["status"] = "splendid";
  EXPECT_THAT(sentence(word), HasSubstr("splendid"));
  nlohmann::json type = good;
  type["device_ms"] = "soon";
  EXPECT_NE(sentence(type), "");
}

TEST(Messages, UnpackRefusesWhatIsNotOneMessage) {
  const std::string whole = message::pack(message::encode(Outcome{}));
  EXPECT_NO_THROW(message::unpack(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(message::unpack(whole.substr(0, length)), Error) << length;
  }
  EXPECT_THROW(message::unpack(whole + "x"), Error);
  EXPECT_THROW(message::unpack("\xff\xff\xff\xff"), Error);
}

}  // namespace
}  // namespace assay
