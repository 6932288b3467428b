// Files of other tuners: rows as Kernel Tuner writes them, and T4's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "store/gzip.h"
#include "store_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kHeader = R"({
"device_name": "NVIDIA A100-PCIE-40GB",
"kernel_name": "convolution_kernel",
"problem_size": [4096, 2048],
"tune_params_keys": ["block_size_x", "layout"],
"tune_params": {"block_size_x": [16, 32], "layout": ["row"]},
"objective": "time",
"cache": {
)";
const std::string kTimed =
    R"("16,row": {"layout": "row", "block_size_x": 16, "time": 2, "times": [3, 1, 2], )"
    R"("compile_time": 918.6, "timestamp": "2023-12-22 09:54:05.502007+00:00"})";
const std::string kOld =
    R"("32,row": {"block_size_x": 32, "layout": "row", "time": "RuntimeFailedConfig"})";
const std::string kNew = R"("48,row": {"block_size_x": 48, "layout": "row",)"
                         R"( "time": "CompilationFailedConfig", "__error__": "InvalidConfig"})";

Recording read(const std::string& text, const std::string& name = "convolution.json") {
  TempFolder folder;
  write_file_atomic(folder / name, text);
  return read_recording(folder / name);
}

std::string mistake_in(const std::string& text) {
  return message_of<UsageError>([&] { read(text); });
}

std::string results(const std::string& rows, const std::string& unit = "miliseconds") {
  return R"({"metadata": {"timeunit": ")" + unit + R"("}, "results": [)" + rows +
         R"(], "schema_version": "1.0.0"})";
}

TEST(TunerFile, ReadsACachefile) {
  const Recording recording = read(kHeader + kTimed + ",\n" + kOld + ",\n" + kNew + "\n}\n}");
  EXPECT_EQ(recording.sweep, "convolution");
  EXPECT_EQ(recording.device.name, "NVIDIA A100-PCIE-40GB");
  EXPECT_EQ(recording.recorded_at, "2023-12-22");
  ASSERT_EQ(recording.trials.size(), 3u);
  const TrialRecord& trial = recording.trials[0];
  EXPECT_EQ(trial.kernel.name, "convolution_kernel");
  EXPECT_EQ(trial.kernel.source_hash, "");
  EXPECT_EQ(to_text(trial.problem), "X=4096,Y=2048");
  EXPECT_EQ(to_text(trial.config), "block_size_x=16,layout=row");  // as tune_params_keys has them
  EXPECT_EQ(trial.protocol.name, "hot");
  EXPECT_EQ(trial.finished_at, "2023-12-22T09:54:05Z");
  EXPECT_EQ(trial.compile.compile_ms, 918.6);
  const Timing& timing = trial.outcome.timing.value();
  EXPECT_THAT(timing.samples_ns, ElementsAre(3e6, 1e6, 2e6));
  EXPECT_EQ(timing.median_ns, 2e6);
}

TEST(TunerFile, KnowsKernelTunersFailures) {
  const Recording recording = read(kHeader + kOld + ",\n" + kNew + "\n}\n}");
  EXPECT_EQ(recording.trials[0].outcome.status, Status::runtime);
  EXPECT_EQ(recording.trials[0].outcome.kind, "RuntimeFailedConfig");
  EXPECT_FALSE(recording.trials[0].outcome.timing);
  EXPECT_EQ(recording.trials[1].outcome.status, Status::constraints);
}

TEST(TunerFile, ReadsWhatAStoppedTunerLeft) {
  EXPECT_EQ(read(kHeader + kTimed + ",\n").trials.size(), 1u);
  EXPECT_EQ(read(kHeader + kTimed).trials.size(), 1u);
  EXPECT_EQ(read(kHeader).trials.size(), 0u);
}

TEST(TunerFile, ReadsACachefileWithoutSamplesAndWithAComputedProblem) {
  const Recording recording =
      read(R"({"problem_size": "callable", "kernel_name": "k", "tune_params_keys": ["a"], )"
           R"("cache": {"1": {"a": true, "time": 0.5}}})");
  EXPECT_EQ(recording.device.name, "an unnamed GPU");
  EXPECT_TRUE(recording.trials[0].problem.empty());
  EXPECT_EQ(to_text(recording.trials[0].config), "a=1");
  EXPECT_THAT(recording.trials[0].outcome.timing.value().samples_ns, ElementsAre(5e5));
}

