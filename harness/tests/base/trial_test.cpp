#include "base/trial.h"

#include <gtest/gtest.h>

#include <set>

namespace assay {
namespace {

TEST(Trial, StatusesAreT4Words) {
  EXPECT_EQ(to_text(Status::correct), "correct");
  EXPECT_EQ(to_text(Status::constraints), "constraints");
  EXPECT_EQ(to_text(Status::compile), "compile");
  EXPECT_EQ(to_text(Status::runtime), "runtime");
  EXPECT_EQ(to_text(Status::timeout), "timeout");
  EXPECT_EQ(to_text(Status::correctness), "correctness");
}

TEST(Trial, WordsParseBackToThemselves) {
  for (Status status : {Status::correct, Status::constraints, Status::compile, Status::runtime,
                        Status::timeout, Status::correctness, Status::compiled}) {
    EXPECT_EQ(parse_status(to_text(status)), status);
  }
  std::set<std::string_view> words;
  for (StopReason reason :
       {StopReason::precision, StopReason::time_limit, StopReason::sample_limit}) {
    EXPECT_EQ(parse_stop_reason(to_text(reason)), reason);
    words.insert(to_text(reason));
  }
  EXPECT_EQ(words.size(), 3u);
}

TEST(Trial, AKilledProcessAndFullMemoryAreTheMachinesFault) {
  EXPECT_TRUE(is_machine_fault(Status::compile, "killed"));
  EXPECT_TRUE(is_machine_fault(Status::runtime, "killed"));
  EXPECT_TRUE(is_machine_fault(Status::runtime, "out_of_memory"));
  EXPECT_FALSE(is_machine_fault(Status::runtime, "crash"));
  EXPECT_FALSE(is_machine_fault(Status::compile, "error"));
  EXPECT_FALSE(is_machine_fault(Status::timeout, "hang"));
  EXPECT_FALSE(is_machine_fault(Status::correct, ""));
}

TEST(Trial, UnknownWordsAreNoStatus) {
  for (const char* text : {"", "Correct", "correct ", "correctnes", "precision"}) {
    EXPECT_EQ(parse_status(text), std::nullopt) << text;
  }
  for (const char* text : {"", "time limit", "correct"}) {
    EXPECT_EQ(parse_stop_reason(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace assay
