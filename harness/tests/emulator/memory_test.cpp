#include "emulator/memory.h"

#include <gmock/gmock.h>

#include <cstring>
#include <vector>

namespace assay::emulator {
namespace {

using testing::HasSubstr;

constexpr std::size_t kPage = Memory::kPageBytes;

TEST(Memory, AnAllocationMayBeReadAndWrittenUpToItsLastByte) {
  Memory memory(1 << 20);
  const std::uint64_t data = memory.allocate(1000);
  ASSERT_NE(data, 0u);
  EXPECT_EQ(data % 512, 0u);
  std::memset(reinterpret_cast<void*>(data), 7, 1000);
  EXPECT_NE(memory.find(data, 1000, MemoryAccess::write), nullptr);
  EXPECT_NE(memory.find(data + 996, 4, MemoryAccess::read), nullptr);
  EXPECT_EQ(memory.find(data + 997, 4, MemoryAccess::read), nullptr);
  EXPECT_EQ(memory.find(data - 1, 1, MemoryAccess::read), nullptr);
  EXPECT_EQ(memory.find(data + 1000, 1, MemoryAccess::read), nullptr);
  EXPECT_EQ(memory.find(data, ~std::size_t{0}, MemoryAccess::read), nullptr);
  EXPECT_EQ(memory.find(0, 1, MemoryAccess::read), nullptr);
  EXPECT_EQ(memory.find(~std::uint64_t{0}, 4, MemoryAccess::read), nullptr);
}

TEST(Memory, WhatWasFreedIsNobodysAndOtherAddressesComeFirst) {
  Memory memory(1 << 20);
  const std::uint64_t first = memory.allocate(kPage);
  EXPECT_TRUE(memory.free(first));
  EXPECT_EQ(memory.find(first, 1, MemoryAccess::read), nullptr);
  EXPECT_FALSE(memory.free(first));
  EXPECT_FALSE(memory.free(0));
  EXPECT_NE(memory.allocate(kPage), first);
  EXPECT_EQ(memory.free_bytes(), memory.capacity_bytes() - kPage);
}

TEST(Memory, NoMoreIsGivenOutThanThereIs) {
  Memory memory(16 * kPage);
  const std::uint64_t all = memory.allocate(16 * kPage);
  ASSERT_NE(all, 0u);
  EXPECT_EQ(memory.allocate(1), 0u);
  EXPECT_TRUE(memory.free(all));
  for (int i = 0; i < 1000; ++i) {  // around the end of the addresses
    const std::uint64_t again = memory.allocate(3 * kPage);
    ASSERT_NE(again, 0u) << i;
    std::memset(reinterpret_cast<void*>(again), 1, 3 * kPage);
    ASSERT_TRUE(memory.free(again));
  }
}

TEST(Memory, MappedMemoryHasTheRightsThatItWasGivenAndNoNeighbours) {
  Memory memory(1 << 20);
  const std::uint64_t begin = memory.reserve(3 * kPage);
  ASSERT_NE(begin, 0u);
  const std::uint64_t data = begin + kPage;
  EXPECT_EQ(memory.find(data, 1, MemoryAccess::read), nullptr);
  ASSERT_TRUE(memory.map(data, kPage));
  EXPECT_FALSE(memory.map(data, kPage));
  EXPECT_FALSE(memory.map(begin + 3 * kPage, kPage));
  EXPECT_EQ(memory.find(data, 1, MemoryAccess::read), nullptr);
  ASSERT_TRUE(memory.allow(data, kPage, true, false));
  EXPECT_NE(memory.find(data, kPage, MemoryAccess::read), nullptr);
  EXPECT_EQ(memory.find(data, 1, MemoryAccess::write), nullptr);
  EXPECT_EQ(memory.find(data + kPage, 1, MemoryAccess::read), nullptr);
  EXPECT_FALSE(memory.allow(begin, kPage, true, true));
  EXPECT_FALSE(memory.release(begin, 3 * kPage)) << "mapped memory is in it";
  EXPECT_TRUE(memory.unmap(data, kPage));
  EXPECT_TRUE(memory.release(begin, 3 * kPage));
  EXPECT_EQ(memory.free_bytes(), memory.capacity_bytes());
}

TEST(Memory, SaysWhereAnAddressLies) {
  Memory memory(1 << 20);
  const std::uint64_t data = memory.allocate(1000);
  EXPECT_THAT(memory.describe(data + 40), HasSubstr("byte 40 of 1000 bytes at"));
  EXPECT_THAT(memory.describe(data + 40), HasSubstr("which may be read and written"));
  EXPECT_THAT(memory.describe(data + 1008), HasSubstr("8 bytes behind the end of 1000 bytes"));
  EXPECT_THAT(memory.describe(data - 4), HasSubstr("4 bytes before 1000 bytes"));
  EXPECT_EQ(memory.describe(16), "in no memory of the device");
}

TEST(Memory, FindsMemoryThatIsSomebodyElses) {
  std::vector<std::byte> first(64), second(64);
  Memory memory;
  for (const auto* bytes : {&first, &second}) {
    const auto begin = reinterpret_cast<std::uint64_t>(bytes->data());
    memory.add({begin, begin + 64, true, bytes == &first});
  }
  const auto at = reinterpret_cast<std::uint64_t>(second.data());
  EXPECT_NE(memory.find(at + 60, 4, MemoryAccess::read), nullptr);
  EXPECT_EQ(memory.find(at + 61, 4, MemoryAccess::read), nullptr);
  EXPECT_EQ(memory.find(at, 4, MemoryAccess::write), nullptr);
  memory.remove(at);
  EXPECT_EQ(memory.find(at, 4, MemoryAccess::read), nullptr);
  EXPECT_EQ(memory.allocate(1), 0u);
}

// A fill kernel with a little local memory of its own ran between two launches. What lay behind it
// in each thread's memory was then lost, and the first bytes went to other threads.
TEST(LeftLocal, KeepsWhatLiesBehindTheMemoryOfASmallerKernel) {
  const auto bytes = [](std::initializer_list<int> values) {
    std::vector<std::byte> result;
    for (const int value : values) result.push_back(static_cast<std::byte>(value));
    return result;
  };
  LeftLocal left;
  EXPECT_EQ(left.take(0, 2, 2), bytes({255, 255, 255, 255}));
  left.leave(0, 3, bytes({1, 2, 3, 4, 5, 6}));
  left.leave(1, 1, bytes({70}));
  EXPECT_EQ(left.take(0, 2, 1), bytes({1, 4}));
  left.leave(0, 1, bytes({8, 9}));
  EXPECT_EQ(left.take(0, 2, 3), bytes({8, 2, 3, 9, 5, 6}));
  EXPECT_EQ(left.take(0, 3, 2), bytes({8, 2, 9, 5, 255, 255}));
}

}  // namespace
}  // namespace assay::emulator
