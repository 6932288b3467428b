#include "base/counters.h"

#include <gtest/gtest.h>

#include <set>
namespace assay {
namespace {

TEST(Counters, HaveNamesOfTheirOwnAndSets) {
  std::set<std::string_view> names;
  for (const CounterRow& row : counters()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(counters_of(row.set).empty());
  }
  EXPECT_EQ(counters_of("all").size(), names.size());
  EXPECT_TRUE(counters_of("none").empty());
  EXPECT_EQ(counter_sets().back(), "all");
}

}  // namespace
}  // namespace assay
