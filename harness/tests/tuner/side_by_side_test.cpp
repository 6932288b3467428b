// Several GPUs that share the problems of a sweep.

#include <map>
#include <set>
#include <thread>

#include "base/error.h"
#include "matchers.h"
#include "tuner/problem_queue.h"
#include "tuner/tuner.h"
#include "tuner/tuner_fixture.h"

namespace assay::test {
namespace {

TEST(ProblemQueue, GivesTheLongestFirst) {
  ProblemQueue problems(3);
  problems.order({1, 5, 3});
  problems.order({9, 1, 1});  // of another GPU, which counted the same
  std::vector<std::size_t> taken;
  while (const auto problem = problems.take(0)) {
    taken.push_back(*problem);
    problems.finish();
  }
  EXPECT_THAT(taken, ElementsAre(1, 2, 0));
}

TEST(ProblemQueue, WaitsForWhatMayBeGivenBack) {
  ProblemQueue problems(1);
  ASSERT_EQ(problems.take(0), 0u);
  std::optional<std::size_t> taken;
  std::thread other([&] { taken = problems.take(1); });
  problems.give_back(0);
  other.join();
  EXPECT_EQ(taken, 0u);
}

TEST(ProblemQueue, KeepsWhatIsReservedUntilTheGpuLeaves) {
  ProblemQueue problems(2);
  problems.reserve(0, 1);
  ASSERT_EQ(problems.take(0), 1u);
  problems.finish();
  EXPECT_TRUE(problems.is_left());
  problems.leave(1);
  EXPECT_EQ(problems.take(0), 0u);
}

class SideBySide : public TunerTest {
 protected:
  SideBySide() {
    folder_.write("test.yaml",
                  "sweep: test\nkernels: [add]\nproblems: [{N: [1000, 2000, 3000, 4000]}]\n");
    load("test.yaml");
  }

  /// Runs the sweep on both; returns what each threw.
  std::vector<std::string> run_both() {
    struct Gpu {
      Store store;
      Progress progress{Progress::Mode::silent};
      ScriptedCompiler compiler = {};
      Tuner tuner;
      Gpu(const std::filesystem::path& db, const SweepSpec& sweep, Device& device,
          const SweepRun::Options& options)
          : store(Store::open(db)), tuner(sweep, device, compiler, store, progress, options) {}
    };
    Gpu first(db(), sweep_, devices_[0], options_), second(db(), sweep_, devices_[1], options_);
    Tuner* const tuners[] = {&first.tuner, &second.tuner};
    std::vector<std::string> errors;
    for (const FleetEnd& end : run_side_by_side(tuners)) {
      try {
        if (end.failure) std::rethrow_exception(end.failure);
        errors.emplace_back();
      } catch (const std::exception& error) {
        errors.emplace_back(error.what());
      }
      EXPECT_FALSE(end.work_is_left);
    }
    for (std::size_t i = 0; i < 2; ++i) totals_[i] = tuners[i]->report().total;
    return errors;
  }

  /// The devices that have trials of each problem.
  std::map<std::string, std::set<std::string>> devices_of_problems() const {
    std::map<std::string, std::set<std::string>> devices;
    for (const TrialRow& row : trials()) {
      devices[to_text(row.record.problem)].insert(row.device.uuid);
    }
    return devices;
  }

  std::vector<ScriptedDevice> devices_{ScriptedDevice("GPU-1"), ScriptedDevice("GPU-2")};
  std::size_t totals_[2] = {};
};

TEST_F(SideBySide, TwoDivideTheProblemsAndEachProblemStaysOnOne) {
  EXPECT_THAT(run_both(), ElementsAre("", ""));
  EXPECT_THAT(stored_blocks(), SizeIs(40));
  const auto devices = devices_of_problems();
  EXPECT_THAT(devices, SizeIs(4));
  for (const auto& [problem, of_problem] : devices) EXPECT_THAT(of_problem, SizeIs(1)) << problem;
  EXPECT_EQ(totals_[0] + totals_[1], 40u);
  // A verdict is of one GPU's trials.
  for (const RankRow& row : ranks()) {
    EXPECT_THAT(devices.at(to_text(row.record.problem)), ElementsAre(row.device.uuid));
  }
}

TEST_F(SideBySide, WhatAFailingOneLeavesTheOtherDoes) {
  devices_[1].on_run = [](const TrialRequest&) -> Outcome { throw Error("the GPU is lost"); };
  const std::vector<std::string> errors = run_both();
  EXPECT_EQ(errors[0], "");
  std::multiset<std::string> of_first;
  for (const TrialRow& row : trials()) {
    if (row.device.uuid == "GPU-1") of_first.insert(to_text(row.record.problem));
  }
  EXPECT_THAT(of_first, SizeIs(40));
}

}  // namespace
}  // namespace assay::test
