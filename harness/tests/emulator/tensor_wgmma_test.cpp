#include "emulator/tensor_product.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <numeric>
#include <random>

#include "emulator/tensor_map.h"

namespace assay::emulator {
namespace {

std::uint32_t bf16(float value) { return std::bit_cast<std::uint32_t>(value) >> 16; }

/// A warpgroup's accumulators.
struct Accumulators {
  explicit Accumulators(int registers) : words(static_cast<std::size_t>(registers) * 4) {
    for (WarpWords& register_words : words) {
      register_words.fill(0);
      pointers.push_back(&register_words);
    }
  }
  /// Element (row, column) of f32 sums, by the formula of the PTX manual.
  float at(int row, int column) const {
    const int registers = static_cast<int>(words.size()) / 4;
    const int lane = row % 8 * 4 + column % 8 / 2;
    const int index = column / 8 * 4 + (row % 16 >= 8 ? 2 : 0) + column % 2;
    return std::bit_cast<float>(words[row / 16 * registers + index][lane]);
  }
  std::vector<WarpWords> words;
  std::vector<WarpWords*> pointers;
};

std::vector<std::byte> gather(const std::vector<std::byte>& memory,
                              const std::vector<std::uint32_t>& chunks) {
  std::vector<std::byte> bytes;
  for (const std::uint32_t chunk : chunks) {
    bytes.insert(bytes.end(), &memory[chunk], &memory[chunk] + 16);
  }
  return bytes;
}

std::uint64_t descriptor(std::uint32_t start, std::uint32_t leading, std::uint32_t stride,
                         std::uint64_t mode) {
  return start >> 4 | static_cast<std::uint64_t>(leading >> 4) << 16 |
         static_cast<std::uint64_t>(stride >> 4) << 32 | mode << 62;
}

/// A matrix [outer][16] of small integers, put in memory as the kernels of this repository and
/// CUTLASS do: in swizzled panels, whose chunks a copy engine permutes by the number of their line.
struct Case {
  bool transposed;
  int mode;  // of the descriptor
};

class WgmmaLayouts : public testing::TestWithParam<Case> {};

TEST_P(WgmmaLayouts, MultipliesWhatLiesInCanonicalLayouts) {
  const auto [transposed, mode] = GetParam();
  constexpr int kColumns = 32, kDepth = 16;
  const int line_bytes = mode == 0 ? 16 : 256 >> mode;
  std::mt19937 random(mode * 2 + transposed);
  std::vector<int> a(64 * kDepth), b(kColumns * kDepth);
  for (int& element : a) element = static_cast<int>(random() % 9) - 4;
  for (int& element : b) element = static_cast<int>(random() % 9) - 4;

  std::vector<std::byte> memory(1 << 16);
  // Where element (outer, k) lies from `start` on, and the descriptor's two offsets.
  const std::uint32_t panel = static_cast<std::uint32_t>(line_bytes) * 16;
  const auto offset = [&](int outer, int k) -> std::uint32_t {
    if (!transposed && mode == 0)
      return outer / 8 * 128 + outer % 8 * 16 + k / 8 * 4096 + k % 8 * 2;
    if (!transposed) return outer * line_bytes + k * 2;
    const int per_line = line_bytes / 2;
    return outer / per_line * panel + k * line_bytes + outer % per_line * 2;
  };
  const auto put = [&](std::uint32_t start, int outer, int k, int value) {
    const std::uint32_t linear = start + offset(outer, k);
    const std::uint32_t line = linear / 128, chunk = linear / 16 % 8;
    const std::uint32_t permuted = chunk ^ line % (line_bytes / 16);
    const auto word = static_cast<std::uint16_t>(bf16(static_cast<float>(value)));
    std::memcpy(&memory[line * 128 + permuted * 16 + linear % 16], &word, 2);
  };
  constexpr std::uint32_t kA = 8192, kB = 32768;
  for (int k = 0; k < kDepth; ++k) {
    for (int row = 0; row < 64; ++row) put(kA, row, k, a[row * kDepth + k]);
    for (int column = 0; column < kColumns; ++column) put(kB, column, k, b[column * kDepth + k]);
  }
  std::uint32_t leading = 4096, stride = line_bytes * 8;
  if (transposed) leading = mode == 0 ? 128 : panel, stride = mode == 0 ? panel : line_bytes * 8;

  const SharedOperand a_operand{take_apart_descriptor(descriptor(kA, leading, stride, mode)), 64, 2,
                                transposed};
  const SharedOperand b_operand{take_apart_descriptor(descriptor(kB, leading, stride, mode)),
                                kColumns, 2, transposed};
  const auto a_bits = operand_elements(a_operand, gather(memory, operand_chunks(a_operand)));
  const auto b_bits = operand_elements(b_operand, gather(memory, operand_chunks(b_operand)));
  Accumulators sums(kColumns / 2);
  FragmentProduct product;
  product.columns = kColumns;
  multiply_fragments(product, a_bits.data(), b_bits.data(), sums.pointers);
  multiply_fragments(product, a_bits.data(), b_bits.data(), sums.pointers);  // adds
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      const int sum =
          std::inner_product(&a[row * kDepth], &a[row * kDepth] + kDepth, &b[column * kDepth], 0);
      ASSERT_EQ(sums.at(row, column), 2 * sum) << row << " " << column;
    }
  }
  product.accumulates = false;
  product.negates_b = true;
  multiply_fragments(product, a_bits.data(), b_bits.data(), sums.pointers);
  const int first = std::inner_product(&a[0], &a[0] + kDepth, &b[0], 0);
  EXPECT_EQ(sums.at(0, 0), -first);
}

INSTANTIATE_TEST_SUITE_P(All, WgmmaLayouts,
                         testing::Values(Case{false, 0}, Case{false, 1}, Case{false, 2},
                                         Case{false, 3}, Case{true, 0}, Case{true, 1},
                                         Case{true, 2}, Case{true, 3}));

/// A from registers is A's fragment of mma.sync in each warp: the same product as from memory.
TEST(Wgmma, TakesAFromRegisters) {
  std::vector<WarpWords> words(16);
  std::vector<const WarpWords*> pointers;
  for (int i = 0; i < 16; ++i) {
    for (int lane = 0; lane < 32; ++lane) {
      const int row = i / 4 * 16 + i % 2 * 8 + lane / 4, column = i % 4 / 2 * 8 + lane % 4 * 2;
      words[i][lane] = bf16(static_cast<float>(row)) | bf16(static_cast<float>(column)) << 16;
    }
    pointers.push_back(&words[i]);
  }
  const std::vector<std::uint32_t> elements = a_elements(2, 4, pointers);
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < 16; column += 2) {
      EXPECT_EQ(elements[row * 16 + column], bf16(static_cast<float>(row)));
      EXPECT_EQ(elements[row * 16 + column + 1], bf16(static_cast<float>(column)));
    }
  }
}

}  // namespace
}  // namespace assay::emulator
