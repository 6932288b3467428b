#include "base/counters.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

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
  ASSERT_EQ(counters_of("dram_read").size(), 1u);
  EXPECT_EQ(counters_of("dram_read")[0].metric, "dram__bytes_read.sum");
  EXPECT_EQ(counter_sets().back(), "all");
}

TEST(Counters, DifferByMoreThanAMarginThatFitsThem) {
  EXPECT_EQ(counter_margin("dram_read"), 0.01);
  EXPECT_EQ(counter_margin("dram_write"), 0.15);
  for (const char* name : {"l2_hits", "sm_cycles", "stalled_memory"}) {
    EXPECT_EQ(counter_margin(name), 0.05) << name;
  }
  EXPECT_EQ(counter_margin("registers"), 0);
}

TEST(Counters, AreMadeOfMetrics) {
  const std::vector<std::string> names = {"dram_read", "l2_hits"};
  const std::vector<std::string> metrics = metrics_of(names);
  EXPECT_EQ(metrics,
            (std::vector<std::string>{"dram__bytes_read.sum", "lts__t_sectors_lookup_hit.sum",
                                      "lts__t_sectors_lookup_miss.sum"}));
  EXPECT_THROW(metrics_of({"l2_misses"}), Error);
  EXPECT_EQ(counters_from(names, {{metrics[0], 64}, {metrics[1], 300}, {metrics[2], 100}}),
            (std::vector<Measurement>{{"dram_read", 64, "B"}, {"l2_hits", 75, "%"}}));
  // A tiny launch may have nothing of it, and a GPU may lack a metric.
  EXPECT_EQ(counters_from(names, {{metrics[0], 0}, {metrics[1], 0}, {metrics[2], 0}}),
            (std::vector<Measurement>{{"dram_read", 0, "B"}}));
  EXPECT_TRUE(counters_from(names, {{metrics[1], 300}}).empty());
}

}  // namespace
}  // namespace assay
