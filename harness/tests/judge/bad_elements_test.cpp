
#include <gtest/gtest.h>

#include <functional>

#include "judge/check.h"

namespace assay {
namespace {

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
