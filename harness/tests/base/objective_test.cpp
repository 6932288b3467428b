#include "base/objective.h"

#include <algorithm>

#include "matchers.h"
#include "message_of.h"

namespace assay {
namespace {

using testing::StrEq;

Objective objective(const std::string& text) { return parse_objective(text).value(); }

const NamedFigures kFigures = {
    {"registers", std::int64_t{64}}, {"skew", 0.5}, {"flops", std::int64_t{600}}};

TEST(Objective, IsTimeUnlessSaid) {
  EXPECT_EQ(Objective(), Objective::time);
  EXPECT_EQ(objective("edp"), Objective::edp);
  EXPECT_TRUE(Objective::energy.is_word());
  EXPECT_FALSE(objective("time; energy").is_word());
  EXPECT_FALSE(objective("minimize time_ns").is_word());
}

TEST(Objective, IsWhatItsTextSays) {
  for (const char* text : {"time", "minimize min(time_ns, 5) * 1.5e-3", "maximize flops/energy_j",
                           "time; energy; minimize registers"}) {
    EXPECT_EQ(to_text(objective(text)), text);
  }
  EXPECT_THAT(objective("time; minimize a + b").parts(), ElementsAre("time", "minimize a + b"));
}

TEST(Objective, WhatIsNoneHasNoAnswer) {
  for (const char* text :
       {"", "beauty", "minimize", "minimize ", "minimize 1 +", "minimise time_ns", "time; ",
        "time;energy", "time; time", "minimize f(2)", "time_ns"}) {
    EXPECT_FALSE(parse_objective(text)) << text;
  }
}

TEST(Objective, KnowsTheNamesThatItReads) {
  EXPECT_THAT(objective("time").names(), ElementsAre("time_ns"));
  EXPECT_THAT(objective("edp; time").names(), ElementsAre("energy_j", "time_ns"));
  EXPECT_THAT(objective("maximize max(flops, 2e3) / sqrt (BLOCK_M) - 1e-6").names(),
              ElementsAre("flops", "BLOCK_M"));
  EXPECT_TRUE(Objective::edp.reads("energy_j"));
  EXPECT_FALSE(objective("minimize my_energy_j").reads("energy_j"));
  EXPECT_THAT(objective("time; minimize dram_read + BLOCK_M * l2_to_sm").counters(),
              ElementsAre("dram_read", "l2_to_sm"));
  EXPECT_THAT(objective("edp").counters(), IsEmpty());
}

TEST(Objective, WithoutEnergyIsWhatIsLeftOfIt) {
  EXPECT_EQ(Objective::energy.without_energy(), Objective::time);
  EXPECT_EQ(objective("maximize flops / energy_j").without_energy(), Objective::time);
  EXPECT_EQ(to_text(objective("edp; minimize registers; energy; time").without_energy()),
            "minimize registers; time");
}

TEST(Objective, WordsComeFirstInOrder) {
  std::vector<Objective> all = {objective("minimize a"), Objective::edp, objective("energy; time"),
                                Objective::energy, Objective::time};
  std::sort(all.begin(), all.end());
  std::vector<std::string> texts;
  for (const Objective& one : all) texts.emplace_back(to_text(one));
  EXPECT_THAT(texts, ElementsAre("time", "energy", "edp", "energy; time", "minimize a"));
}

TEST(Metric, ComputesInRealNumbers) {
  EXPECT_EQ(Metric("time", {}).cost(120, 0), 120);
  EXPECT_EQ(Metric("edp", {}).cost(120, 0.5), 60);
  EXPECT_EQ(Metric("minimize time_ns * registers / 128", kFigures).value(3, 0), 1.5);
  EXPECT_EQ(Metric("minimize time_ns + skew", kFigures).cost(3, 0), 3.5);
  EXPECT_EQ(Metric("maximize flops / time_ns", kFigures).value(3, 0), 200);
  EXPECT_EQ(Metric("maximize flops / time_ns", kFigures).cost(3, 0), 1.0 / 200);
  EXPECT_EQ(Metric("minimize registers - 64", kFigures).cost(3, 0), 0);
}

TEST(Metric, SaysWhetherItReadsTheTime) {
  EXPECT_TRUE(Metric("edp", {}).reads_time());
  EXPECT_FALSE(Metric("energy", {}).reads_time());
  EXPECT_FALSE(Metric("minimize registers", kFigures).reads_time());
}

std::string complaint(const std::string& part) {
  return message_of<std::exception>([&] { Metric(part, kFigures).cost(100, 0); });
}

TEST(Metric, RefusesWhatHasNoRatio) {
  EXPECT_THAT(complaint("minimize registers - 65"),
              StrEq("\"registers - 65\" is -1, expected a positive number or 0"));
  EXPECT_THAT(complaint("maximize energy_j"),
              StrEq("\"energy_j\" is 0, expected a positive number"));
  EXPECT_THAT(complaint("minimize 1 / energy_j"), StrEq("\"1 / energy_j\" divides by zero"));
  EXPECT_THAT(complaint("minimize smem_bytes"), StrEq("unknown name \"smem_bytes\""));
  EXPECT_THAT(complaint("minimize energy_j"), IsEmpty());
}

}  // namespace
}  // namespace assay
