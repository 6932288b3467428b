// How the parts of a re-rank are put together, with workers that are functions.
#include "device/gpu_device.h"

#include "fixtures.h"

#include "matchers.h"

namespace assay {
namespace {

/// Workers in which every entry's one sample is the worker's number: 1, 2, 3. From
/// `killed_worker_` on the candidate with `killer_` threads a block kills its worker, and from
/// `slow_in_worker_` on the one with `slow_` is eliminated. That with `wrong_` is wrong when alone.
class WorkerRerankTest : public testing::Test {
 protected:
  static TrialRequest candidate(unsigned block) {
    TrialRequest request = test::request_of("vector_add");
    request.plan.launches[0].block = {block, 1, 1};
    request.screened_ns = 12e3;
    return request;
  }

  static unsigned block_of(const TrialRequest& request) {
    return static_cast<unsigned>(request.plan.launches[0].block[0]);
  }

  std::optional<Outcome> attempt(const WorkerRerank& part, RerankResult& result) {
    asked_.push_back(part);
    for (const TrialRequest& request : part.candidates) {
      if (block_of(request) != killer_ || num_replaced_ + 1 < killed_worker_) continue;
      return Outcome{Status::runtime, "crash"};
    }
    const RerankEntry entry = {"", {num_replaced_ + 1.0}, {}, {1000.0 + num_replaced_}};
    result = {std::vector(part.candidates.size(), entry), {entry}, entry};
    for (std::size_t i = 0; i < part.candidates.size(); ++i) {
      if (block_of(part.candidates[i]) == wrong_ && part.candidates.size() == 1) {
        result.candidates[i].outcome.status = Status::correctness;
      }
      result.candidates[i].eliminated =
          block_of(part.candidates[i]) == slow_ && num_replaced_ + 1 >= slow_in_worker_;
    }
    return std::nullopt;
  }

  RerankResult rerank(std::vector<TrialRequest> candidates, const RerankSpec& spec = {}) {
    return rerank_by_workers(
        {std::move(candidates), {"cublaslt"}, spec},
        [&](const WorkerRerank& part, RerankResult& result) { return attempt(part, result); },
        [&] { ++num_replaced_; });
  }

  std::vector<WorkerRerank> asked_;
  int num_replaced_ = 0;
  unsigned killer_ = 0, slow_ = 0, wrong_ = 0;
  int killed_worker_ = 1, slow_in_worker_ = 1;
};

// What is found while each is alone, to see who ends the worker, was forgotten.
TEST_F(WorkerRerankTest, WhatIsWrongAloneIsWrong) {
  killer_ = 256;
  wrong_ = 512;
  const RerankResult result = rerank({candidate(128), candidate(256), candidate(512)});
  EXPECT_EQ(result.candidates[0].outcome.status, Status::correct);
  EXPECT_EQ(result.candidates[1].outcome.kind, "crash");
  EXPECT_EQ(result.candidates[2].outcome.status, Status::correctness);
  EXPECT_THAT(result.candidates[2].samples_ns, IsEmpty());
}

TEST_F(WorkerRerankTest, LongWorkIsOneWorkers) {
  std::vector<TrialRequest> candidates = {candidate(128), candidate(256)};
  candidates[0].screened_ns = 60e3;
  EXPECT_THAT(rerank(candidates).candidates[0].samples_ns, ElementsAre(1));
  candidates[0].screened_ns.reset();
  EXPECT_THAT(rerank(candidates).candidates[0].samples_ns, ElementsAre(1));
  EXPECT_EQ(asked_[0].num_workers, 1);
  EXPECT_EQ(num_replaced_, 0);
}

TEST_F(WorkerRerankTest, ShortWorkIsDividedAndItsRoundsFollowEachOther) {
  const RerankResult result = rerank({candidate(128), candidate(256)});
  EXPECT_EQ(asked_.size(), 3u);
  EXPECT_EQ(num_replaced_, 2);
  for (const WorkerRerank& part : asked_) EXPECT_EQ(part.num_workers, 3);
  for (const RerankEntry& entry : result.candidates) {
    EXPECT_THAT(entry.samples_ns, ElementsAre(1, 2, 3));
    EXPECT_THAT(entry.clocks_mhz, ElementsAre(1000, 1001, 1002));
  }
  EXPECT_THAT(result.baselines.at(0).samples_ns, ElementsAre(1, 2, 3));
  EXPECT_THAT(result.duplicate.value().samples_ns, ElementsAre(1, 2, 3));
}

TEST_F(WorkerRerankTest, EnergyIsMeasuredOnce) {
  rerank({candidate(128)}, {.objective = Objective::edp});
  EXPECT_EQ(asked_[0].spec.objective, Objective::edp);
  for (const std::size_t i : {1, 2}) {
    EXPECT_FALSE(asked_[i].spec.objective.reads("energy_j"));
    // By time, a slower one that needs less energy would drop out there, and could not win.
    EXPECT_NE(asked_[i].spec.objective, Objective::time);
  }
}

TEST_F(WorkerRerankTest, WhoLeavesInOneWorkerIsNotInTheNext) {
  slow_ = 256;
  slow_in_worker_ = 2;
  const RerankResult result = rerank({candidate(128), candidate(256), candidate(512)});
  EXPECT_EQ(asked_[1].candidates.size(), 3u);
  EXPECT_EQ(asked_[2].candidates.size(), 2u);
  EXPECT_TRUE(result.candidates[1].eliminated);
  EXPECT_THAT(result.candidates[1].samples_ns, ElementsAre(1, 2));
  EXPECT_THAT(result.candidates[2].samples_ns, ElementsAre(1, 2, 3));
}

TEST_F(WorkerRerankTest, WhoKillsALaterWorkerIsLeftOutAndTheOthersGoOn) {
  killer_ = 256;
  killed_worker_ = 2;
  const RerankResult result = rerank({candidate(128), candidate(256), candidate(512)});
  EXPECT_EQ(result.candidates[1].outcome.kind, "crash");
  EXPECT_THAT(result.candidates[0].samples_ns, ElementsAre(1, 2, 3));
  EXPECT_THAT(result.candidates[2].samples_ns, ElementsAre(1, 2, 3));
  EXPECT_THAT(result.duplicate.value().samples_ns, ElementsAre(1, 2, 3));
}

// The duplicate's rounds would be paired with those of a candidate that it is no copy of.
TEST_F(WorkerRerankTest, WhenTheLeaderIsLeftOutLaterItsTwinKeepsItsRounds) {
  killer_ = 128;
  killed_worker_ = 2;
  const RerankResult result = rerank({candidate(128), candidate(256)});
  EXPECT_EQ(result.duplicate_of, 0u);
  EXPECT_THAT(result.duplicate.value().samples_ns, ElementsAre(1));
  EXPECT_THAT(result.candidates[0].samples_ns, ElementsAre(1));
  EXPECT_THAT(result.candidates[1].samples_ns, ElementsAre(1, 2, 3));
}

TEST_F(WorkerRerankTest, WhenAllKillTheirWorkerNoFurtherOneStarts) {
  killer_ = 128;
  const RerankResult result = rerank({candidate(128)});
  EXPECT_EQ(result.candidates.at(0).outcome.kind, "crash");
  EXPECT_EQ(num_replaced_, 0);
  EXPECT_TRUE(rerank({}).candidates.empty());
}

}  // namespace
}  // namespace assay
