#include "compile/compiler_log.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

// Recorded from CUDA 13.0.
constexpr std::string_view kTwoEntries = R"(
x.cu(2): warning #177-D: variable "unused" was declared but never referenced
  __device__ int helper(int x){int unused=3;return x;}
                                   ^

ptxas info    : 28 bytes gmem, 4 bytes cmem[3]
ptxas info    : Compiling entry function 'b' for 'sm_90a'
ptxas info    : Function properties for b
ptxas         .     800 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 60 registers, used 0 barriers, 800 bytes cumulative stack size, 360 bytes cmem[0]
ptxas info    : Compile time = 100.397 ms
ptxas info    : Compiling entry function 'a' for 'sm_90a'
ptxas info    : Function properties for a
ptxas         .     0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 1 barriers, 400 bytes smem
ptxas info    : Compile time = 1.833 ms

)";

TEST(PtxasReportTest, SeveralEntries) {
  CompileReport report;
  const std::string log = take_ptxas_report(kTwoEntries, report);
  EXPECT_EQ(report.registers, 60);           // the most
  EXPECT_EQ(report.static_smem_bytes, 400);  // the most
  EXPECT_EQ(report.stack_bytes, 800);
  EXPECT_EQ(report.spill_bytes, 12 + 20 + 4);  // the sum
  EXPECT_EQ(log, R"(x.cu(2): warning #177-D: variable "unused" was declared but never referenced
  __device__ int helper(int x){int unused=3;return x;}
                                   ^)");
}

TEST(PtxasReportTest, TheFormOfCuda12) {
  CompileReport report;
  EXPECT_EQ(
      take_ptxas_report("ptxas info    : 0 bytes gmem\n"
                        "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
                        "ptxas info    : Function properties for k\n"
                        "    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n"
                        "ptxas info    : Used 255 registers, 49152 bytes smem, 388 bytes cmem[0]",
                        report),
      "");
  EXPECT_EQ(report.registers, 255);
  EXPECT_EQ(report.spill_bytes, 16);
  EXPECT_EQ(report.stack_bytes, 16);
  EXPECT_EQ(report.static_smem_bytes, 49152);
}

TEST(PtxasReportTest, WhatPtxasAdvisesStays) {
  const std::string advice =
      "ptxas info    : (C7504) Potential Performance Loss: 'setmaxnreg' ignored to maintain "
      "minimum "
      "register requirements.\n"
      "ptxas info    : (C7508) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to insufficient register resources in function 'k'\n"
      "ptxas warning : (C7520) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to ill formed pipeline stage in the function 'k'";
  CompileReport report;
  EXPECT_EQ(
      take_ptxas_report(advice + "\nptxas info    : Used 8 registers, used 0 barriers\n", report),
      advice);
  EXPECT_EQ(report.registers, 8);
}

// A source with such a text had registers, and spills below zero, which decide a tie.
TEST(PtxasReportTest, ASourceCannotWriteIt) {
  const std::string front_end =
      "x.cu(1): warning #1444-D: function \"f\" was declared deprecated (\"\n"
      "ptxas info    : Used 9999 registers\n"
      "    0 bytes stack frame, 2147483647 bytes spill stores, 2147483647 bytes spill loads\")\n"
      "    0 bytes stack frame, [[deprecated(\"\\nptxas info    : ...\")]] void f();\n"
      "      ^";
  CompileReport report;
  EXPECT_EQ(take_ptxas_report(front_end, report), front_end);
  EXPECT_EQ(report, CompileReport());
  EXPECT_EQ(take_ptxas_report(front_end + "\n\nptxas info    : Used 8 registers\n", report),
            front_end);
  EXPECT_EQ(report.registers, 8);
  EXPECT_EQ(report.spill_bytes, 0);
}

TEST(PtxasReportTest, OtherLogsPassUnchanged) {
  for (const std::string log : {"", "x.cu(1): error: nothing called Used 8 registers",
                                "8 bytes smem", "many bytes stack frame, 3 bytes spill stores",
                                "ptxas info    : 99999999999999999999 bytes gmem"}) {
    CompileReport report;
    EXPECT_EQ(take_ptxas_report(log, report), log);
    EXPECT_EQ(report, CompileReport());
  }
}

}  // namespace
}  // namespace assay
