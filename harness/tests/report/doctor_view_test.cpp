#include "report/doctor_view.h"

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "matchers.h"

namespace assay {
namespace {

/// What an H200 that can be trusted measures.
SelfMeasurement sound() {
  SelfMeasurement m;
  m.l2_bytes = 60 << 20;
  m.read_bytes = 32 << 20;
  m.empty_event_ns = 1500;
  m.empty_kernel_ns = 2750;
  m.cold_read_ns = 11'900;
  m.hot_read_ns = 7'000;
  m.repeat_spread_ratio = 0.004;
  m.ceilings = {4.1e12, 4.3e12, 7e12, 780e12, 400e12, 50e12, 60e12, 1500e12, 2'700, 900, 1980};
  m.clock_mhz = 1980;
  m.noise_floor_ratio = 0.002;
  m.health = GpuHealth{.state = {0x1, 90, 35},
                       .clock_mhz = 1980,
                       .max_clock_mhz = 1980,
                       .memory_clock_mhz = 3201,
                       .ecc = true,
                       .num_processes = 1};
  return m;
}

Fitness verdict_of(const std::string& topic, const SelfMeasurement& measured) {
  for (const Finding& finding : assess("GPU 0", measured)) {
    // A finding says what to do if, and only if, something is not fine.
    EXPECT_EQ(finding.advice.empty(), finding.fitness == Fitness::ok) << finding.topic;
    if (finding.topic == "GPU 0 " + topic) return finding.fitness;
  }
  ADD_FAILURE() << "no finding about " << topic;
  return Fitness::missing;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// What differs from a sound GPU, and what is found of it.
struct Judged {
  std::function<void(SelfMeasurement&)> change;
  const char* topic;
  Fitness fitness;
};
using M = SelfMeasurement;

const Judged kJudged[] = {
    {[](M& m) { m.health->state.throttle_reasons = 0x4; }, "throttling", Fitness::suspicious},
    {[](M& m) { m.health->state.throttle_reasons = kClocksSetReason; }, "clocks", Fitness::note},
    {[](M& m) { m.health->state.throttle_reasons = kClocksSetReason; }, "throttling", Fitness::ok},
    {[](M& m) { m.health->num_processes = 2; }, "sharing", Fitness::suspicious},
    {[](M& m) { m.noise_floor_ratio = 0.04; }, "noise floor", Fitness::suspicious},
    {[](M& m) { m.health.reset(); }, "clocks", Fitness::note},
    // A hot read as slow as a cold one proves no flush, but where L2 is small, it proves nothing.
    {[](M& m) { m.hot_read_ns = m.cold_read_ns; }, "flush", Fitness::suspicious},
    {[](M& m) { m.hot_read_ns = m.cold_read_ns, m.l2_bytes = 6 << 20; }, "flush", Fitness::note},
    // A cold read that is faster than the memory comes from L2.
    {[](M& m) { m.cold_read_ns = 6'000, m.hot_read_ns = 5'000; }, "flush", Fitness::suspicious},
    {[](M& m) { m.repeat_spread_ratio = 0.2; }, "noise", Fitness::suspicious},
    {[](M& m) { m.empty_kernel_ns = 0; }, "timer", Fitness::suspicious},
    {[](M& m) { m.empty_event_ns = 50'000, m.empty_kernel_ns = 55'000; }, "timer",
     Fitness::suspicious},
    // What was not measured is never right.
    {[](M& m) { m = {}; }, "timer", Fitness::suspicious},
    {[](M& m) { m = {}; }, "flush", Fitness::suspicious},
    {[](M& m) { m = {}; }, "ceilings", Fitness::suspicious},
    {[](M& m) { m.repeat_spread_ratio = kNan; }, "noise", Fitness::suspicious},
    {[](M& m) { m.cold_read_ns = kNan; }, "flush", Fitness::suspicious},
    // Who may run beside.
    {[](M& m) { m.is_slice = true; }, "partition", Fitness::note},
    {[](M& m) { m.is_slice = m.mps = true; }, "partition", Fitness::suspicious},
};

TEST(Judge, NamesWhatIsNotSound) {
  for (const char* topic : {"timer", "flush", "noise", "noise floor", "clocks", "throttling",
                            "sharing", "ECC", "ceilings", "partition"}) {
    EXPECT_EQ(verdict_of(topic, sound()), Fitness::ok) << topic;
  }
  for (const Judged& judged : kJudged) {
    SelfMeasurement m = sound();
    judged.change(m);
    EXPECT_EQ(verdict_of(judged.topic, m), judged.fitness) << &judged - kJudged;
  }
  SelfMeasurement m = sound();
  m.health->state.throttle_reasons = 0x4 | 0x20;
  EXPECT_THAT(doctor_text(assess("GPU 0", m), ""), HasSubstr("power cap, thermal, 90 W, 35 C"));
}

TEST(DoctorText, ShowsEveryFindingAndItsAdvice) {
  const std::string text = doctor_text(
      {{"NVRTC", "13.0", Fitness::ok, ""}, {"NVML", "not found", Fitness::note, "install it"}},
      "fit to compile");
  EXPECT_EQ(text,
            "check  fitness  found\n"
            "-------------------------\n"
            "NVRTC  ok       13.0\n"
            "NVML   note     not found\n"
            "\n"
            "NVML: install it\n"
            "\n"
            "fit to compile\n");
}

TEST(DoctorJson, SaysWhetherTheMachineIsFit) {
  const auto json = nlohmann::json::parse(
      doctor_json({{"NVRTC", "not found", Fitness::missing, "install it"}}, "no", false));
  EXPECT_FALSE(json["is_fit"]);
  ASSERT_EQ(json["findings"].size(), 1U);
  EXPECT_EQ(json["findings"][0]["fitness"], "missing");
}

TEST(Doctor, ComparesTheGpusOfAModel) {
  const auto gpu = [](const char* name, const char* model, double read, double bf16) {
    Ceilings ceilings = sound().ceilings;
    ceilings.read_bytes_per_s = read;
    ceilings.bf16_flops_per_s = bf16;
    return ComparedGpu{name, model, ceilings};
  };
  EXPECT_TRUE(compare_gpus({gpu("GPU 0", "H200", 4e12, 7e14)}).empty());
  EXPECT_TRUE(
      compare_gpus({gpu("GPU 0", "H200", 4e12, 7e14), gpu("GPU 1", "A100", 1e12, 2e14)}).empty());
  const auto alike =
      compare_gpus({gpu("GPU 0", "H200", 4e12, 7e14), gpu("GPU 1", "H200", 4.04e12, 7.21e14)});
  ASSERT_EQ(alike.size(), 1u);
  EXPECT_EQ(alike[0].fitness, Fitness::ok);
  EXPECT_EQ(alike[0].found, "2 of H200: memory rates within 1.0 %, bf16 rates within 3.0 %");
  const auto apart =
      compare_gpus({gpu("GPU 0", "H200", 4e12, 7e14), gpu("GPU 1", "H200", 4e12, 6.3e14)});
  EXPECT_EQ(apart.at(0).fitness, Fitness::suspicious);
  EXPECT_THAT(apart.at(0).advice, HasSubstr("GPU 1 is 10.0 % slower than GPU 0"));
}

TEST(Doctor, SaysWhoMayCount) {
  const std::string options = "RmLogonRC: 1\nRmProfilingAdminOnly: ";
  const Finding open = judge_counters(options + "0\n", false);
  EXPECT_EQ(open.found, "everybody may count");
  EXPECT_EQ(open.fitness, Fitness::ok);
  const Finding closed = judge_counters(options + "1\n", false);
  EXPECT_EQ(closed.found, "only administrators may count");
  EXPECT_EQ(closed.fitness, Fitness::note);
  EXPECT_THAT(closed.advice, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_EQ(judge_counters(options + "1\n", true).fitness, Fitness::ok);
  // Nothing is claimed of a driver that has no such option.
  EXPECT_EQ(judge_counters("RmLogonRC: 1\n", true).fitness, Fitness::note);
  EXPECT_THAT(judge_counters("", false).found, HasSubstr("does not say"));
}

}  // namespace
}  // namespace assay
