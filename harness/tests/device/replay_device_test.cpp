#include <gmock/gmock.h>

#include "base/rank.h"
#include "device/device.h"
#include "fixtures.h"

namespace assay {
namespace {

Config block(std::int64_t value) { return {{"BLOCK", value}}; }

TrialRecord record_of(std::int64_t n, std::int64_t value, Outcome outcome,
                      const std::string& kernel = "vector_add") {
  TrialRecord record;
  record.kernel = {kernel, "add_f32", "5eed", ""};
  record.problem = {{"N", n}};
  record.config = block(value);
  record.outcome = std::move(outcome);
  return record;
}

Outcome timed(double median_ns) {
  return {.timing = Timing{{median_ns}, median_ns, median_ns, median_ns, StopReason::precision}};
}

TrialRequest request_of(std::int64_t n, std::int64_t value,
                        const std::string& kernel = "vector_add") {
  TrialRequest request;
  request.plan.kernel = kernel;
  request.plan.problem = {{"N", n}};
  request.plan.config = block(value);
  return request;
}

RankEntry rank_entry(const std::string& kernel, const std::string& config, double time_ns) {
  return {kernel, config, {time_ns, time_ns + 1}};
}

Recording make_recording() {
  Recording recording;
  recording.sweep = "vector_add";
  recording.device.name = "NVIDIA H200";
  recording.device.cc = 90;
  recording.recorded_at = "2026-11-21T10:00:00Z";
  recording.trials = {
      record_of(1000, 128, timed(10)),
      record_of(1000, 256, timed(20)),
      record_of(2000, 128, timed(30)),
      record_of(1000, 128, timed(40), "vector_add2"),
      record_of(1000, 512, {Status::runtime, "illegal_address", "C is read at 7"}),
  };
  RankRecord rank;
  rank.op = "add_f32";
  rank.problem = {{"N", 1000}};
  rank.finished_at = "2026-11-21T10:00:00Z";
  rank.entries = {rank_entry("vector_add", "BLOCK=128", 10),
                  rank_entry("vector_add", "BLOCK=256", 20), rank_entry("", "memcpy", 9)};
  rank.entries[1].failure = "C[0] was not written";
  recording.ranks = {rank};
  recording.baselines = {{"add_f32", {{"N", 1000}}, {}, {}, "memcpy", "plain", {}, "2026-11-20"},
                         {"add_f32", {{"N", 2000}}, {}, {}, "memcpy", "other", {}, "2026-11-21"},
                         {"mul_f32", {{"N", 1000}}, {}, {}, "nothing", "", {}, "2026-11-21"}};
  recording.baselines[0].timing.median_ns = 9;
  return recording;
}

/// Of the two candidates that were re-ranked, the later one first.
RerankResult rerank_both(const Recording& recording) {
  return make_replay_device(recording)->rerank({request_of(1000, 256), request_of(1000, 128)},
                                               {"memcpy"}, {.rounds = 30});
}

TEST(ReplayDevice, SaysWhichConfigurationsWereRecorded) {
  const auto device = make_replay_device(make_recording());
  using testing::UnorderedElementsAre;
  EXPECT_THAT(device->recorded("vector_add", {{"N", 1000}}, "cold"),
              UnorderedElementsAre(block(128), block(256), block(512)));
  EXPECT_THAT(device->recorded("vector_add", {{"N", 3000}}, "cold"), testing::IsEmpty());
  EXPECT_THAT(device->recorded("vector_add", {{"N", 1000}}, "warm"), testing::IsEmpty());
}

TEST(ReplayDevice, CountsWhatWasRecordedOfWhatIsAskedFor) {
  Recording recording = make_recording();
  recording.trials.push_back(record_of(7, 64, timed(1000)));
  recording.trials.back().protocol.name = "cold";
  recording.trials.back().measurements = {{"dram_read", 64, "B"}, {"issue_busy", 90, "%"}};
  const auto device = make_replay_device(recording);
  const std::vector<std::string> names = {"dram_read", "dram_write"};
  EXPECT_EQ(device->count(request_of(7, 64), names),
            (std::vector<Measurement>{{"dram_read", 64, "B"}}));
  EXPECT_TRUE(device->count(request_of(7, 65), names).empty());
  EXPECT_EQ(device->countable(names), std::vector<std::string>{"dram_read"});
}

TEST(ReplayDevice, SaysWhoseGpuAndWhen) {
  const auto device = make_replay_device(make_recording());
  EXPECT_EQ(device->provenance(), "recorded on NVIDIA H200, 2026-11-21");
  EXPECT_EQ(device->info().cc, 90);
}

TEST(ReplayDevice, AnswersWithTheTrialOfTheKernelProblemAndConfiguration) {
  const auto device = make_replay_device(make_recording());
  const auto median = [&](const TrialRequest& request) {
    return device->run(request).timing.value().median_ns;
  };
  EXPECT_EQ(median(request_of(1000, 128)), 10);
  EXPECT_EQ(median(request_of(1000, 256)), 20);
  EXPECT_EQ(median(request_of(2000, 128)), 30);
  EXPECT_EQ(median(request_of(1000, 128, "vector_add2")), 40);
}

// Results of a replay were dated by when it was replayed, and tables called that "measured_at".
TEST(ReplayDevice, SaysWhenEachWasMeasured) {
  Recording recording = make_recording();
  recording.trials[1].finished_at = "2026-11-19T08:00:00Z";
  const auto device = make_replay_device(recording);
  const TrialRequest request = request_of(1000, 256);
  EXPECT_EQ(device->run(request).recorded_at, "2026-11-19T08:00:00Z");
  EXPECT_EQ(device->run_baselines(request, {}).at(0).recorded_at, "2026-11-20");
  EXPECT_EQ(device->rerank({request}, {}, {}).recorded_at, "2026-11-21T10:00:00Z");
  EXPECT_EQ(device->run(request_of(5, 128)).recorded_at, "");  // not recorded
}

TEST(ReplayDevice, AFailedTrialFailsAgainWithItsMessage) {
  const auto device = make_replay_device(make_recording());
  const Outcome outcome = device->run(request_of(1000, 512));
  EXPECT_EQ(outcome.status, Status::runtime);
  EXPECT_EQ(outcome.kind, "illegal_address");
  EXPECT_EQ(outcome.message, "C is read at 7");
  EXPECT_FALSE(outcome.timing);
}

TEST(ReplayDevice, WhatWasNotRecordedSaysSo) {
  const auto device = make_replay_device(make_recording());
  for (const TrialRequest& request :
       {request_of(1000, 64), request_of(3000, 128), request_of(1000, 128, "sgemm")}) {
    const Outcome outcome = device->run(request);
    EXPECT_EQ(outcome.status, Status::runtime);
    EXPECT_EQ(outcome.kind, "not_recorded");
    EXPECT_THAT(outcome.message,
                testing::HasSubstr(request.plan.kernel + " " + to_text(request.plan.problem) + " " +
                                   to_text(request.plan.config)));
    EXPECT_THAT(outcome.message, testing::HasSubstr("recorded on NVIDIA H200"));
    EXPECT_FALSE(outcome.timing);
  }
}

TEST(ReplayDevice, TheLaterOfTwoTrialsOfAConfigurationCounts) {
  Recording recording = make_recording();
  recording.trials.push_back(record_of(1000, 128, timed(11)));
  const auto device = make_replay_device(std::move(recording));
  EXPECT_EQ(device->run(request_of(1000, 128)).timing.value().median_ns, 11);
}

TEST(ReplayDevice, RerankAnswersInTheOrderAsked) {
  const RerankResult result = rerank_both(make_recording());
  ASSERT_EQ(result.candidates.size(), 2u);
  EXPECT_EQ(result.candidates[0].samples_ns, (std::vector<double>{20, 21}));
  EXPECT_NE(result.candidates[0].outcome.status, Status::correct);
  EXPECT_EQ(result.candidates[0].outcome.message, "C[0] was not written");
  EXPECT_EQ(result.candidates[1].samples_ns, (std::vector<double>{10, 11}));
  EXPECT_EQ(result.candidates[1].outcome.status, Status::correct);
  ASSERT_EQ(result.baselines.size(), 1u);
  EXPECT_EQ(result.baselines[0].name, "memcpy");
  EXPECT_EQ(result.baselines[0].samples_ns, (std::vector<double>{9, 10}));
  EXPECT_FALSE(result.duplicate);
}

TEST(ReplayDevice, RerankAnswersTheNoiseFloorToo) {
  Recording recording = make_recording();
  for (RankRecord& rank : recording.ranks) {
    rank.noise = NoiseFloor{"vector_add", to_text(block(128)), {10.5, 11}, {}};
  }
  const RerankResult result = rerank_both(recording);
  ASSERT_TRUE(result.duplicate);
  EXPECT_EQ(result.duplicate_of, 1u);
  EXPECT_EQ(result.duplicate->samples_ns, (std::vector<double>{10.5, 11}));
}

TEST(ReplayDevice, RerankAnswersWithClocksEnergyAndWhoLeftEarly) {
  Recording recording = make_recording();
  RankEntry& entry = recording.ranks[0].entries[1];
  entry.failure = "";
  entry.clocks_mhz = {1980, 1965};
  entry.energy_j = 0.004;
  entry.eliminated = true;
  const RerankResult result = rerank_both(recording);
  EXPECT_THAT(result.candidates.at(0).clocks_mhz, testing::ElementsAre(1980, 1965));
  EXPECT_EQ(result.candidates[0].energy_j, 0.004);
  EXPECT_TRUE(result.candidates[0].eliminated);
  EXPECT_EQ(result.candidates[0].outcome.status, Status::correct) << "to be slow is no failure";
  EXPECT_FALSE(result.candidates.at(1).eliminated);
}

// Two candidates had equal recorded medians, and only one of them could be re-ranked. The replay
// kept the one that the recorded re-rank had left out. It then found no rank of all its candidates,
// and the whole problem ended "screened only".
TEST(ReplayDevice, RerankAnswersForTheCandidatesThatWereRecorded) {
  const auto device = make_replay_device(make_recording());
  const RerankResult result =
      device->rerank({request_of(1000, 64), request_of(1000, 128)}, {"memcpy"}, {.rounds = 30});
  ASSERT_EQ(result.candidates.size(), 2u);
  EXPECT_EQ(result.candidates[0].name, "BLOCK=64");
  EXPECT_TRUE(result.candidates[0].samples_ns.empty());
  EXPECT_EQ(result.candidates[0].outcome.status, Status::correct);
  EXPECT_EQ(result.candidates[1].samples_ns, (std::vector<double>{10, 11}));
  EXPECT_EQ(result.baselines.size(), 1u);
}

// With a small budget a sweep did not try the recorded winner. What had dropped out beside that
// winner was faster than what was left, and `best` called the database damaged.
TEST(ReplayDevice, RerankWithoutTheWinnerComparesTheRoundsThatAllTookPartIn) {
  Recording recording = make_recording();
  RankRecord& rank = recording.ranks[0];
  rank.entries[1].failure = "";
  rank.entries[1].eliminated = true;
  rank.entries[1].samples_ns = {9};
  rank.entries.push_back(rank_entry("vector_add", to_text(block(512)), 5));
  rank.entries.back().winner = true;
  const RerankResult result = rerank_both(recording);
  EXPECT_THAT(result.candidates.at(0).samples_ns, testing::ElementsAre(9));
  EXPECT_FALSE(result.candidates[0].eliminated);
  EXPECT_THAT(result.candidates.at(1).samples_ns, testing::ElementsAre(10));
  EXPECT_THAT(result.baselines.at(0).samples_ns, testing::ElementsAre(9));

  const auto with_winner = make_replay_device(recording)->rerank(
      {request_of(1000, 256), request_of(1000, 128), request_of(1000, 512)}, {"memcpy"},
      {.rounds = 30});
  EXPECT_TRUE(with_winner.candidates.at(0).eliminated);
}

TEST(ReplayDevice, RerankWithoutARankOfAnyCandidateHasNoSamples) {
  const auto device = make_replay_device(make_recording());
  for (const TrialRequest& request :
       {request_of(2000, 128), request_of(1000, 64), request_of(1000, 128, "vector_add2")}) {
    const RerankResult result = device->rerank({request}, {"memcpy"}, {.rounds = 30});
    EXPECT_TRUE(result.candidates.at(0).samples_ns.empty());
    EXPECT_TRUE(result.baselines.empty());
  }
  EXPECT_TRUE(device->rerank({}, {}, {.rounds = 30}).candidates.empty());
}

TEST(ReplayDevice, TheRankOfMostCandidatesAnswersThenOneOfTheObjectiveThenTheNewest) {
  Recording recording = make_recording();
  RankRecord rank = recording.ranks[0];
  recording.ranks.clear();
  const auto add = [&](const std::string& finished_at, Objective objective, double time_ns,
                       std::vector<std::string> configs) {
    rank.finished_at = finished_at;
    rank.objective = objective;
    rank.entries.clear();
    for (const std::string& config : configs) {
      rank.entries.push_back(rank_entry("vector_add", config, time_ns));
    }
    recording.ranks.push_back(rank);
  };
  add("2026-11-20", Objective::energy, 1, {"BLOCK=128", "BLOCK=256"});
  add("2026-11-23", Objective::time, 2, {"BLOCK=128", "BLOCK=256"});
  add("2026-11-22", Objective::time, 3, {"BLOCK=128", "BLOCK=256"});
  add("2026-11-24", Objective::energy, 4, {"BLOCK=128"});
  const auto device = make_replay_device(std::move(recording));
  const auto answer = [&](const std::vector<TrialRequest>& candidates, Objective objective) {
    return device->rerank(candidates, {}, {.objective = objective})
        .candidates.at(0)
        .samples_ns.at(0);
  };
  const TrialRequest first = request_of(1000, 128);
  const TrialRequest second = request_of(1000, 256);
  EXPECT_EQ(answer({first, second}, Objective::time), 2);
  EXPECT_EQ(answer({first, second}, Objective::energy), 1);
  EXPECT_EQ(answer({first, second}, Objective::edp), 2);
  EXPECT_EQ(answer({first}, Objective::energy), 4);
}

TEST(ReplayDevice, TimesOfAnotherProtocolAreNotReplayedAsBaselinesOrRanks) {
  const auto device = make_replay_device(make_recording());
  TrialRequest hot = request_of(1000, 128);
  hot.measure.protocol = "hot";
  EXPECT_TRUE(device->run_baselines(hot, {"memcpy"}).empty());
  EXPECT_TRUE(device->rerank({hot}, {}, {.rounds = 30}).candidates.at(0).samples_ns.empty());
  EXPECT_EQ(device->run(hot).kind, "not_recorded");
}

TEST(ReplayDevice, BaselinesAreThoseOfTheOpAndTheProblem) {
  const auto device = make_replay_device(make_recording());
  const auto baselines = device->run_baselines(request_of(1000, 128), {"memcpy"});
  ASSERT_EQ(baselines.size(), 1u);
  EXPECT_EQ(baselines[0].detail, "plain");
  EXPECT_EQ(baselines[0].timing.median_ns, 9);
}

TEST(ReplayDevice, AnotherTunersFileAnswersWhateverKernelHasItsParameters) {
  Recording recording = make_recording();
  recording.ranks.clear();
  recording.trials = {record_of(1, 1, timed(10), "convolution")};
  recording.trials[0].problem.clear();
  recording.trials[0].config = {{"b", std::int64_t{2}}, {"a", std::int64_t{1}}};
  recording.trials[0].protocol = {"hot", 0};
  recording.trials[0].kernel.source_hash.clear();
  const auto device = make_replay_device(recording);
  TrialRequest request = request_of(4096, 128, "mine");
  request.plan.config = {{"a", std::int64_t{1}}, {"b", std::int64_t{2}}};
  EXPECT_EQ(device->run(request).timing.value().median_ns, 10);
  request.plan.config[1].second = std::int64_t{3};
  EXPECT_EQ(device->run(request).kind, "not_recorded");
}

}  // namespace
}  // namespace assay
