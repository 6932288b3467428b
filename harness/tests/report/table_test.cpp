#include "report/table.h"

#include <limits>

#include "matchers.h"
#include "report/golden.h"

namespace assay {
namespace {

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

TEST(Table, LeavesOutAColumnThatSaysNothing) {
  Table table({"name", "?>roofline", "?note"});
  table.add_row({"a", "-", ""});
  EXPECT_EQ(table.text(), "name\n----\na\n");
  table.add_row({"b", "97 %", ""});
  EXPECT_EQ(table.text(), "name  roofline\n--------------\na            -\nb         97 %\n");
}

// On a terminal of 80 columns each row of 240 took three lines, broken anywhere.
TEST(Table, FitsTheTerminal) {
  Table table({"problem", "kernel", "configuration", ">time", "remark"});
  table.add_row({"M=16", "gemm", "BM=64 BN=128 ST=3", "11.90 us", "here"});
  table.add_row({"M=4096", "gemm", "BM=128 BN=256 ST=4", "176.1 us", "here"});
  EXPECT_EQ(table.text({40}),
            "kernel: gemm; remark: here\n\n"
            "problem  configuration           time\n"
            "-------------------------------------\n"
            "M=16     BM=64 BN=128 ST=3   11.90 us\n"
            "M=4096   BM=128 BN=256 ST=4  176.1 us\n");
  EXPECT_EQ(table.text({30}),
            "kernel: gemm; remark: here\n\n"
            "problem      time\n"
            "  configuration\n"
            "--------------------\n"
            "M=16     11.90 us\n"
            "  BM=64 BN=128 ST=3\n"
            "M=4096   176.1 us\n"
            "  BM=128 BN=256 ST=4\n");
  EXPECT_THAT(table.text(), HasSubstr("M=16     gemm    BM=64 BN=128 ST=3   11.90 us  here\n"));
  for (std::size_t columns = 20; columns < 80; ++columns) {
    expect_fits(table.text({columns}), columns);
  }
}

TEST(Table, BreaksOnlyWhatNoLineCanHold) {
  Table table({"check", "found"});
  table.add_row({"driver", "575.57 and some words that go on and on beyond the line"});
  table.add_row({"NVRTC", "13.0"});
  EXPECT_EQ(table.text({40}),
            "check   found\n"
            "----------------------------------------\n"
            "driver  575.57 and some words that go on\n"
            "        and on beyond the line\n"
            "NVRTC   13.0\n");
}

TEST(Table, AWordLongerThanTheTerminalIsCut) {
  Table table({"name", "of"});
  table.add_row({std::string(30, 'a'), "b"});
  expect_fits(table.text({20}), 20);
  table.add_row({std::string(19, ' ') + std::string(30, 'a'), "c"});
  expect_fits(table.text({20}), 20);
}

TEST(Table, RowsHaveColorsWhereAskedFor) {
  Table table({"name", "state"});
  table.add_row({"a", "wrong"}, Style::failure);
  table.add_row({"b", "right"});
  EXPECT_EQ(table.text({0, true}),
            "\x1b[1mname  state\x1b[0m\n"
            "-----------\n"
            "\x1b[31ma     wrong\x1b[0m\n"
            "b     right\n");
  EXPECT_THAT(table.text(), Not(HasSubstr("\x1b")));
}

TEST(FormatCount, SeparatesThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(123456789), "123,456,789");
}

// best said "1.01x [1.01, 1.01]" of a kernel that was between 0.7 and 0.9 % faster.
TEST(FormatRatio, NearOneHasTheDigitsOfItsInterval) {
  EXPECT_EQ(format_ratio({1.0081, 1.0072, 1.0089}), "1.008 [1.007, 1.009]");
  EXPECT_EQ(format_ratio({0.99, 0.96, 1.02}), "0.99 [0.96, 1.02]");
  EXPECT_EQ(format_ratio({1.00213, 1.00213, 1.00213}), "1.0021 [1.0021, 1.0021]");
  EXPECT_EQ(format_ratio({1.8512, 1.8511, 1.8513}), "1.85 [1.85, 1.85]");
  EXPECT_EQ(format_ratio({1.25, 0, 0}), "1.25x");
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
  EXPECT_EQ(format_time(999'960'000), "1.000 s");
  EXPECT_EQ(format_time(2.5e9), "2.500 s");
  EXPECT_EQ(format_time(-1500), "-1.500 us");
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
