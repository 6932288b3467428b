#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.h"
#include "store/recording_format.h"
#include "store/recording_sample.h"

namespace assay {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string damage_of(const std::string& text) {
  TempFolder folder;
  const std::string message = message_of<UsageError>([&] { read_text(folder, text); });
  const std::string start = (folder / "x.jsonl").string();
  return message.starts_with(start) ? message.substr(start.size()) : message;
}

TEST(Recording, KeepsTenthsOfANanosecond) {
  std::mt19937_64 random(1);
  Recording recording = sample_recording();
  Timing& timing = recording.trials[0].outcome.timing.value();
  timing.samples_ns.clear();
  timing.clocks_mhz.clear();
  // From a nanosecond to a hundred seconds.
  for (double scale = 1; scale < 1e11; scale *= 10) {
    for (int i = 0; i < 50; ++i) {
      timing.samples_ns.push_back(std::uniform_real_distribution(scale, 10 * scale)(random));
    }
  }
  const std::vector<double> exact = timing.samples_ns;
  timing = timing_of(exact);
  TempFolder folder;
  const Recording once = read_text(folder, written(recording));
  const auto& samples = once.trials[0].outcome.timing->samples_ns;
  ASSERT_EQ(samples.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(samples[i], std::round(exact[i] * 10) / 10);
  }
  EXPECT_EQ(written(once), written(recording)) << "rounding again changes nothing";
}

// A verdict of which nine times the speed was claimed was believed, whatever its samples said.
TEST(Recording, AClaimThatTheSamplesContradictIsRefused) {
  const std::string good = written(sample_recording());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? "" : damage_of(text.replace(at, from.size(), to));
  };
  const std::string winner = "gemm BLOCK=1,SCHEDULE=row";
  EXPECT_EQ(
      changed(R"("speedup":[1.49848,)", R"("speedup":[9.0,)"),
      ":11: 'speedup' of " + winner + " is 9 [0, inf], but by the samples it is 1.49848 [0, inf]");
  EXPECT_THAT(changed(R"("speedup":[1.49848,0.0)", R"("speedup":[1.49848,1.4)"),
              HasSubstr("is 1.49848 [1.4, inf], but by"));
  EXPECT_THAT(changed(R"("ratio_to_best":[1.49848,)", R"("ratio_to_best":[9.0,)"),
              HasSubstr("'ratio_to_best' of cublaslt is 9"));
  EXPECT_THAT(changed(R"("cycles_ratio_to_best":[1.76471,)", R"("cycles_ratio_to_best":[1.9,)"),
              HasSubstr("'cycles_ratio_to_best' of gemm BLOCK=4 is 1.9"));
  EXPECT_EQ(changed(R"("time":6e-06)", R"("time":5e-06)"),
            ":11: 'time' of " + winner + " is 5.0 ns, but by the samples it is 6.0 ns");
  EXPECT_EQ(changed(R"(,"winner":true)", ""),
            ":11: 'winner' of " + winner + " is false, but by the samples it is true");
  EXPECT_EQ(changed(R"("config":"cublaslt",)", R"("config":"cublaslt","tied":true,)"),
            ":11: 'tied' of cublaslt is true, but by the samples it is false");
  EXPECT_EQ(changed(R"("rounds":3)", R"("rounds":30)"),
            ":11: 'rounds' is 30, but there are samples of 3");
  EXPECT_EQ(changed(R"("eliminated":true,)", ""),
            ":11: gemm BLOCK=4: it was timed in 1 of 3 rounds");
  EXPECT_EQ(changed(R"(,"failure":"unwritten")", ""), ":11: gemm BLOCK=2: it was never timed");
  EXPECT_EQ(changed(R"("config":"BLOCK=2")", R"("config":"BLOCK=4")"),
            ":11: gemm BLOCK=4 is there twice");
  EXPECT_THAT(changed(R"("ratio":[1.00487)", R"("ratio":[1.9)"),
              HasSubstr("'ratio' of noise is 1.9"));
  EXPECT_EQ(changed(R"("noise":{"kernel":"gemm")", R"("noise":{"kernel":"gemv")"),
            ":11: 'noise' is of gemv BLOCK=1,SCHEDULE=row, which was not timed in the same rounds");
  EXPECT_EQ(changed(R"("time":0.0010005)", R"("time":0.0000005)"),
            ":6: 'time' is 0.5 ns, but by the samples it is 1000.5");
  EXPECT_EQ(changed(R"("interval":[0.0009903,)", R"("interval":[0.0010005,)"),
            ":6: 'interval' is 1000.5 to 1234.5 ns, but by the samples it is 990.3 to 1234.5");
}

