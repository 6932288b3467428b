#include "base/trial.h"

#include <gtest/gtest.h>

#include <set>

namespace assay {
namespace {

TEST(Trial, StatusesAreT4WordsAndParseBackToThemselves) {
  for (const auto& [status, word] : {std::pair(Status::correct, "correct"),
                                     {Status::compiled, "compiled"},
                                     {Status::constraints, "constraints"},
                                     {Status::compile, "compile"},
                                     {Status::runtime, "runtime"},
                                     {Status::timeout, "timeout"},
                                     {Status::correctness, "correctness"}}) {
    EXPECT_EQ(to_text(status), word);
    EXPECT_EQ(parse_status(word), status);
  }
}

TEST(Trial, StopReasonsParseBackToThemselves) {
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
