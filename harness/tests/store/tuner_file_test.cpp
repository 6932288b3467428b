// Files of other tuners: rows as Kernel Tuner writes them, and T4's.

#include "base/error.h"
#include "base/file.h"
#include "matchers.h"
#include "store/gzip.h"
#include "store_fixture.h"

namespace assay {
namespace {

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

std::vector<double> samples_of(const Recording& recording) {
  return recording.trials.at(0).outcome.timing.value().samples_ns;
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

// A date with a byte that is no text became part of a provenance, which no reader of the store
// takes.
TEST(TunerFile, WhatIsNoDateDatesNothing) {
  std::string text = kHeader + kTimed + "\n}\n}";
  text.replace(text.find("2023-12-22"), 10, "2023:12:22");
  EXPECT_EQ(read(text).recorded_at, "");
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
  EXPECT_THAT(samples_of(recording), ElementsAre(5e5));
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
  EXPECT_THAT(samples_of(recording), ElementsAre(4e6, 6e6));
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
  EXPECT_EQ(time_in("us", ""), 3e3);
  EXPECT_EQ(time_in("", "miliseconds"), 3e6);
  EXPECT_THAT(mistake_in(results(row, "")), HasSubstr("result 0: times in '%': expected s, ms"));
}

TEST(TunerFile, AnUnpackedAndAPackedFileAreTheSame) {
  const std::string text = kHeader + kTimed + "\n}\n}";
  const Recording recording = read(gzip(text), "convolution.json.gz");
  EXPECT_EQ(recording.sweep, "convolution");
  EXPECT_EQ(recording.trials.size(), 1u);
}

TEST(TunerFile, NamesTheRowThatIsDamaged) {
  const auto row = [](const std::string& text) {
    return R"({"tune_params_keys": ["a"], "cache": {"1": )" + text + "}}";
  };
  EXPECT_THAT(mistake_in(row(R"({"time": 1})")), HasSubstr("json: row 1: 'a' is missing"));
  EXPECT_THAT(mistake_in(row(R"({"a": 0.5, "time": 1})")),
              HasSubstr("row 1: 'a' is 0.5, which is neither an integer nor a word"));
  EXPECT_THAT(mistake_in(row(R"({"a": 1})")), HasSubstr("'time' is missing"));
  EXPECT_THAT(mistake_in(row(R"({"a": 1, "time": null})")),
              HasSubstr("'time' is NaN or null, which is no time"));
  EXPECT_THAT(mistake_in(row(R"({"a": 1, "time": 1, "times": 2})")),
              HasSubstr("'times' is no list of times"));
  EXPECT_THAT(mistake_in(row(R"({"a": 1, "time": 1, "times": [1, -1]})")),
              HasSubstr("'times' is -1, which is no time"));
  // Finite in milliseconds, not in nanoseconds.
  EXPECT_THAT(mistake_in(row(R"({"a": 1, "time": 1e308})")),
              HasSubstr("'time' is 1e+308, which is no time"));
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
  EXPECT_THAT(mistake_in("BLOCK=128"), HasSubstr("expected JSON, of Kernel Tuner, T4, KTT or BAT"));
  EXPECT_THAT(mistake_in("[1]"), HasSubstr("json: result 0: 'config' is missing"));
  EXPECT_THAT(mistake_in(R"({"tables": []})"), HasSubstr("neither a Kernel Tuner cachefile"));
}

/// What is printed to stderr while a file is read, and the file.
std::pair<Recording, std::string> read_aloud(const std::string& text,
                                             const std::string& name = "convolution.json") {
  testing::internal::CaptureStderr();
  Recording recording = read(text, name);
  return {std::move(recording), testing::internal::GetCapturedStderr()};
}

std::string cachefile(const std::string& rows) {
  return R"({"tune_params_keys": ["a"], "cache": {)" + rows + "}}";
}

// KTT's T4 says microseconds, of an objective of another name: they were read as milliseconds.
TEST(TunerFile, AnObjectiveOfAnyNameHasItsUnit) {
  const auto file = [](const std::string& unit) {
    return R"({"results": [{"configuration": {"a": "64"}, "objectives": ["TotalDuration"],
        "times": {"compilation_time": 2000, "runtimes": [41.5]}, "invalidity": "correct",
        "correctness": 1, "measurements": [{"name": "TotalDuration", "value": 41.5, "unit": ")" +
           unit + R"("}]}]})";
  };
  const TrialRecord trial = read(file("Microseconds")).trials[0];
  EXPECT_EQ(to_text(trial.config), "a=64");
  EXPECT_EQ(trial.outcome.timing.value().median_ns, 41500);
  EXPECT_EQ(trial.compile.compile_ms, 2);
  EXPECT_THAT(mistake_in(file("")), HasSubstr("result 0: the times have no unit: expected s, ms"));
  EXPECT_THAT(mistake_in(file("GFLOP/s")), HasSubstr("the times have no unit"));
}

