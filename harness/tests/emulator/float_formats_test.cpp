// The formats of floats are tested with the operations of an H200 (h200_operations_test.cpp), in
// which no tf32 is a tie.
#include "emulator/float_formats.h"

#include <gtest/gtest.h>

namespace assay::emulator {
namespace {

TEST(FloatFormats, RoundsTf32InItsRegister) {
  EXPECT_EQ(encode(PtxType::tf32, 1.0), 0x3F800000u);
  EXPECT_EQ(encode(PtxType::tf32, 1 + 0x1p-11, {.rounding = Rounding::nearest_away}), 0x3F802000u);
  EXPECT_EQ(encode(PtxType::tf32, 1 + 0x1p-11), 0x3F800000u);
  EXPECT_EQ(decode(PtxType::tf32, 0x3F801FFF), 1.0);
}

}  // namespace
}  // namespace assay::emulator
