#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.h"
#include "matchers.h"
#include "store/recording_format.h"
#include "store/recording_sample.h"

namespace assay {
namespace {

/// What is wrong with a recording, behind the path of its file.
std::string damage_of(const std::string& text) {
  const std::string message = message_of<UsageError>([&] { read_text(text); });
  return message.substr(std::min(message.find(":"), message.size()));
}

/// `text` with something else in the place of the first `from`.
std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? "" : text.replace(at, from.size(), to);
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
  const Recording once = read_text(written(recording));
  const auto& samples = once.trials[0].outcome.timing->samples_ns;
  ASSERT_EQ(samples.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(samples[i], std::round(exact[i] * 10) / 10);
  }
  EXPECT_EQ(written(once), written(recording)) << "rounding again changes nothing";
}

// A verdict of which nine times the speed was claimed was believed, whatever its samples said. What
// follows from samples is now computed, and what does not must agree with them.
TEST(Recording, WhatFollowsFromSamplesIsComputed) {
  const std::string good = written(sample_recording());
  for (const char* key : {"interval", "tied", "speedup", "ratio_to_best", "ratio",
                          "cycles_ratio_to_best", "correctness"}) {
    EXPECT_EQ(good.find(fmt::format("\"{}\":", key)), good.npos) << key;
  }
  const auto damage = [&](const std::string& from, const std::string& to) {
    return damage_of(changed(good, from, to));
  };
  const std::string claimed =
      changed(good, R"("winner":true)", R"("winner":true,"speedup":[9,9,9])");
  EXPECT_EQ(describe(read_text(claimed)), describe(sample_recording()));
  const std::string winner = "gemm BLOCK=1,SCHEDULE=row";
  EXPECT_EQ(damage(R"("winner":true,)", ""),
            ":11: 'winner' of " + winner + " is false, but by the samples it is true");
  EXPECT_EQ(damage(R"("rounds":3)", R"("rounds":30)"),
            ":11: 'rounds' is 30, but there are samples of 3");
  EXPECT_EQ(damage(R"("eliminated":true,)", ""),
            ":11: gemm BLOCK=4: it was timed in 1 of 3 rounds");
  EXPECT_EQ(damage(R"("failure":"unwritten",)", ""), ":11: gemm BLOCK=2: it was never timed");
  EXPECT_EQ(damage(R"("config":"BLOCK=2")", R"("config":"BLOCK=4")"),
            ":11: gemm BLOCK=4 is there twice");
  EXPECT_EQ(damage(R"("registers":128,"skew")", R"("registers":127,"skew")"),
            ":13: the verdict was computed with 127 registers of " + winner + ", which has 128");
  EXPECT_EQ(damage(R"("clocks_mhz":"1755 15 )", R"("clocks_mhz":"1755 15 0)"),
            ":11: 'clocks_mhz' is not a list of 3 numbers");
  EXPECT_EQ(damage(R"("clock_mhz":1973)", R"("clock_mhz":-1)"),
            ":6: 'clock_mhz' is -1, which is no clock");
  EXPECT_EQ(damage(R"("clock_mhz":1973)", R"("clock_mhz":"nan")"),
            ":6: 'clock_mhz' is nan, which is no clock");
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
  EXPECT_THAT(line, HasSubstr(R"("times":{"compilation_time":12.5,"runtimes":"990.3 0.1 )"));
  EXPECT_THAT(line, HasSubstr(R"("invalidity":"correct","stop":"precision")"));
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
  EXPECT_EQ(describe(read_text(text)), describe(recording));
}

TEST(Recording, OfTheClocksOfATrialItHasTheMedian) {
  Recording recording = sample_recording();
  const std::string text = written(recording);
  EXPECT_THAT(text, HasSubstr(R"("stop":"precision","clock_mhz":1973,)"));
  recording.trials[0].outcome.timing = timed_record(key_of(1)).outcome.timing;
  EXPECT_EQ(written(recording), text);
}

// A kernel that must move 60 bytes had a roofline of 0.0 ms: written, and gone when it was read.
TEST(Recording, ARooflineOfLessThanItsDigitsIsLeftOut) {
  Recording recording = sample_recording();
  recording.baselines.back().timing.roofline_ns = 0.012;
  const std::string text = written(recording);
  EXPECT_EQ(text.find(R"("roofline":0.0,)"), std::string::npos);
  EXPECT_EQ(written(read_text(text)), text);
}

// The format before this one: samples are lists or texts, and what follows from them is said, too.
TEST(Recording, AnOlderOneIsReadToo) {
  std::string text = written(sample_recording());
  text = text.substr(0, text.find("{\"timestamp\""));
  text = changed(text, R"("assay_recording":3)", R"("assay_recording":2)");
  text += R"({"timestamp":"2026-11-21T10:00:00Z","kernel":0,"toolchain":0,"protocol":0,)"
          R"("problem":{"M":16},"configuration":{"BLOCK":1},"times":{"compilation_time":431.2,)"
          R"("runtimes":[0.0010,0.0012,0.0011]},"invalidity":"correct","correctness":1,)"
          R"("time":0.0011,"interval":[0.001,0.0012],"stop":"precision"})"
          "\n"
          R"({"configuration":{"BLOCK":2},"times":{"runtimes":"1200 32 012345678"},)"
          R"("time":0.001328,"interval":[0.001232,0.001424],"clocks_mhz":[1,2,3,4,5,6,7,8,9]})"
          "\n"
          R"({"configuration":{"BLOCK":3},"clocks_mhz":null})"
          "\n"
          R"({"timestamp":"2026-11-21T11:00:00Z","op":"gemm_bf16","protocol":0,)"
          R"("problem":{"M":16},"rounds":3,"rank":[{"kernel":"gemm","config":"BLOCK=1",)"
          R"("time":0.000002,"ratio_to_best":[1,1,1],"speedup":[0,0,0],"winner":true,)"
          R"("tied":true,"runtimes":[0.000002,0.000002,0.000003]}]})"
          "\n";
  Recording recording = read_text(text);
  ASSERT_EQ(recording.trials.size(), 3u);
  EXPECT_EQ(recording.trials[2].outcome.timing->clock_mhz, 0);
  const Timing& timing = recording.trials[1].outcome.timing.value();
  EXPECT_EQ(timing.samples_ns.size(), 9u);
  EXPECT_EQ(timing.median_ns, 1328);
  EXPECT_EQ(timing.clock_mhz, 5);
  EXPECT_FALSE(timing.state);
  EXPECT_EQ(recording.trials[1].compile.compile_ms, 431.2);
  EXPECT_EQ(recording.trials[0].outcome.timing->ci_low_ns, 1000);
  ASSERT_EQ(recording.ranks.size(), 1u);
  EXPECT_TRUE(recording.ranks[0].entries[0].tied);
  EXPECT_EQ(recording.ranks[0].entries[0].ratio_to_best.value, 1);
  EXPECT_LT(written(recording).size(), text.size());
  recording.trials[1].outcome.timing->clocks_mhz.clear();  // of which the median is kept
  EXPECT_EQ(describe(read_text(written(recording))), describe(recording));
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
  recording.trials.assign(4, recorded_trial(key_of(1)));
  recording.trials[1].config[0].second = 2;
  recording.trials[1].outcome.timing = timing_of(std::vector<double>(9, 64));
  recording.trials[2].outcome = {};
  recording.trials[2].outcome.status = Status::runtime;
  recording.trials[3].config = {{"SCHEDULE", "row"}, {"BLOCK", 2}};
  const std::string text = written(recording);
  EXPECT_THAT(text, HasSubstr("\n{\"configuration\":{\"BLOCK\":2},"
                              "\"times\":{\"runtimes\":\"64 1 000000000\"},"));
  EXPECT_THAT(text, HasSubstr(R"("times":{"runtimes":null},"invalidity":"runtime","stop":null,)"));
  EXPECT_THAT(text, HasSubstr(R"("configuration":{"SCHEDULE":"row","BLOCK":2})"))
      << "the order of names is that of the parameters";
  EXPECT_EQ(describe(read_text(text)), describe(recording));
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
  EXPECT_EQ(describe(read_text(text)), describe(recording)) << "both are whole";
  const std::size_t trial = text.find("{\"timestamp\"");
  text.insert(text.find('\n', trial) + 1, "{\"configuration\":{}}\n");
  EXPECT_THAT(damage_of(text), HasSubstr(":7: no 'kernel', and the lines since the last with one"));
  std::string wide = R"({"kernel":0,"toolchain":0,"protocol":0,"problem":{},"configuration":{)";
  for (int i = 0; i < 1025; ++i) wide += fmt::format("{}\"P{}\":1", i > 0 ? "," : "", i);
  EXPECT_THAT(damage_of(text.substr(0, trial) + wide + "}}"),
              HasSubstr(": 'configuration' has more than 1024 names"));
  EXPECT_THAT(damage_of(text.substr(0, trial) + R"({"configuration":{}})"),
              HasSubstr(": 'kernel' is missing"));
}

// The configurations of each problem were written again, and those of a verdict once more.
TEST(Recording, ACodeIsWrittenOnce) {
  Recording recording = sample_recording();
  recording.baselines.clear();
  recording.ranks.resize(1);
  recording.trials.assign(4, recorded_trial(key_of(1)));
  recording.trials[1].config[0].second = 2;
  recording.trials[1].compile.cubin_hash = "another";
  for (int i : {2, 3}) {
    recording.trials[static_cast<std::size_t>(i)] =
        recording.trials[3 - static_cast<std::size_t>(i)];
    recording.trials[static_cast<std::size_t>(i)].problem[0].second = 32;
  }
  recording.trials[2].compile.cached = true;
  recording.trials[2].compile.compile_ms = 0;
  const std::string text = written(recording);
  EXPECT_THAT(text, HasSubstr("\n{\"problem\":{\"M\":32},\"times\":{\"compilation_time\":0.0},"
                              "\"compile\":{\"cached\":true},\"code\":1}\n"));
  EXPECT_THAT(text, HasSubstr(R"("rank":[{"winner":true,)"));
  EXPECT_EQ(describe(read_text(text)), describe(recording));
  EXPECT_THAT(damage_of(changed(text, "\"code\":1", "\"code\":7")),
              HasSubstr(":7: 'code' is 7, but only 2 are defined above"));
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
  const Recording recording = read_text(text + "\r\n\n");
  ASSERT_EQ(recording.trials.size(), 1u);
  EXPECT_EQ(describe(recording.trials[0]), describe(recorded_trial(key_of(1))));
}

TEST(Recording, IgnoresKeysOfTheFuture) {
  std::string text = written(sample_recording());
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find("\n{", at)) {
    at += text[at] == '\n' ? 2 : 1;
    text.insert(at, R"("future":{"a":[1,{}]},)");
  }
  EXPECT_EQ(describe(read_text(text)), describe(sample_recording()));
}

TEST(Recording, BytesThatAreNoUtf8AreReplaced) {
  Recording recording = sample_recording();
  recording.trials[0].outcome.message = "a\xff";
  EXPECT_EQ(read_text(written(recording)).trials[0].outcome.message, "a\xef\xbf\xbd");
}

TEST(Recording, DamageNamesTheLine) {
  const std::string good = written(sample_recording());
  const std::string header = good.substr(0, good.find('\n') + 1);
  EXPECT_EQ(damage_of(""), ":1: no recording: the file is empty");
  EXPECT_EQ(damage_of("{}"), ":1: 'assay_recording' is missing");
  EXPECT_EQ(damage_of(R"({"assay_recording":4})"),
            ":1: recording format 4; this assay reads 2 and 3");
  EXPECT_EQ(damage_of(header + "\n{\"configuration\":"), ":3: not a line of JSON");
  EXPECT_EQ(damage_of(header + "{}" + std::string(1, 0) + "{}"), ":2: not a line of JSON");
  EXPECT_EQ(damage_of(header + "[]"), ":2: not a JSON object");
  EXPECT_EQ(damage_of(header + "{}"),
            ":2: neither a trial ('configuration' or 'code'), a 'baseline', a 'rank' nor a "
            "definition");
  EXPECT_EQ(damage_of(header + R"({"configuration":{},"kernel":3})"),
            ":2: 'kernel' is 3, but only 0 are defined above");

  const std::string line = lines_of(timed_record(key_of(64)));
  const auto damage = [&](const std::string& from, const std::string& to) {
    return damage_of(changed(line, from, to));
  };
  EXPECT_EQ(damage(R"("invalidity":"correct")", R"("invalidity":"slow")"),
            ":5: 'invalidity' is none of correct, compiled, constraints, compile, runtime, "
            "timeout, correctness");
  EXPECT_EQ(damage(R"("BLOCK":64)", R"("BLOCK":0.5)"), ":5: 'BLOCK' is not an integer");
  EXPECT_EQ(damage(R"("BLOCK":64)", R"("BLOCK":18446744073709551615)"),
            ":5: 'BLOCK' is out of range: 18446744073709551615");
  EXPECT_EQ(damage(R"("registers":128)", R"("registers":4294967296)"),
            ":5: 'registers' is out of range: 4294967296");
  // The store knows a configuration by its text, which such a name would change.
  EXPECT_THAT(damage(R"("BLOCK":64)", R"("A=1,B":64)"), HasSubstr("'configuration' has a name"));
  EXPECT_THAT(damage(R"("SCHEDULE":"row")", R"("SCHEDULE":"12")"),
              HasSubstr("'configuration' has a name"));
  const std::string samples = R"("runtimes":"990.3 )";
  const auto sampled = [&](const std::string& text) {
    return damage(samples, R"("runtimes":)" + text + R"(,"was":"990.3 )");
  };
  EXPECT_EQ(sampled("\"fast\""), ":5: 'runtimes' is neither a list nor a text of samples");
  EXPECT_EQ(sampled("[\"fast\"]"), ":5: 'runtimes' is not a number");
  EXPECT_EQ(sampled("[]"), ":5: 'time' has no samples");
  EXPECT_EQ(sampled("[0,0,0,0,0,0,0]"), ":5: 'runtimes' has 0 ns, which is no time");
  EXPECT_EQ(sampled("[1,1,1,1,1,1,-1]"), ":5: 'runtimes' has -1000000 ns, which is no time");
  EXPECT_EQ(damage(R"("num_throttled":2)", R"("num_throttled":true)"),
            ":5: 'num_throttled' is not an integer");
  EXPECT_THAT(damage_of(changed(good, R"("objective":"edp")", R"("objective":"beauty")")),
              EndsWith(": 'objective' is not time, energy, edp or a metric"));
  EXPECT_THAT(damage_of(changed(good, R"("config":"BLOCK=4)", R"("config":"a-b=1)")),
              HasSubstr(": 'config' of a rank: "));
  // Less than nothing, or no number, would answer every question.
  const std::string key = R"("precision_ratio":)";
  for (const std::string ratio : {"-1", "1.0", "\"nan\"", "\"-inf\""}) {
    EXPECT_THAT(damage_of(changed(good, key + "0.003", key + ratio)),
                EndsWith(": 'precision_ratio' is not 0 or a ratio below 1"));
  }
}