/// A header, three definitions, and the trial.
std::string lines_of(const TrialRecord& trial) {
  Recording recording = sample_recording();
  recording.trials = {trial};
  recording.baselines.clear();
  recording.ranks.clear();
  return written(recording);
}

TEST(Recording, SpeaksT4) {
  const std::string line = lines_of(timed_record(key_of(64)));
  EXPECT_THAT(line, HasSubstr(R"("timestamp":"2026-11-21T10:00:00Z")"));
  EXPECT_THAT(line, HasSubstr(R"("configuration":{"BLOCK":64,"SCHEDULE":"row"})"));
  EXPECT_THAT(line,
              HasSubstr(R"("times":{"compilation_time":12.5,"runtimes":[0.0010001,0.0010102)"));
  EXPECT_THAT(line, HasSubstr(R"("invalidity":"correct","correctness":1,"time":0.0010005)"));
}

// What was compiled and not run was written as correct.
TEST(Recording, WhatWasOnlyCompiledIsNotCorrect) {
  Recording recording = sample_recording();
  Outcome& outcome = recording.trials[0].outcome;
  outcome = {};
  outcome.status = Status::compiled;
  const std::string text = written(recording);
  const std::string now = R"("invalidity":"compiled")";
  EXPECT_THAT(text, HasSubstr(now));
  TempFolder folder;
  EXPECT_EQ(describe(read_text(folder, text)), describe(recording));
  std::string before = text;
  before.replace(before.find(now), now.size(),
                 R"("invalidity":"correct","correctness":1,"detail":"compiled")");
  EXPECT_EQ(describe(read_text(folder, before)), describe(recording));
  std::string wrong = text;
  wrong.replace(wrong.find(now), now.size(), now + R"(,"correctness":1)");
  EXPECT_THAT(damage_of(wrong), HasSubstr("'correctness' is 1, but 'invalidity' is compiled"));
}

// A kernel that must move 60 bytes had a roofline of 0.0 ms: written, and gone when it was read.
TEST(Recording, ARooflineOfLessThanItsDigitsIsLeftOut) {
  Recording recording = sample_recording();
  recording.baselines.back().timing.roofline_ns = 0.012;
  const std::string text = written(recording);
  EXPECT_EQ(text.find(R"("roofline":0.0,)"), std::string::npos);
  TempFolder folder;
  EXPECT_EQ(written(read_text(folder, text)), text);
}

// A recording from before samples had clocks, ranks had a noise floor, and anything had a roofline.
TEST(Recording, AnOlderOneIsReadToo) {
  std::string text = written(sample_recording());
  const auto cut = [&](const std::string& from, const std::string& to) {
    const std::size_t begin = text.find(from);
    ASSERT_NE(begin, std::string::npos) << from;
    text.erase(begin, text.find(to, begin) + to.size() - begin);
  };
  cut(R"("clocks_mhz")", "],");
  cut(R"("gpu_state")", "},");
  cut(R"("num_throttled")", ",");
  cut(R"("roofline")", ",");
  cut(R"(,"clocks_mhz":[1980,1965,1755],"cycles_ratio_to_best")", R"("roofline":4.5e-06)");
  cut(R"(,"clocks_mhz":[1980],"cycles_ratio_to_best")", "\"inf\"]");
  cut(R"(,"noise")", "]}");
  TempFolder folder;
  const Recording recording = read_text(folder, text);
  const Timing& timing = recording.trials.at(0).outcome.timing.value();
  EXPECT_EQ(timing.samples_ns.size(), 7u);
  EXPECT_TRUE(timing.clocks_mhz.empty());
  EXPECT_EQ(timing.clock_mhz, 0);
  EXPECT_FALSE(timing.state);
  EXPECT_EQ(timing.num_throttled, 0);
  EXPECT_EQ(timing.roofline_ns, 0);
  const RankRecord& rank = recording.ranks.at(0);
  EXPECT_FALSE(rank.noise);
  EXPECT_EQ(rank.objective, Objective::time);
  const RankEntry& entry = rank.entries.at(0);
  EXPECT_TRUE(entry.clocks_mhz.empty());
  EXPECT_EQ(entry.cycles_ratio_to_best.value, 0);
  EXPECT_EQ(entry.energy_j, 0);
  EXPECT_EQ(entry.roofline_ns, 0);
}

