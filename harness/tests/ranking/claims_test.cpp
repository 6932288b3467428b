#include "ranking/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "matchers.h"
#include "ranking/ranking.h"

namespace assay {
namespace {

/// The verdict on candidates that are close together, with the digits that a recording keeps.
RankRecord recorded(std::mt19937_64& random, const Objective& objective) {
  const std::size_t rounds = std::uniform_int_distribution<std::size_t>(3, 40)(random);
  const double time_ns = std::exp(std::uniform_real_distribution(7.0, 16.0)(random));
  std::vector<RankEntry> entries;
  const auto samples = [&](double ratio, std::size_t count) {
    std::normal_distribution<> noise(1, 0.002);
    std::vector<double> samples_ns;
    while (samples_ns.size() < count) samples_ns.push_back(time_ns * ratio * noise(random));
    return samples_ns;
  };
  for (int i = 0; i < 6; ++i) {
    const double ratio = std::uniform_real_distribution(1.0, 1.01)(random);
    RankEntry& entry = entries.emplace_back(RankEntry{"gemm", "BLOCK=" + std::to_string(i), {}});
    entry.eliminated = i == 5;
    entry.samples_ns = samples(entry.eliminated ? 1.1 : ratio, entry.eliminated ? 2 : rounds);
    for (std::size_t n = 0; n < entry.samples_ns.size(); ++n) {
      entry.clocks_mhz.push_back(std::uniform_real_distribution(345.0, 1980.0)(random));
    }
    entry.energy_j = time_ns * ratio * 1e-9;
    entry.tie_break.registers = static_cast<int>(random() % 3);
  }
  for (RankEntry& entry : entries) {
    entry.figures = {{"registers", static_cast<std::int64_t>(random() % 2 + 64)}};
  }
  entries.push_back({"", "cublaslt", samples(1.2, rounds)});
  entries.back().energy_j = 1;
  RankRecord rank;
  rank.op = "gemm_bf16";
  rank.objective = objective;
  rank.rounds = static_cast<int>(rounds);
  rank.entries = rank_entries(std::move(entries), 0, objective);
  for (RankEntry& entry : rank.entries) {
    for (double& ns : entry.samples_ns) ns = std::round(ns * 10) / 10;
    for (double& mhz : entry.clocks_mhz) mhz = std::round(mhz);
    entry.median_ns = std::round(entry.median_ns * 10) / 10;
    const auto keep = [](double& value) { value = std::stod(fmt::format("{:.6g}", value)); };
    for (Interval* ratio :
         {&entry.ratio_to_best, &entry.speedup_over_baseline, &entry.cycles_ratio_to_best}) {
      for (double* value : {&ratio->value, &ratio->low, &ratio->high}) keep(*value);
    }
    keep(entry.energy_j);
  }
  return rank;
}

TEST(Claims, AnHonestVerdictAgreesWithItsSamples) {
  std::mt19937_64 random(1);
  const char* const objectives[] = {"time", "energy", "edp",
                                    "minimize time_ns * time_ns / registers",
                                    "maximize 1e9 / time_ns; energy; minimize registers"};
  for (int i = 0; i < 1000; ++i) {
    EXPECT_THAT(contradiction(recorded(random, parse_objective(objectives[i % 5]).value())),
                IsEmpty())
        << i;
  }
}

TEST(Claims, AMadeUpOneDoesNot) {
  std::mt19937_64 random(2);
  const auto wrong = [&](const Objective& objective,
                         const std::function<void(RankRecord&)>& change) {
    RankRecord rank = recorded(random, objective);
    while (rank.rounds < 30) rank = recorded(random, objective);
    change(rank);
    return contradiction(rank);
  };
  const auto last_full = [](RankRecord& rank) -> RankEntry& { return rank.entries.at(4); };
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(
        wrong(Objective::time,
              [](RankRecord& rank) { rank.entries[0].speedup_over_baseline.value *= 1.002; }),
        HasSubstr("'speedup'"));
    EXPECT_THAT(wrong(Objective::time,
                      [](RankRecord& rank) { rank.entries[0].speedup_over_baseline.low *= 1.001; }),
                HasSubstr("'speedup'"));
    // Each has another time in the first place.
    EXPECT_THAT(
        wrong(Objective::time,
              [](RankRecord& rank) { std::swap(rank.entries.front(), rank.entries.back()); }),
        HasSubstr("stands before"));
    // One that is clearly faster is said to have dropped out.
    EXPECT_THAT(wrong(Objective::time,
                      [](RankRecord& rank) {
                        RankEntry& out = rank.entries.back();
                        ASSERT_TRUE(out.eliminated);
                        const RankEntry& winner =
                            *std::find_if(rank.entries.begin(), rank.entries.end(),
                                          [](const RankEntry& entry) { return entry.winner; });
                        out.samples_ns = winner.samples_ns;
                        for (double& ns : out.samples_ns) ns = std::round(ns * 9) / 10;
                      }),
                Not(IsEmpty()));
    EXPECT_THAT(wrong(Objective::energy, [&](RankRecord& rank) { last_full(rank).energy_j = 0; }),
                HasSubstr("no energy of"));
    EXPECT_THAT(wrong(Objective::edp, [&](RankRecord& rank) { last_full(rank).energy_j /= 100; }),
                Not(IsEmpty()));
  }
}

// By `minimize time_ns * BLOCK`, a smaller BLOCK than the configuration's wins.
TEST(Claims, AFigureIsWhatTheConfigurationAndTheProblemSay) {
  std::mt19937_64 random(3);
  RankRecord rank = recorded(random, parse_objective("minimize time_ns / registers").value());
  rank.problem = {{"M", 4096}};
  for (RankEntry& entry : rank.entries) {
    if (!entry.kernel.empty()) entry.config = "BLOCK=" + std::to_string(&entry - &rank.entries[0]);
  }
  if (rank.noise) rank.noise->config = rank.entries[0].config;
  const auto with = [&](const std::string& name, std::int64_t value) {
    RankRecord changed = rank;
    const auto entry = std::find_if(changed.entries.begin(), changed.entries.end(),
                                    [](const RankEntry& one) { return !one.kernel.empty(); });
    entry->config = "BLOCK=64";
    entry->figures.emplace_back(name, value);
    return contradiction(changed);
  };
  EXPECT_THAT(with("BLOCK", 64), Not(HasSubstr("its name says")));
  EXPECT_THAT(with("M", 4096), Not(HasSubstr("its name says")));
  EXPECT_THAT(with("blocks", 1), Not(HasSubstr("its name says")));
  EXPECT_THAT(with("BLOCK", 8), HasSubstr("'BLOCK' of gemm BLOCK=64 is 8, but its name says 64"));
  EXPECT_THAT(with("M", 1), HasSubstr("'M' of gemm BLOCK=64 is 1, but its name says 4096"));
}

TEST(Claims, ATimeOfFewSamplesHasTheirRangeOrNoInterval) {
  Timing timing{{3, 1, 2}, 2, 1, 3};
  EXPECT_THAT(contradiction(timing), IsEmpty());
  timing.ci_low_ns = -std::numeric_limits<double>::infinity();
  timing.ci_high_ns = std::numeric_limits<double>::infinity();
  EXPECT_THAT(contradiction(timing), IsEmpty());
  timing.ci_high_ns = 2.5;
  EXPECT_THAT(contradiction(timing), HasSubstr("'interval'"));
  timing.median_ns = std::nan("");
  EXPECT_THAT(contradiction(timing), HasSubstr("'time'"));
}

TrialRecord trial() {
  TrialRecord record;
  record.kernel = {"vec", "vector_add", "11", "22"};
  record.outcome.validation = Validation{0.001, 0.01, 0.3, 1000, "add"};
  record.outcome.timing = Timing{{10, 11, 12}, 11, 10, 12};
  record.finished_at = "2026-11-21T10:00:00Z";
  record.verification = Verification{{{"data", CheckResult::passed, ""}}, {}, record.finished_at};
  return record;
}

std::string wrong(const std::function<void(TrialRecord&)>& change) {
  TrialRecord record = trial();
  change(record);
  return contradiction(record);
}

// A recording whose own check says that it is wrong won, as "verified": an error of 5 where 0.01
// was allowed, 500 times the bound of an element, a check of no element, a NaN.
TEST(RecordClaims, ACorrectTrialHasPassedItsCheck) {
  EXPECT_THAT(contradiction(trial()), IsEmpty());
  const auto check = [](auto change) {
    return wrong([&](TrialRecord& record) { change(*record.outcome.validation); });
  };
  EXPECT_THAT(check([](Validation& v) { v.relative_error = 5; }), HasSubstr("error is 5"));
  EXPECT_THAT(check([](Validation& v) { v.relative_error = std::nan(""); }), HasSubstr("nan"));
  EXPECT_THAT(check([](Validation& v) { v.worst_element_ratio = 500; }), HasSubstr("500 times"));
  EXPECT_THAT(check([](Validation& v) { v.elements = 0; }), HasSubstr("0 elements"));
  EXPECT_THAT(check([](Validation& v) { v.elements = -5; }), HasSubstr("-5 elements"));
  EXPECT_THAT(wrong([](TrialRecord& record) {
                record.outcome.status = Status::correctness;
                record.outcome.validation->relative_error = 5;
              }),
              IsEmpty());
}

TEST(RecordClaims, WhatWasNotRunHasNoFiguresOfARun) {
  const auto compiled = [](TrialRecord& record) { record.outcome.status = Status::compiled; };
  EXPECT_THAT(wrong(compiled), HasSubstr("'invalidity' is compiled, but there are figures"));
  EXPECT_THAT(wrong([&](TrialRecord& record) {
                record.outcome = {};
                compiled(record);
              }),
              IsEmpty());
}

TEST(RecordClaims, AVerificationHasAtLeastOneCheck) {
  EXPECT_THAT(wrong([](TrialRecord& record) { record.verification->checks.clear(); }),
              HasSubstr("has no check"));
}

// "zzzz" was the newest of all times.
TEST(RecordClaims, ATimestampIsOne) {
  for (const char* time :
       {"zzzz", "2026-11-21", "2026-13-21T10:00:00Z", "2026-11-21T10:00:00Z\n"}) {
    EXPECT_FALSE(is_timestamp(time)) << time;
    EXPECT_THAT(wrong([&](TrialRecord& record) { record.finished_at = time; }),
                HasSubstr("expected a time such as"));
  }
  EXPECT_TRUE(is_timestamp("2026-11-21T10:00:00Z"));
}

TEST(RecordClaims, ATimeFollowsFromItsSamples) {
  EXPECT_THAT(wrong([](TrialRecord& record) { record.outcome.timing->median_ns = 1; }),
              HasSubstr("by the samples it is 11"));
  EXPECT_THAT(wrong([](TrialRecord& record) { record.outcome.timing->samples_ns.clear(); }),
              HasSubstr("no samples"));
  EXPECT_THAT(wrong([](TrialRecord& record) { record.outcome.timing->samples_ns[0] = -1; }),
              HasSubstr("which is no time"));
}

// A protocol's name with a line end became a line of Python, and a kernel's name ended the command
// that a page offers to copy.
TEST(RecordClaims, ANameIsAnIdentifier) {
  for (const char* name : {"", "a\nb", "<img onerror=x>", "[a](b)", "a b", "1a", "YAML\n"}) {
    EXPECT_THAT(contradiction(KernelVersion{name, "op", "", ""}), HasSubstr("expected a name"));
    EXPECT_THAT(contradiction(KernelVersion{"k", name, "", ""}), HasSubstr("expected a name"));
    EXPECT_THAT(contradiction(Protocol{name, 0.005}), HasSubstr("expected a name"));
    BaselineRecord baseline;
    baseline.op = "op";
    baseline.name = name;
    EXPECT_THAT(contradiction(baseline), HasSubstr("expected a name"));
  }
  DeviceInfo device;
  device.name = "NVIDIA H200\nforged";
  EXPECT_THAT(contradiction(device), HasSubstr("control characters"));
}

// SQLite has no NaN: it refused the row, in words of its own.
TEST(RecordClaims, APrecisionIsARatio) {
  EXPECT_THAT(contradiction(Protocol{"cold", std::nan("")}), HasSubstr("'precision_ratio' is nan"));
  EXPECT_THAT(contradiction(Protocol{"cold", 0}), IsEmpty());
}

TEST(RecordClaims, AMetricIsOfTheRegistersOfItsTrial) {
  RankEntry entry{"vec", "BLOCK=1", {}};
  entry.figures = {{"registers", std::int64_t{1}}};
  CompileReport compile;
  compile.registers = 32;
  EXPECT_THAT(contradiction(entry, compile), HasSubstr("with 1 registers of vec BLOCK=1"));
  compile.registers = 1;
  EXPECT_THAT(contradiction(entry, compile), IsEmpty());
}

}  // namespace
}  // namespace assay
