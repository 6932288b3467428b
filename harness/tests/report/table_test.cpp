#include "report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

namespace assay {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(Table, AlignsWordsLeftAndNumbersRight) {
  Table table({"name", ">count"});
  table.add_row({"a", "1"});
  table.add_row({"longer", "1000"});
  EXPECT_EQ(table.text(),
            "name    count\n"
            "-------------\n"
            "a           1\n"
            "longer   1000\n");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table({"name", ">n"});
  table.add_row({"\xC2\xB5s", "1"});
  table.add_row({"us", "2"});
  EXPECT_THAT(table.text(), EndsWith("\xC2\xB5s    1\nus    2\n"));
}

TEST(Table, PadsShortRowsAndLeavesNoSpacesAtLineEnds) {
  Table table({"a", "b", "c"});
  table.add_row({"x"});
  EXPECT_THAT(table.text(), EndsWith("\nx\n"));
}

TEST(Table, WithoutRowsIsItsHeader) { EXPECT_EQ(Table({"a", ">b"}).text(), "a  b\n----\n"); }

TEST(Table, NoCellForgesARowOrCommandsTheTerminal) {
  Table table({"name", ">value"});
  table.add_row({"a\nb\x1b[2J", "1\t2"});
  EXPECT_EQ(table.text(),
            "name     value\n"
            "--------------\n"
            "a?b?[2J    1?2\n");
}

TEST(FormatTime, ChoosesTheUnitSoThatDigitsStayFew) {
  EXPECT_EQ(format_time(0), "0.00 ns");
  EXPECT_EQ(format_time(999.9), "999.9 ns");
  EXPECT_EQ(format_time(999.96), "1.000 us");
  EXPECT_EQ(format_time(1234.6), "1.235 us");
  EXPECT_EQ(format_time(176'123), "176.1 us");
  EXPECT_EQ(format_time(999'960), "1.000 ms");
  EXPECT_EQ(format_time(2.5e9), "2.500 s");
  EXPECT_EQ(format_time(-1500), "-1.500 us");
}

TEST(FormatTime, NeverPrintsAThousandOfAUnit) {
  for (double ns = 1; ns < 1e10; ns *= 1.0007) {
    double shown = 0;
    std::istringstream(format_time(ns)) >> shown;
    EXPECT_LT(shown, 1000) << ns;
    EXPECT_GE(shown, 1) << ns;
  }
}

TEST(FormatTime, ShowsADashForWhatIsNotKnown) {
  EXPECT_EQ(format_time(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(format_time(std::nan("")), "-");
}

TEST(FormatEnergy, HasThreeDigitsInMillijoulesOrJoules) {
  EXPECT_EQ(format_energy(0.00312), "3.12 mJ");
  EXPECT_EQ(format_energy(0.1), "100 mJ");
  EXPECT_EQ(format_energy(0.9994), "999 mJ");
  EXPECT_EQ(format_energy(0.9996), "1.00 J");
  EXPECT_EQ(format_energy(2.5), "2.50 J");
  EXPECT_EQ(format_energy(0.0312), "31.2 mJ");
  EXPECT_EQ(format_energy(0.000612), "0.612 mJ");
  EXPECT_EQ(format_energy(std::nan("")), "-");
}

TEST(FormatPercent, IsWhole) {
  EXPECT_EQ(format_percent(0.814), "81 %");
  EXPECT_EQ(format_percent(1), "100 %");
  EXPECT_EQ(format_percent(std::numeric_limits<double>::infinity()), "-");
}

TEST(FormatRate, ScalesByThousands) {
  EXPECT_EQ(format_rate(1.1e12, "FLOP/s"), "1.10 TFLOP/s");
  EXPECT_EQ(format_rate(3.3e9, "B/s"), "3.30 GB/s");
  EXPECT_EQ(format_rate(999.6e9, "B/s"), "1.00 TB/s");
  EXPECT_EQ(format_rate(0, "B/s"), "0.00 B/s");
}

TEST(FormatBytes, ScalesBy1024) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(65536), "64.0 KiB");
  EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1.0 MiB");
}

}  // namespace
}  // namespace assay
