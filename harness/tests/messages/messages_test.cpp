#include "messages/messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "device/fixtures.h"
#include "matchers.h"
#include "message_of.h"
#include "space/plan_json.h"

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

  const Outcome copy = sent(outcome);
  EXPECT_EQ(copy.status, outcome.status);
  EXPECT_EQ(copy.kind, outcome.kind);
  EXPECT_EQ(copy.message, outcome.message);
  EXPECT_EQ(copy.device_ms, outcome.device_ms);
  ASSERT_TRUE(copy.validation);
  EXPECT_EQ(copy.validation->relative_error, 1e-3);
  EXPECT_EQ(copy.validation->relative_limit, 1e-5);
  EXPECT_EQ(copy.validation->worst_element_ratio, 77.25);
  EXPECT_EQ(copy.validation->elements, std::int64_t{1} << 40);
  EXPECT_EQ(copy.validation->reference, "gemm");
  ASSERT_TRUE(copy.timing);
  EXPECT_EQ(copy.timing->samples_ns, outcome.timing->samples_ns);
  EXPECT_EQ(copy.timing->median_ns, outcome.timing->median_ns);
  EXPECT_EQ(copy.timing->ci_low_ns, outcome.timing->ci_low_ns);
  EXPECT_EQ(copy.timing->ci_high_ns, outcome.timing->ci_high_ns);
  EXPECT_EQ(copy.timing->stop, StopReason::time_limit);
  EXPECT_EQ(copy.timing->clocks_mhz, outcome.timing->clocks_mhz);
  EXPECT_EQ(copy.timing->clock_mhz, 1965);
  EXPECT_EQ(copy.timing->state, outcome.timing->state);
}

TEST(Messages, AnOutcomeWithoutFiguresHasNoneAfterwards) {
  const Outcome copy = sent(Outcome{});
  EXPECT_EQ(copy.status, Status::correct);
  EXPECT_FALSE(copy.validation);
  EXPECT_FALSE(copy.timing);
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
  const TrialRequest copy = sent(request);
  EXPECT_EQ(nlohmann::json(copy.plan), nlohmann::json(request.plan));
  EXPECT_EQ(copy.plan.args.size(), 4u);
  EXPECT_EQ(copy.cubin_path, request.cubin_path);
  EXPECT_EQ(copy.measure.protocol, "sustained");
  EXPECT_EQ(copy.measure.precision_ratio, 0.0125);
  EXPECT_EQ(copy.measure.max_seconds_per_config, 3.5);
  EXPECT_EQ(copy.seed, request.seed);
  EXPECT_EQ(copy.best_ns, std::nullopt);
  request.best_ns = 1.5;
  EXPECT_EQ(sent(request).best_ns, 1.5);
  request.screened_ns = 2.5;
  EXPECT_EQ(sent(request).screened_ns, 2.5);
}

TEST(Messages, ARerankKeepsItsOrder) {
  RerankResult result;
  result.candidates = {{"A=2", {1, 2}, {}}, {"A=1", {}, {}}};
  result.candidates[1].outcome.status = Status::timeout;
  result.candidates[0].clocks_mhz = {1980, 0};
  result.candidates[0].eliminated = true;
  result.candidates[0].energy_j = 0.5;
  result.baselines = {{"cublaslt_first", {3}, {}}};
  const RerankResult copy = sent(result);
  ASSERT_EQ(copy.candidates.size(), 2u);
  EXPECT_EQ(copy.candidates[0].name, "A=2");
  EXPECT_EQ(copy.candidates[0].samples_ns, (std::vector<double>{1, 2}));
  EXPECT_EQ(copy.candidates[1].outcome.status, Status::timeout);
  EXPECT_EQ(copy.candidates[0].clocks_mhz, (std::vector<double>{1980, 0}));
  EXPECT_TRUE(copy.candidates[0].eliminated);
  EXPECT_FALSE(copy.candidates[1].eliminated);
  EXPECT_EQ(copy.candidates[0].energy_j, 0.5);
  ASSERT_EQ(copy.baselines.size(), 1u);
  EXPECT_EQ(copy.baselines[0].name, "cublaslt_first");
  EXPECT_FALSE(copy.duplicate);
  result.duplicate = RerankEntry{"A=1", {4, 5}, {}};
  result.duplicate_of = 1;
  EXPECT_EQ(sent(result).duplicate->samples_ns, (std::vector<double>{4, 5}));
  EXPECT_EQ(sent(result).duplicate_of, 1u);
}

TEST(Messages, TheSmallOnesKeepEveryField) {
  const DeviceInfo info{"NVIDIA H200", "GPU-1", "580.1", 90, 132, 232448, 50 << 20, 1ll << 37};
  EXPECT_EQ(message::encode(sent(info)), message::encode(info));
  EXPECT_EQ(sent(info).memory_bytes, 1ll << 37);
  const Ceilings ceilings{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(message::encode(sent(ceilings)), message::encode(ceilings));
  EXPECT_EQ(sent(ceilings).f32_flops_per_s, 7);
  const Vitals vitals{1, 2};
  EXPECT_EQ(message::encode(sent(vitals)), message::encode(vitals));
  EXPECT_FALSE(sent(Vitals{}).num_processes);
  const VerifySpec check{"data", 16, 20};
  EXPECT_EQ(message::encode(sent(check)), message::encode(check));
  EXPECT_EQ(sent(check).count, 16);
  const RerankSpec spec{.top = 3, .rounds = 7, .objective = Objective::edp};
  EXPECT_EQ(message::encode(sent(spec)), message::encode(spec));
  EXPECT_EQ(sent(spec).objective, Objective::edp);
  SelfTest self_test{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(message::encode(sent(self_test)), message::encode(self_test));
  EXPECT_FALSE(sent(self_test).health);
  self_test.health = GpuHealth{.state = {4, 700, 60}, .clock_mhz = 1500, .ecc = false};
  EXPECT_EQ(sent(self_test).health, self_test.health);
  EXPECT_EQ(sent(self_test).repeat_spread_ratio, 6);
  const BaselineTiming baseline{"cublaslt_best", "algorithm 2 of 8", make_timing()};
  EXPECT_EQ(message::encode(sent(baseline)), message::encode(baseline));
  EXPECT_EQ(sent(baseline).timing.samples_ns.size(), 4u);
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
