#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "ranking/claims.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

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
