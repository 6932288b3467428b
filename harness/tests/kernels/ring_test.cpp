#include "common/wgmma/ring.cuh"

#include <gtest/gtest.h>

namespace {

template <int kStages>
void walk() {
  RingPlace<kStages> place;
  for (int step = 0; step < 100; ++step) {
    EXPECT_EQ(place.stage, step % kStages);
    EXPECT_EQ(place.parity, static_cast<unsigned>(step / kStages % 2)) << "step " << step;
    place.advance();
  }
}

TEST(RingPlace, GoesAroundAndFlipsItsParityEachTime) {
  walk<1>();
  walk<2>();
  walk<3>();
  walk<8>();
}

TEST(RingPlace, SkipIsAsManyAdvances) {
  for (int start = 0; start < 12; ++start) {
    for (int count = 0; count < 40; ++count) {
      RingPlace<5> stepped, skipped;
      for (int i = 0; i < start; ++i) {
        stepped.advance();
        skipped.advance();
      }
      for (int i = 0; i < count; ++i) stepped.advance();
      skipped.skip(count);
      ASSERT_EQ(skipped.stage, stepped.stage) << start << " + " << count;
      ASSERT_EQ(skipped.parity, stepped.parity) << start << " + " << count;
    }
  }
}

}  // namespace