// Sanitized, a megabyte takes six seconds. Then the small ones do; without sanitizers all are read.
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
constexpr std::uintmax_t kMostBytes =
    __has_feature(address_sanitizer) ? 700'000 : std::numeric_limits<std::uintmax_t>::max();

// What a recording lacks must not appear when it is written again.
TEST(Recording, TheProjectsOwnAreWrittenAsTheyAreRead) {
  const std::filesystem::path root = ASSAY_SOURCE_DIR;
  int num_read = 0;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(root / "results/recorded")) {
    if (file.path().extension() != ".jsonl" || file.file_size() > kMostBytes) continue;
    EXPECT_TRUE(written(read_recording(file.path())) == read_file(file.path())) << file.path();
    ++num_read;
  }
  EXPECT_GT(num_read, 0);
}

// A third of each line was what the line before says, and a half was the digits of samples.
TEST(Recording, ALineLeavesOutWhatIsAsInTheLineBefore) {
  Recording recording = sample_recording();
  recording.baselines.clear();
  recording.ranks.clear();
  recording.trials.assign(4, timed_record(key_of(1)));
  recording.trials[1].config[0].second = 2;
  recording.trials[1].outcome.timing = timing_of(std::vector<double>(9, 64));
  recording.trials[2].outcome = {};
  recording.trials[2].outcome.status = Status::runtime;
  recording.trials[3].config = {{"SCHEDULE", "row"}, {"BLOCK", 2}};
  const std::string text = written(recording);
  EXPECT_THAT(text, HasSubstr("\n{\"configuration\":{\"BLOCK\":2},"
                              "\"times\":{\"runtimes\":\"64 1 000000000\"},\"time\":6.4e-05,"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"("times":{"runtimes":null},"invalidity":"runtime","correctness":0,"time":null,)"));
  EXPECT_THAT(text, HasSubstr(R"("configuration":{"SCHEDULE":"row","BLOCK":2})"))
      << "the order of names is that of the parameters";
  TempFolder folder;
  EXPECT_EQ(describe(read_text(folder, text)), describe(recording));
}

// A long line may stand for any number of short ones, which take memory.
TEST(Recording, LinesThatGoOnForTooLongAreRefused) {
  Recording recording = sample_recording();
  recording.trials.resize(1);
  Outcome& outcome = recording.trials[0].outcome;
  outcome = {};
  outcome.status = Status::compile;
  outcome.message = std::string(kMaxContinuedBytes, 'x');
  recording.trials.push_back(recording.trials[0]);
  std::string text = written(recording);
  TempFolder folder;
  EXPECT_EQ(describe(read_text(folder, text)), describe(recording)) << "both are whole";
  const std::size_t trial = text.find("{\"timestamp\"");
  text.insert(text.find('\n', trial) + 1, "{\"configuration\":{}}\n");
  EXPECT_THAT(damage_of(text), HasSubstr(":7: no 'kernel', and the lines since the last with one"));
  std::string wide = R"({"configuration":{)";
  for (int i = 0; i < 1025; ++i) wide += fmt::format("{}\"P{}\":1", i > 0 ? "," : "", i);
  EXPECT_THAT(damage_of(text.substr(0, trial) + wide + R"(},"kernel":0})"),
              HasSubstr(": an object has more than 1024 keys"));
  EXPECT_THAT(damage_of(text.substr(0, trial) + R"({"configuration":{}})"),
              HasSubstr(": 'kernel' is missing"));
  // In the first format a line without a kernel is damaged.
  text = written(sample_recording());
  text.replace(text.find(R"("assay_recording":2)"), 19, R"("assay_recording":1)");
  text.insert(text.find("\n{\"timestamp\"", text.find("\"configuration\"")),
              "\n{\"configuration\":{}}");
  EXPECT_THAT(damage_of(text), HasSubstr(": 'kernel' is missing"));
}