// Kernel Tuner leaves the list empty where it has no samples.
TEST(TunerFile, WithoutRuntimesTheMeasurementIsTheTime) {
  const std::string row = R"({"configuration": {"a": 1}, "times": {"runtimes": []},
      "invalidity": "correct", "measurements": [{"name": "time", "value": 0.5, "unit": "ms"}]})";
  EXPECT_THAT(samples_of(read(results(row))), ElementsAre(5e5));
  EXPECT_THAT(samples_of(read(cachefile(R"("1": {"a": 1, "time": 0.5, "times": []})"))),
              ElementsAre(5e5));
}

// Each made the whole file unreadable.
TEST(TunerFile, AnOddValueCostsItsRowOrNothing) {
  const auto [recording, warnings] = read_aloud(
      R"({"problem_size": ["4096", 16], "tune_params_keys": ["a", "layout"], "cache": {)"
      R"("1": {"a": 1, "layout": "row-major", "time": 1, "energy": NaN, "note": "NaN \" NaN"},)"
      R"("2": {"a": "2", "layout": "row-major", "time": NaN},)"
      R"("3": {"a": 0.5, "layout": "row-major", "time": -Infinity},)"
      R"("4": {"a": 4, "layout": "row_major", "time": 1},)"
      R"("5": {"a": 5, "layout": "column", "time": 2, "other": [Infinity, -Infinity]}}})");
  EXPECT_EQ(to_text(recording.trials[0].problem), "X=4096,Y=16");
  ASSERT_EQ(recording.trials.size(), 2u);
  EXPECT_EQ(to_text(recording.trials[0].config), "a=1,layout=row_major");
  EXPECT_EQ(to_text(recording.trials[1].config), "a=5,layout=column");
  EXPECT_THAT(warnings, HasSubstr("convolution.json: 'row-major' is read as row_major"));
  EXPECT_THAT(warnings,
              HasSubstr("row 2: 'time' is NaN or null, which is no time; it is left out"));
  EXPECT_THAT(warnings, HasSubstr("row 3: 'a' is 0.5, which is neither an integer nor a word"));
  EXPECT_THAT(warnings, HasSubstr("row 4: 'row-major' and 'row_major' would both be row_major"));
  EXPECT_THAT(warnings, HasSubstr("3 of 5 rows are left out"));
}

TEST(TunerFile, RunsOfOneConfigurationArePutTogether) {
  const auto row = [](const std::string& config, const std::string& runtimes) {
    return R"({"configuration": {)" + config + R"(}, "times": {"runtimes": [)" + runtimes +
           R"(]}, "invalidity": "correct"})";
  };
  const auto [recording, warnings] =
      read_aloud(results(row(R"("a": 1, "b": 2)", "3") + "," + row(R"("a": 2, "b": 2)", "9") + "," +
                         row(R"("b": 2, "a": 1)", "1, 2")));
  ASSERT_EQ(recording.trials.size(), 2u);
  EXPECT_THAT(samples_of(recording), ElementsAre(3e6, 1e6, 2e6));
  EXPECT_EQ(recording.trials[0].outcome.timing->median_ns, 2e6);
  EXPECT_THAT(warnings, HasSubstr("1 of 3 rows are further runs of a configuration"));
  // A check that failed once is not forgotten.
  const std::string wrong =
      R"({"configuration": {"a": 1, "b": 2}, "times": {}, "invalidity": "correctness"})";
  EXPECT_EQ(read(results(wrong + "," + row(R"("a": 1, "b": 2)", "3"))).trials[0].outcome.status,
            Status::correctness);
  // Python's dictionaries have a key once, and the last value.
  EXPECT_THAT(samples_of(read(cachefile(R"("1": {"a": 1, "time": 5}, "1": {"a": 1, "time": 7})"))),
              ElementsAre(7e6));
}