TEST(TunerFile, ReadsT4) {
  const Recording recording = read(results(
      R"({"timestamp": "2023-12-22 09:54:05.502007+00:00", "configuration": {"b": 2, "a": 1},
          "times": {"compilation": 12.5, "runtimes": [4, 6]}, "invalidity": "correct",
          "correctness": 1, "measurements": [{"name": "time", "value": 5, "unit": ""}]},
         {"configuration": {"b": 3, "a": 1}, "times": {"compilation_time": 1},
          "invalidity": "compile", "correctness": 0,
          "measurements": [{"name": "time", "value": "CompilationFailedConfig"}]})"));
  EXPECT_EQ(recording.trials[0].kernel.name, "convolution");
  EXPECT_EQ(to_text(recording.trials[0].config), "b=2,a=1");
  EXPECT_EQ(recording.trials[0].compile.compile_ms, 12.5);
  EXPECT_THAT(recording.trials[0].outcome.timing.value().samples_ns, ElementsAre(4e6, 6e6));
  EXPECT_EQ(recording.trials[1].outcome.status, Status::compile);
  EXPECT_EQ(recording.trials[1].outcome.kind, "CompilationFailedConfig");
}

TEST(TunerFile, ReadsTheUnitOfT4) {
  const std::string row = R"({"configuration": {"a": 1}, "times": {"runtimes": [3]},
      "invalidity": "correct", "measurements": [{"name": "time", "value": 3, "unit": "%"}]})";
  const auto time_in = [&](const std::string& of_row, const std::string& of_file) {
    std::string text = row;
    text.replace(text.find('%'), 1, of_row);
    return read(results(text, of_file)).trials[0].outcome.timing.value().median_ns;
  };
  EXPECT_EQ(time_in("", "microseconds"), 3e3);
  EXPECT_EQ(time_in("s", "microseconds"), 3e9);
  EXPECT_EQ(time_in("", ""), 3e6);
  EXPECT_THAT(mistake_in(results(row, "")), HasSubstr("result 0: times in '%': expected s, ms"));
}

TEST(TunerFile, AnUnpackedAndAPackedFileAreTheSame) {
  const std::string text = kHeader + kTimed + "\n}\n}";
  const Recording recording = read(gzip(text), "convolution.json.gz");
  EXPECT_EQ(recording.sweep, "convolution");
  EXPECT_EQ(recording.trials.size(), 1u);
}

TEST(TunerFile, IsADatabaseToRead) {
  TempFolder folder;
  write_file_atomic(folder / "convolution.json", kHeader + kTimed + ",\n" + kOld + "\n}\n}");
  const Store store = Store::open_readonly(folder / "convolution.json");
  EXPECT_EQ(store.trials({}).size(), 2u);
}

TEST(TunerFile, NamesTheRowThatIsDamaged) {
  const auto row = [](const std::string& text) {
    return R"({"tune_params_keys": ["a"], "cache": {"1": )" + text + "}}";
  };
  EXPECT_THAT(mistake_in(row(R"({"time": 1})")), HasSubstr("json: row 1: 'a' is missing"));
  EXPECT_THAT(mistake_in(row(R"({"a": 0.5, "time": 1})")),
              HasSubstr("row 1: 'a' is 0.5, which is neither an integer nor a word"));
  EXPECT_THAT(mistake_in(row(R"({"a": "x y", "time": 1})")),
              HasSubstr("'a' is \"x y\"; expected an integer or a word of letters, digits and "
                        "underscores"));
  EXPECT_THAT(mistake_in(row(R"({"a": 1})")), HasSubstr("'time' is missing"));
  EXPECT_THAT(mistake_in(row(R"({"a": 1, "time": null})")),
              HasSubstr("'time' is null, which is no time"));
  EXPECT_THAT(mistake_in(row(R"({"a": 1, "time": 1, "times": []})")),
              HasSubstr("'times' is no list of times"));
  EXPECT_THAT(mistake_in(row(R"({"a": 1, "time": 1, "times": [1, -1]})")),
              HasSubstr("'times' is -1, which is no time"));
  // Finite in milliseconds, not in nanoseconds.
  EXPECT_THAT(mistake_in(row(R"({"a": 1, "time": 1e308})")),
              HasSubstr("'time' is 1e308, which is no time"));
  EXPECT_THAT(mistake_in(row("7")), HasSubstr("'a' is missing"));
  EXPECT_THAT(mistake_in(results(R"({"configuration": {"a": 1}, "invalidity": "slow"})")),
              HasSubstr("result 0: 'invalidity' is 'slow', which T4 does not know"));
}