TEST(Recording, ALineStandsAloneToo) {
  std::string text = lines_of(timed_record(key_of(1)));
  for (const std::string name : {"kernel", "toolchain", "protocol"}) {
    const std::string define = "{\"define_" + name + "\":";
    const std::size_t begin = text.find(define), end = text.find("}\n", begin);
    const std::string object = text.substr(begin + define.size(), end - begin - define.size());
    text.erase(begin, end + 2 - begin);
    text.replace(text.find("\"" + name + "\":0") + name.size() + 3, 1, object);
  }
  TempFolder folder;
  const Recording recording = read_text(folder, text + "\r\n\n");
  ASSERT_EQ(recording.trials.size(), 1u);
  EXPECT_EQ(describe(recording.trials[0]), describe(timed_record(key_of(1))));
}

TEST(Recording, IgnoresKeysOfTheFuture) {
  std::string text = written(sample_recording());
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find("\n{", at)) {
    at += text[at] == '\n' ? 2 : 1;
    text.insert(at, R"("future":{"a":[1,{}]},)");
  }
  TempFolder folder;
  EXPECT_EQ(describe(read_text(folder, text)), describe(sample_recording()));
}

TEST(Recording, BytesThatAreNoUtf8AreReplaced) {
  Recording recording = sample_recording();
  recording.trials[0].outcome.message = "a\xff";
  TempFolder folder;
  EXPECT_EQ(read_text(folder, written(recording)).trials[0].outcome.message, "a\xef\xbf\xbd");
}

TEST(Recording, FourThousandTrialsFitInFiveMegabytes) {
  Recording recording = sample_recording();
  recording.trials.clear();
  std::mt19937_64 random(1);
  for (std::int64_t i = 0; i < 4000; ++i) {
    TrialRecord trial = timed_record(key_of(i));
    trial.kernel.source_hash = trial.kernel.contract_hash = std::string(32, 'a');
    trial.compile.cubin_hash = fmt::format("{:016x}{:016x}", random(), random());
    trial.config = {{"BLOCK_M", i}, {"BLOCK_N", 128}, {"BLOCK_K", 64},        {"WARPS", 8},
                    {"STAGES", 4},  {"SPLIT_K", 1},   {"SCHEDULE", "grouped"}};
    trial.outcome.validation = Validation{1.0 / 3000, 0.01, 1.0 / 7, 16777216};
    auto& samples = trial.outcome.timing->samples_ns;
    samples.resize(40);
    for (double& ns : samples) {
      ns = 176'000.0 + 32.0 * std::uniform_int_distribution(0, 40)(random);
    }
    trial.outcome.timing = timing_of(samples);
    trial.measurements.clear();
    trial.outcome.prepared.reset();
    for (std::size_t i_sample = 0; i_sample < samples.size(); ++i_sample) {
      trial.outcome.timing->clocks_mhz.push_back(std::uniform_int_distribution(1965, 1980)(random));
    }
    trial.outcome.timing->clock_mhz = 1980;
    recording.trials.push_back(trial);
  }
  EXPECT_LT(written(recording).size(), 5'000'000u);
  EXPECT_LT(written(recording, "x.jsonl.gz").size(), 1'000'000u);
}

