#include "base/counters.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "timing/counter_session.h"

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

// CUPTI's host part knows every chip, also where there is none.
TEST(Counters, AreMetricsOfTheChipsThatSweepsRunOn) {
  std::optional<Cupti> cupti;
  try {
    cupti.emplace();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  std::vector<std::string> metrics;
  for (const CounterRow& row : counters()) metrics.emplace_back(row.metric);
  for (const char* chip : {"GA100", "GA102", "AD102", "GH100", "GB100"}) {
    EXPECT_EQ(CounterSession(*cupti, chip, metrics).metrics(), metrics) << chip;
  }
  // Some chips lack some.
  EXPECT_GT(CounterSession(*cupti, "GB202", metrics).metrics().size(), 8u);
  EXPECT_THROW(CounterSession(*cupti, "GH100", {"lts__t_no_such.sum"}), Error);
}

}  // namespace
}  // namespace assay
