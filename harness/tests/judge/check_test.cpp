#include "judge/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;

CheckedOutput output_of(std::vector<std::int64_t> shape) {
  CheckedOutput output;
  output.buffer.name = "C";
  output.shape = std::move(shape);
  output.tolerance.relative_limit = 0.01;
  return output;
}

Comparison clean(std::uint64_t elements) {
  Comparison found;
  found.compared = elements;
  found.squared_reference = static_cast<double>(elements);
  return found;
}

std::string element(std::uint64_t index) { return "element " + std::to_string(index); }

TEST(CoordinateText, CountsRowMajor) {
  EXPECT_EQ(coordinate_text("C", {4, 5}, 0), "C[0,0]");
  EXPECT_EQ(coordinate_text("C", {4, 5}, 5), "C[1,0]");
  EXPECT_EQ(coordinate_text("C", {4, 5}, 19), "C[3,4]");
  EXPECT_EQ(coordinate_text("C", {2, 3, 4}, 23), "C[1,2,3]");
  EXPECT_EQ(coordinate_text("C", {7}, 6), "C[6]");
}

TEST(Judge, AcceptsWhatIsClean) {
  EXPECT_FALSE(comparison_failure(output_of({4, 5}), clean(20), element));
}

TEST(Judge, RefusesAComparisonThatDidNotRun) {
  for (const std::uint64_t compared : {0, 19, 21}) {
    const auto failure = comparison_failure(output_of({4, 5}), clean(compared), element);
    ASSERT_TRUE(failure) << compared;
    EXPECT_EQ(failure->outcome().kind, "mismatch");
    EXPECT_THAT(failure->outcome().message, HasSubstr("the check did not run"));
  }
}

TEST(Judge, UnwrittenComesBeforeMismatch) {
  Comparison found = clean(20);
  found.unwritten = 5;
  found.not_first_unwritten = ~std::uint64_t{7};
  found.bad = 3;
  const auto failure = comparison_failure(output_of({4, 5}), found, element);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->outcome().status, Status::correctness);
  EXPECT_EQ(failure->outcome().kind, "unwritten");
  EXPECT_EQ(failure->outcome().message,
            "C: 5 of 20 elements (25 %) were never written, the first is C[1,2]");
}

TEST(Judge, OneBadElementIsAMismatch) {
  Comparison found = clean(20);
  found.bad = 1;
  found.not_first_bad = ~std::uint64_t{0};  // stored as 0xff..: index 0 must work
  const auto failure = comparison_failure(output_of({4, 5}), found, element);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->outcome().kind, "mismatch");
  EXPECT_THAT(failure->outcome().message, HasSubstr("element 0; 1 of 20"));
}

TEST(Judge, TheNormAloneCanRefuse) {
  Comparison found = clean(100);
  found.squared_error = 100 * 0.011 * 0.011;
  const auto failure = comparison_failure(output_of({100}), found, element);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->outcome().kind, "mismatch");
  found.squared_error = 100 * 0.009 * 0.009;
  EXPECT_FALSE(comparison_failure(output_of({100}), found, element));
}

TEST(RelativeError, IsFiniteForEveryOutput) {
  Comparison found = clean(4);
  EXPECT_EQ(relative_error(found), 0);
  found.squared_reference = 0;
  EXPECT_EQ(relative_error(found), 0);  // zeros that should be zeros
  found.squared_error = 1;
  EXPECT_EQ(relative_error(found), 1e30);
}

TEST(OutputPart, HasItsElementsAndTheirNames) {
  EXPECT_EQ(compared_elements({}, 20), 20);
  EXPECT_EQ(compared_elements({7, true, false}, 20), 7);
  EXPECT_EQ(compared_elements({7, false, true}, 20), 1);
  EXPECT_EQ(part_text({7, false, false}, "C", {4, 5}, 6), "C[1,1]");
  EXPECT_EQ(part_text({7, true, false}, "C", {4, 5}, 6), "sorted C[6]");
  EXPECT_EQ(part_text({0, false, true}, "C", {4, 5}, 0), "the sum of C");
}

TEST(OutputPart, TheErrorOfASumGrowsWithItsTerms) {
  const Tolerance whole = derive_tolerance(DType::f32, sum_of_terms(128), 2);
  const OutputPart sum{0, false, true};
  const Tolerance one = part_tolerance(sum, whole, 2, 1);
  EXPECT_GE(one.element_floor, 2 * whole.relative_limit);
  EXPECT_DOUBLE_EQ(part_tolerance(sum, whole, 2, 100).element_floor, 100 * one.element_floor);
  EXPECT_DOUBLE_EQ(part_tolerance({50, false, true}, whole, 2, 100).element_floor,
                   50 * one.element_floor);
  EXPECT_EQ(part_tolerance({0, true, false}, whole, 2, 100).element_floor, whole.element_floor);
  EXPECT_EQ(part_tolerance(sum, {}, 2, 100).element_floor, 0);  // integers are exact
}

}  // namespace
}  // namespace assay
