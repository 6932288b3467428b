#include "judge/check.h"

#include <cmath>
#include <functional>

#include "matchers.h"

namespace assay {
namespace {

CheckedOutput output_of(std::vector<std::int64_t> shape) {
  CheckedOutput output;
  output.buffer.name = "C";
  output.shape = std::move(shape);
  output.tolerance.relative_limit = output.tolerance.across_limit = 0.01;
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

// A product of f32 that leaves half of the small parts out is within the limit of the norm where
// sums are long, since truncation is as large. But it does not point along the result.
TEST(Judge, WhatIsNotAlongTheResultHasALimitOfItsOwn) {
  CheckedOutput output = output_of({100});
  output.tolerance.across_limit = 0.005;
  Comparison found = clean(100);
  found.squared_error = found.scaled_error = 100 * 0.009 * 0.009;
  found.scaled_reference = 100;
  found.scaled_product = -100 * 0.009 * 0.87;
  EXPECT_NEAR(error_across(found), 0.009 * std::sqrt(1 - 0.87 * 0.87), 1e-12);
  EXPECT_FALSE(comparison_failure(output, found, element));
  found.scaled_product = 0;
  const auto failure = comparison_failure(output, found, element);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->outcome().kind, "mismatch");
  EXPECT_THAT(failure->outcome().message, HasSubstr("does not point along the result"));
}

TEST(ErrorAcross, IsFiniteForEveryOutput) {
  Comparison found = clean(4);
  EXPECT_EQ(error_across(found), 0);
  found.scaled_reference = 1;
  found.scaled_error = 4e90;
  found.scaled_product = 1e30;
  EXPECT_LE(error_across(found), 1e30);
  found.scaled_reference = found.squared_reference = 0;
  found.squared_error = 1;
  EXPECT_EQ(error_across(found), 1e30);
}

TEST(RelativeError, IsFiniteForEveryOutput) {
  Comparison found = clean(4);
  EXPECT_EQ(relative_error(found), 0);
  found.squared_reference = 0;
  EXPECT_EQ(relative_error(found), 0);  // zeros that should be zeros
  found.squared_error = 1;
  EXPECT_EQ(relative_error(found), 1e30);
}

TEST(Validation, ErrorsOnSeveralInputsAreSummedUp) {
  std::vector<Validation> found(3);
  EXPECT_EQ(errors_text(found), "");
  found[0].relative_error = 0.001;
  found[1].relative_error = 0.004;
  found[2].relative_error = 0.001;
  found[1].worst_element_ratio = 0.25;
  found[2].worst_element_ratio = 0.5;
  EXPECT_EQ(
      errors_text(found),
      "relative error 0.002 on average, deviation 0.0014, at most 0.004; worst element 0.5 of "
      "its bound");
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
  const Tolerance whole = derive_tolerance(DType::f32, sum_of_terms(128), {100, 2});
  const OutputPart sum{0, false, true};
  const Tolerance one = part_tolerance(sum, whole, 2, 1);
  EXPECT_GE(one.element.at(0), 2 * whole.relative_limit);
  EXPECT_DOUBLE_EQ(part_tolerance(sum, whole, 2, 100).element.at(0), 100 * one.element.at(0));
  EXPECT_DOUBLE_EQ(part_tolerance({50, false, true}, whole, 2, 100).element.at(0),
                   50 * one.element.at(0));
  EXPECT_EQ(part_tolerance({0, true, false}, whole, 2, 100).element.at(1), whole.element.at(1));
  EXPECT_EQ(part_tolerance(sum, {}, 2, 100).element.at(0), 0);  // integers are exact
}

/// What is said of an output of 16 rows and 24 columns where `is_bad`.
std::string said(const std::function<bool(int row, int column)>& is_bad) {
  std::vector<std::int64_t> bad;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 24; ++column) {
      if (is_bad(row, column)) bad.push_back(24 * row + column);
    }
  }
  return pattern_of({2, 8, 24}, bad);
}

TEST(BadElements, SaysWhereTheyAre) {
  EXPECT_EQ(said([](int, int) { return true; }), "wrong are all elements");
  EXPECT_EQ(said([](int, int column) { return column >= 16; }),
            "wrong are the last 8 columns (from 16 on)");
  EXPECT_EQ(said([](int row, int) { return row % 2 == 1; }), "wrong is every second row from 1 on");
  EXPECT_EQ(said([](int, int column) { return column % 4 == 0; }),
            "wrong is every 4th column from 0 on");
  EXPECT_EQ(said([](int row, int column) { return row < 4 && column / 8 == 1; }),
            "wrong are columns 8 to 15 of rows 0 to 3");
  EXPECT_EQ(said([](int row, int column) { return row == 3 && column == 5; }),
            "wrong is column 5 of row 3");
  EXPECT_EQ(said([](int row, int column) { return row == column && row < 3; }),
            "wrong elements are among columns 0 to 2 of rows 0 to 2");
  EXPECT_EQ(said([](int row, int) { return row == 1 || row == 2 || row == 7; }),
            "wrong are 3 of 16 rows (1 to 7)");
  EXPECT_EQ(said([](int row, int column) { return row <= column; }),
            "wrong elements are in all rows and columns");
}

TEST(BadElements, OneDimensionHasElements) {
  EXPECT_EQ(pattern_of({10}, {8, 9}), "wrong are the last 2 elements (from 8 on)");
  EXPECT_EQ(pattern_of({10}, {3}), "wrong is element 3");
}

}  // namespace
}  // namespace assay
