#include "common/swizzle.cuh"

#include <gtest/gtest.h>

#include <set>

namespace {

/// The group of four banks, of eight, that a chunk lies in.
template <int kRowChunks>
int bank_group(int row, int chunk) {
  return (row * kRowChunks + swizzled<kRowChunks>(row, chunk)) % kLineChunks;
}

template <typename Width>
class Swizzle : public testing::Test {};
using Widths = testing::Types<std::integral_constant<int, 1>, std::integral_constant<int, 2>,
                              std::integral_constant<int, 4>, std::integral_constant<int, 8>,
                              std::integral_constant<int, 16>, std::integral_constant<int, 32>,
                              std::integral_constant<int, 64>>;
TYPED_TEST_SUITE(Swizzle, Widths, );

TYPED_TEST(Swizzle, PermutesEachRow) {
  constexpr int kRowChunks = TypeParam::value;
  for (int row = 0; row < 64; ++row) {
    std::set<int> places;
    for (int chunk = 0; chunk < kRowChunks; ++chunk) {
      const int place = swizzled<kRowChunks>(row, chunk);
      ASSERT_TRUE(place >= 0 && place < kRowChunks);
      places.insert(place);
    }
    EXPECT_EQ(places.size(), static_cast<std::size_t>(kRowChunks)) << "row " << row;
  }
}

// ldmatrix reads one chunk from each of eight consecutive rows at once.
TYPED_TEST(Swizzle, EightRowsOfAColumnHitEightBankGroups) {
  constexpr int kRowChunks = TypeParam::value;
  for (int first = 0; first < 64; first += 8) {
    for (int chunk = 0; chunk < kRowChunks; ++chunk) {
      std::set<int> groups;
      for (int row = first; row < first + 8; ++row) {
        groups.insert(bank_group<kRowChunks>(row, chunk));
      }
      EXPECT_EQ(groups.size(), 8u) << "rows from " << first << ", chunk " << chunk;
    }
  }
}

// A 16-byte store is served eight lanes at a time, and consecutive lanes write consecutive chunks.
TYPED_TEST(Swizzle, EightConsecutiveChunksHitEightBankGroups) {
  constexpr int kRowChunks = TypeParam::value;
  for (int first = 0; first < 64 * kRowChunks; first += 8) {
    std::set<int> groups;
    for (int at = first; at < first + 8; ++at) {
      groups.insert(bank_group<kRowChunks>(at / kRowChunks, at % kRowChunks));
    }
    EXPECT_EQ(groups.size(), 8u) << "chunks from " << first;
  }
}

// A warp finds a later step's chunk by XOR on the swizzled offset of its first one.
TYPED_TEST(Swizzle, StepsAreXorOfTheOffset) {
  constexpr int kRowChunks = TypeParam::value;
  for (int row = 0; row < 32; ++row) {
    for (int low = 0; low < 2 && low < kRowChunks; ++low) {
      for (int step = 0; 2 * step + low < kRowChunks; ++step) {
        EXPECT_EQ(swizzled<kRowChunks>(row, 2 * step + low),
                  swizzled<kRowChunks>(row, low) ^ (2 * step));
      }
    }
  }
}

// Fragments of rows 16 apart are read at the same offset within their rows.
TYPED_TEST(Swizzle, RepeatsEverySixteenRows) {
  constexpr int kRowChunks = TypeParam::value;
  for (int row = 0; row < 48; ++row) {
    for (int chunk = 0; chunk < kRowChunks; ++chunk) {
      EXPECT_EQ(swizzled<kRowChunks>(row, chunk), swizzled<kRowChunks>(row + 16, chunk));
    }
  }
}

}  // namespace
