#include "support/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/failure.h"

namespace assay {
namespace {

using testing::HasSubstr;

BufferPlan buffer(std::string generator, DType dtype = DType::f32) {
  return {"A", dtype, {8}, Role::in, std::move(generator), {}, false};
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
  EXPECT_EQ(recipe.low, 0);
  EXPECT_EQ(recipe.high, 7);
  EXPECT_EQ(fill_recipe(buffer("uniform")).low, -1);
}

TEST(FillRecipe, RefusesWithASentence) {
  BufferPlan empty = buffer("uniform");
  empty.arguments = {{"low", 3}, {"high", 3}};
  EXPECT_EQ(refusal(empty), "input A: uniform needs low < high, found 3 and 3");
  BufferPlan extra = buffer("normal");
  extra.arguments = {{"low", 3}};
  EXPECT_EQ(refusal(extra), "input A: generator normal has no argument low");
  EXPECT_THAT(refusal(buffer("normal", DType::i32)), HasSubstr("floating-point dtype, not i32"));
  EXPECT_THAT(refusal(buffer("routing")), HasSubstr("routing is reserved"));
  EXPECT_THAT(refusal(buffer("zipf")), HasSubstr("no generator zipf; there are normal, uniform"));
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
