#include "common/tf32/parts.cuh"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <tuple>

namespace {

float to_tf32(float x) { return std::bit_cast<float>(tf32_bits(std::bit_cast<std::uint32_t>(x))); }

TEST(Tf32, IsTheNearestFloatOfTenBitsBehindThePoint) {
  for (float x = 1; x < 2; x += 0x1p-13f) {
    for (const float y : {x, -x, x * 0x1p-40f, x * 0x1p60f}) {
      const float spacing = std::ldexp(0x1p-10f, std::ilogb(y));
      const float near = to_tf32(y);
      EXPECT_EQ(std::remainder(near, spacing), 0) << y;
      EXPECT_LE(std::abs(near - y), spacing / 2) << y;
    }
  }
}

TEST(Tf32, SplitsAFloatIntoPartsThatLackTwoOfItsBitsAtMost) {
  for (float x = 1; x < 2; x += 0x1p-16f) {
    const float value = x + 0x1p-22f, big = to_tf32(value), small = to_tf32(value - big);
    EXPECT_LE(std::abs(value - big - small), value * 0x1p-22f) << value;
  }
}

/// What each slice multiplies: part of A, part of B, slice of K.
template <int kProducts>
std::multiset<std::tuple<Part, Part, int>> walked(int slices, bool backwards) {
  const Products<kProducts> products = {slices};
  std::multiset<std::tuple<Part, Part, int>> seen;
  for (int slice = 0; slice < kProducts * slices; ++slice) {
    seen.emplace(products.of_a(slice), products.of_b(slice), products.of_k(slice, backwards));
  }
  return seen;
}

TEST(Tf32, ProductsMeetEachSliceOfKOnceEitherWay) {
  for (const int slices : {1, 2, 7}) {
    std::multiset<std::tuple<Part, Part, int>> once, thrice;
    for (int k = 0; k < slices; ++k) {
      once.emplace(Part::big, Part::big, k);
      thrice.emplace(Part::big, Part::big, k);
      thrice.emplace(Part::big, Part::small, k);
      thrice.emplace(Part::small, Part::big, k);
    }
    for (const bool backwards : {false, true}) {
      EXPECT_EQ(walked<1>(slices, backwards), once);
      EXPECT_EQ(walked<3>(slices, backwards), thrice);
    }
  }
}

// Small ones that came last would each cut the whole sum off.
TEST(Tf32, SmallProductsComeFirst) {
  const Products<3> products = {5};
  for (int slice = 0; slice < 15; ++slice) {
    const bool small = products.of_a(slice) == Part::small || products.of_b(slice) == Part::small;
    EXPECT_EQ(small, slice < 10);
  }
}

}  // namespace
