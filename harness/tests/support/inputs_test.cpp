#include "support/inputs.h"

#include <gmock/gmock.h>

#include <set>

#include "launch/failure.h"

namespace assay {
namespace {

BufferPlan buffer(std::string generator, DType dtype = DType::f32) {
  return {"A", dtype, {8}, Role::in, std::move(generator), {}, false};
}

/// A buffer of eight elements for `tokens` rows.
BufferPlan routing(std::int64_t tokens, std::int64_t experts, std::int64_t top) {
  BufferPlan plan = buffer("routing", DType::i32);
  plan.arguments = {{"tokens", tokens}, {"experts", experts}, {"top", top}};
  return plan;
}

std::string refusal(const BufferPlan& plan) {
  try {
    fill_recipe(plan);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.outcome().status, Status::runtime);
    return failure.outcome().message;
  }
  return "accepted";
}

TEST(FillRecipe, UniformTakesItsRange) {
  BufferPlan plan = buffer("uniform", DType::i32);
  plan.arguments = {{"low", 0}, {"high", 7}};
  const FillRecipe recipe = fill_recipe(plan);
  EXPECT_EQ(recipe.generator, Generator::uniform);
  EXPECT_EQ(recipe.first, 0);
  EXPECT_EQ(recipe.second, 7);
  EXPECT_EQ(fill_recipe(buffer("uniform")).first, -1);
}

TEST(FillRecipe, RefusesWithASentence) {
  BufferPlan empty = buffer("uniform");
  empty.arguments = {{"low", 3}, {"high", 3}};
  EXPECT_EQ(refusal(empty), "input A: uniform needs low < high, found 3 and 3");
  EXPECT_EQ(refusal(buffer("routing")), "input A: routing needs tokens, found none");
  EXPECT_EQ(refusal(routing(4, 8, 0)), "input A: routing needs a top of 1 to 8 experts, found 0");
  EXPECT_EQ(refusal(routing(1, 7, 8)), "input A: routing needs a top of 1 to 7 experts, found 8");
  EXPECT_EQ(refusal(routing(3, 8, 2)),
            "input A: routing of 3 tokens to 2 experts each does not fit a buffer of [8]");
  EXPECT_THROW(fill_recipe(buffer("zipf")), UsageError);
}

TEST(FillRecipe, RoutingTakesItsExpertsAndHowManyOfThemATokenHas) {
  const FillRecipe recipe = fill_recipe(routing(4, 16, 2));
  EXPECT_EQ(recipe.generator, Generator::routing);
  EXPECT_EQ(recipe.first, 16);
  EXPECT_EQ(recipe.second, 2);
  EXPECT_EQ(fill_recipe(routing(1, 8, 8)).second, 8);
}

TEST(FillRecipe, TakesRealNumbers) {
  BufferPlan plan = buffer("normal");
  EXPECT_EQ(fill_recipe(plan).first, 0);
  EXPECT_EQ(fill_recipe(plan).second, 1);
  plan.arguments = {{"mean", -0.5}, {"std", 0.125}};
  EXPECT_EQ(fill_recipe(plan).first, -0.5);
  EXPECT_EQ(fill_recipe(plan).second, 0.125);
  plan = buffer("uniform");
  plan.arguments = {{"low", 0.25}, {"high", 0.5}};
  EXPECT_EQ(fill_recipe(plan).second, 0.5);
}

TEST(FillRecipe, RefusesWhatNoNumbersCanBe) {
  BufferPlan plan = routing(4, 16, 2);
  for (const double hit : {2.0, 8.0}) {
    plan.arguments["hit"] = hit;
    EXPECT_EQ(fill_recipe(plan).third, hit);
  }
  for (const double hit : {1.0, 9.0}) {
    plan.arguments["hit"] = hit;
    EXPECT_THAT(refusal(plan), testing::HasSubstr("routing can hit 2 to 8 experts, found"));
  }
  plan = routing(4, 16, 2);
  plan.arguments["skew"] = 1.5;
  EXPECT_EQ(fill_recipe(plan).fourth, 1.5);
  plan.arguments["skew"] = -0.5;
  EXPECT_EQ(refusal(plan), "input A: routing needs a skew of 0 or more, found -0.5");
  plan = buffer("distinct", DType::i32);
  plan.arguments["of"] = 7;
  EXPECT_EQ(refusal(plan), "input A: there are no 8 distinct numbers of 7");
  plan = buffer("row_starts", DType::i32);
  plan.arguments = {{"nonzeros", 10}, {"skew", -0.5}};
  EXPECT_THAT(refusal(plan), testing::HasSubstr("found 10 nonzeros, a skew of -0.5 and [8]"));
}

// `routing` was once a word of the contract that no run could make.
TEST(FillRecipe, KnowsEveryGeneratorOfTheContract) {
  for (const GeneratorRow& row : generators()) {
    BufferPlan plan = buffer(std::string(row.name));
    for (const auto& argument : row.arguments) {
      plan.arguments[argument.name] = static_cast<double>(argument.value.value_or(8));
    }
    if (row.id == Generator::routing) plan.shape = {8, 8};
    EXPECT_EQ(refusal(plan), "accepted") << row.name;
  }
}

TEST(GeneratorKey, DependsOnSeedAndName) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const char* name : {"A", "B", "AB", "BA", ""}) keys.insert(generator_key(seed, name));
  }
  EXPECT_EQ(keys.size(), 500u);
}

}  // namespace
}  // namespace assay