TEST(RecordingFormat, SamplesAreStepsAboveTheLeast) {
  const std::vector<double> times_ns = {7648, 8000, 7520, 13440, 40704};
  EXPECT_EQ(pack_samples(times_ns, kPartsPerNs), "7520 32 4h0&_(1037)");
  EXPECT_EQ(unpack_samples("7520 32 4h0&_(1037)", kPartsPerNs), times_ns);
  EXPECT_EQ(unpack_samples("7520 32 4h0(185)", kPartsPerNs)->back(), 13440) << "as of before";
  const std::vector<double> ends_ns = {0.1, 6.2, 6.3, 80.6, 80.7};
  EXPECT_EQ(pack_samples(ends_ns, kPartsPerNs), "0.1 0.1 0_/0~_(806)");
  EXPECT_EQ(unpack_samples("0.1 0.1 0_/0~_(806)", kPartsPerNs), ends_ns);
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
  for (const char* text :
       {"", "1", "1 2", "1 2 -", "1  0", "nan 1 0", "1 inf 0", "1 1 (", "1 1 (1", "1 1 ()",
        "1 1 (-1)", "1 1 (99999999999999999999)", "1 1 0 0", "1 1 /", "1 1 //"}) {
    EXPECT_FALSE(unpack_samples(text, kPartsPerNs)) << text;
  }
  EXPECT_EQ(unpack_samples("1 2 ", kPartsPerNs), std::vector<double>());
}

}  // namespace
}  // namespace assay