TEST(TunerFile, ReadsKtt) {
  const auto result = [](int value, const std::string& status) {
    return fmt::format(R"({{"KernelName": "saxpy", "Status": "{}", "TotalDuration": 41.5,
        "CompilationOverhead": 2000, "Configuration": [{{"Name": "WG", "Value": {}}}]}})",
                       status, value);
  };
  const auto file = [](const std::string& metadata, const std::string& rows) {
    return R"({"Metadata": {"Device": "NVIDIA GeForce RTX 3090")" + metadata +
           R"(}, "Results": [)" + rows + "]}";
  };
  const std::string rows = result(64, "Ok") + "," + result(128, "ValidationFailed") + "," +
                           result(256, "CompilationFailed") + "," + result(512, "Lost");
  const Recording recording = read(file(R"(, "TimeUnit": "Microseconds")", rows));
  EXPECT_EQ(recording.device.name, "NVIDIA GeForce RTX 3090");
  ASSERT_EQ(recording.trials.size(), 3u);
  EXPECT_EQ(recording.trials[0].kernel.name, "saxpy");
  EXPECT_EQ(to_text(recording.trials[0].config), "WG=64");
  EXPECT_EQ(recording.trials[0].outcome.timing.value().median_ns, 41500);
  EXPECT_EQ(recording.trials[0].compile.compile_ms, 2);
  EXPECT_EQ(recording.trials[1].outcome.status, Status::correctness);
  EXPECT_EQ(recording.trials[2].outcome.status, Status::compile);
  EXPECT_THAT(mistake_in(file("", rows)),
              HasSubstr("expected s, ms, us or ns as Metadata.TimeUnit"));
}

TEST(TunerFile, ReadsBatsListAndTable) {
  const std::string list =
      R"([{"timestamp": "2023-06-01 10:00:00.5", "config": {"BX": 32, "MODE": "a"},
           "correctness": 1.0, "validity": "Correct", "objective": 0.004,
           "times": {"compile_time": 0.5, "runtimes": [0.001, 0.003]}},
          {"config": {"BX": 64, "MODE": "b"}, "correctness": 0, "validity": "Compile exception",
           "times": {"runtimes": []}}])";
  const std::string table =
      "timestamp,correctness,validity,objective,error,config.BX,config.MODE,times.compile_time,"
      "times.runtimes\n"
      "2023-06-01 10:00:00.5,1.0,Correct,0.004,no error,32,a,0.5,\"[0.001, 0.003]\"\n"
      "2023-06-01 10:00:01.5,0.0,Compile exception,,\"it said \"\"no\"\", twice\",64,b,0,[]\n";
  for (const auto& [text, name] : {std::pair{list, "nbody.json"}, std::pair{table, "nbody.csv"}}) {
    const Recording recording = read(text, name);
    EXPECT_EQ(recording.sweep, "nbody");
    EXPECT_EQ(recording.recorded_at, "2023-06-01");
    ASSERT_EQ(recording.trials.size(), 2u);
    EXPECT_EQ(to_text(recording.trials[0].config), "BX=32,MODE=a");
    EXPECT_THAT(samples_of(recording), ElementsAre(1e6, 3e6));
    EXPECT_EQ(recording.trials[0].compile.compile_ms, 500);
    EXPECT_EQ(recording.trials[1].outcome.status, Status::compile);
  }
}

}  // namespace
}  // namespace assay