TEST(Recording, DamageNamesTheLine) {
  const std::string good = written(sample_recording());
  const std::string header = good.substr(0, good.find('\n') + 1);
  EXPECT_EQ(damage_of(""), ":1: no recording: the file is empty");
  EXPECT_EQ(damage_of("{}"), ":1: 'assay_recording' is missing");
  EXPECT_EQ(damage_of(R"({"assay_recording":3})"),
            ":1: recording format 3; this assay reads 1 and 2");
  EXPECT_EQ(damage_of(header + "\n{\"configuration\":"), ":3: not a line of JSON");
  EXPECT_EQ(damage_of(header + "{}" + std::string(1, 0) + "{}"), ":2: not a line of JSON");
  EXPECT_EQ(damage_of(header + "[]"), ":2: not a JSON object");
  EXPECT_EQ(damage_of(header + "{}"),
            ":2: neither a trial ('configuration'), a 'baseline', a 'rank' nor a definition");
  EXPECT_EQ(damage_of(header + R"({"configuration":{},"kernel":3})"),
            ":2: 'kernel' is 3, but only 0 are defined above");

  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = lines_of(timed_record(key_of(64)));
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return damage_of(text.replace(at, from.size(), to));
  };
  EXPECT_EQ(changed(R"("invalidity":"correct")", R"("invalidity":"slow")"),
            ":5: 'invalidity' is 'slow'; expected one of correct, compiled, constraints, compile, "
            "runtime, timeout, correctness");
  EXPECT_EQ(changed(R"("BLOCK":64)", R"("BLOCK":0.5)"), ":5: 'BLOCK' is not an integer");
  EXPECT_EQ(changed(R"("BLOCK":64)", R"("BLOCK":18446744073709551615)"),
            ":5: 'BLOCK' is out of range: 18446744073709551615");
  EXPECT_EQ(changed(R"("registers":128)", R"("registers":4294967296)"),
            ":5: 'registers' is out of range: 4294967296");
  // The store knows a configuration by its text, which such a name would change.
  EXPECT_THAT(changed(R"("BLOCK":64)", R"("A=1,B":64)"), HasSubstr("'configuration' has a name"));
  EXPECT_THAT(changed(R"("SCHEDULE":"row")", R"("SCHEDULE":"12")"),
              HasSubstr("'configuration' has a name"));
  EXPECT_EQ(changed("[0.0010001", "[\"fast\""), ":5: 'runtimes' is not a number");
  EXPECT_EQ(changed("[0.0010001", "[0"), ":5: 'runtimes' has 0 ns, which is no time");
  EXPECT_EQ(changed("[0.0010001", "[-1"), ":5: 'runtimes' has -1000000 ns, which is no time");
  EXPECT_EQ(changed(R"("num_throttled":2)", R"("num_throttled":true)"),
            ":5: 'num_throttled' is not an integer");
  std::string cheap = good;
  cheap.replace(cheap.find(R"("objective":"edp")"), 17, R"("objective":"beauty")");
  EXPECT_THAT(damage_of(cheap), EndsWith(": 'objective' is not time, energy, edp or a metric"));
  std::string nameless = good;
  nameless.replace(nameless.find(R"("config":")"), 10, R"("config":"a-b=1,)");
  EXPECT_THAT(damage_of(nameless), HasSubstr(": 'config' of a rank: "));
  // Less than nothing, or no number, would answer every question.
  const std::string key = R"("precision_ratio":)";
  for (const std::string ratio : {"-1", "1.0", "\"nan\"", "\"-inf\""}) {
    std::string precise = good;
    precise.replace(precise.find(key + "0.003"), key.size() + 5, key + ratio);
    EXPECT_THAT(damage_of(precise), EndsWith(": 'precision_ratio' is not 0 or a ratio below 1"));
  }
}

TEST(RecordingFormat, SamplesAreStepsAboveTheLeast) {
  const std::vector<double> times_ns = {7648, 8000, 7520, 11904, 7552};
  EXPECT_EQ(pack_samples(times_ns, kPartsPerNs), "7520 32 4h0(137)1");
  EXPECT_EQ(unpack_samples("7520 32 4h0(137)1", kPartsPerNs), times_ns);
  EXPECT_EQ(pack_samples({0.1, 6.2, 6.3}, kPartsPerNs), "0.1 0.1 0_(62)");
  EXPECT_EQ(unpack_samples("0.1 0.1 0_(62)", kPartsPerNs), (std::vector<double>{0.1, 6.2, 6.3}));
  EXPECT_EQ(pack_samples({1980, 1980}, kPartsPerMhz), "1980 1 00");
}

// A search for words of unfinished work found samples that spelled them.
TEST(RecordingFormat, SamplesSpellNoWords) {
  std::vector<double> samples(100);
  std::iota(samples.begin(), samples.end(), 0);
  const std::string text = pack_samples(samples, kPartsPerMhz).value();
  EXPECT_EQ(text.find_first_of("aeioutxAEIOUTX"), text.npos) << text;
}

TEST(RecordingFormat, OnlyNumbersWithExactPartsAreText) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double sample : {kInfinity, -kInfinity, std::nan(""), 1e16}) {
    EXPECT_FALSE(pack_samples({1, sample}, kPartsPerNs)) << sample;
  }
  EXPECT_FALSE(pack_samples({}, kPartsPerNs));
}

TEST(RecordingFormat, OtherTextIsNoSamples) {
  for (const char* text : {"", "1", "1 2", "1 2 -", "1  0", "nan 1 0", "1 inf 0", "1 1 (", "1 1 (1",
                           "1 1 ()", "1 1 (-1)", "1 1 (99999999999999999999)", "1 1 0 0"}) {
    EXPECT_FALSE(unpack_samples(text, kPartsPerNs)) << text;
  }
  EXPECT_EQ(unpack_samples("1 2 ", kPartsPerNs), std::vector<double>());
}

}  // namespace
}  // namespace assay