// The JSON library reads 2^64 - 1 as -1.
TEST(TunerFile, RefusesIntegersThatAreTooLarge) {
  const std::string row = R"({"a": 18446744073709551615, "time": 1})";
  EXPECT_THAT(mistake_in(R"({"tune_params_keys": ["a"], "cache": {"x": )" + row + "}}"),
              HasSubstr("json: row x: 'a' is out of range: 18446744073709551615"));
  EXPECT_THAT(mistake_in(R"({"problem_size": 9223372036854775808, "tune_params_keys": [],)"
                         R"( "cache": {}})"),
              HasSubstr("json: 'problem_size' is out of range: 9223372036854775808"));
  EXPECT_THAT(mistake_in(results(R"({"configuration": {"a": 18446744073709551615},)"
                                 R"( "invalidity": "compile", "times": {}})")),
              HasSubstr("json: result 0: 'a' is out of range: 18446744073709551615"));
}

TEST(TunerFile, ReadsRowsInTheirOrderWhereverTheyStand) {
  const Recording recording =
      read(R"({"cache": {"2": {"a": 2, "time": 1}, "1": {"a": 1, "time": 1}},)"
           R"( "tune_params_keys": ["a"], "other": {"3": {"a": 3, "time": 1}}})");
  ASSERT_EQ(recording.trials.size(), 2u);
  EXPECT_EQ(to_text(recording.trials[0].config), "a=2");
  EXPECT_EQ(to_text(recording.trials[1].config), "a=1");
}

TEST(TunerFile, IsReadInPortions) {
  TempFolder folder;
  write_file_atomic(folder / "c.json", kHeader + kOld + ",\n" + kTimed + "\n}\n}");
  const RecordingPortions next = read_portions(folder / "c.json", 1);
  for (const std::string config : {"block_size_x=32,layout=row", "block_size_x=16,layout=row"}) {
    const Recording portion = next().value();
    ASSERT_EQ(portion.trials.size(), 1u);
    EXPECT_EQ(to_text(portion.trials[0].config), config);
    EXPECT_EQ(portion.recorded_at, "2023-12-22") << "that of the newest row, also in the first";
    EXPECT_EQ(to_text(portion.trials[0].problem), "X=4096,Y=2048");
  }
  EXPECT_FALSE(next());
  write_file_atomic(folder / "none.json", kHeader + "}}");
  const RecordingPortions empty = read_portions(folder / "none.json", 1);
  EXPECT_EQ(empty().value().sweep, "none");
  EXPECT_FALSE(empty());
}

// Rows are cut out of the text before they are parsed.
TEST(TunerFile, CutsRowsWhereTheyEnd) {
  const Recording recording =
      read(R"({"tune_params_keys": ["a"], "cache": {"},\"]": {"a": 1, "time": 1, "x": "{\"[}"},)"
           R"("b": {"a": "\u0062", "time": 2, "x": [[], {"]": 1}] } , "c" :{"a":3,"time":3}}})"
           "\n");
  ASSERT_EQ(recording.trials.size(), 3u);
  EXPECT_EQ(to_text(recording.trials[1].config), "a=b");
}

TEST(TunerFile, SaysWhatAFileIsNot) {
  const auto file = [](const std::string& rows) {
    return R"({"tune_params_keys": ["a"], "cache": )" + rows + "}";
  };
  for (const std::string rows :
       {"{1: {}}", "{\"1\" {}}", "{\"1\": {}", "{\"1\": {} \"2\": {}}", "{\"1\":}", "{\"1: {}}",
        "{\"1\": ]}", "{\"1\": {}} 2", "{,}", "{\"1\": {},}", "{} {", "{}, \"b\": x"}) {
    EXPECT_THAT(mistake_in(file(rows)), HasSubstr("json: expected JSON, of Kernel Tuner")) << rows;
  }
  for (const std::string row : {"x", "{\"a\" 1}", "{\"a\": 1]", "1 2", "{\"a\": 1}}"}) {
    EXPECT_THAT(mistake_in(file("{\"1\": " + row + "}")), HasSubstr("expected JSON")) << row;
  }
  EXPECT_THAT(mistake_in(file(R"({"1": {"a": 1, "time": 1}, "2": {"a" 1}})")),
              HasSubstr("json: row 2: expected JSON"));
  EXPECT_THAT(mistake_in("BLOCK=128"), HasSubstr("expected JSON, of Kernel Tuner or T4"));
  EXPECT_THAT(mistake_in("[1]"), HasSubstr("expected JSON"));
  EXPECT_THAT(mistake_in(R"({"tables": []})"), HasSubstr("neither a Kernel Tuner cachefile"));
}

}  // namespace
}  // namespace assay
