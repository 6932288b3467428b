#include "emulator/tensor_wgmma.h"

#include <cstring>

#include "emulator/tensor_map.h"

namespace assay::emulator {

namespace {

constexpr int kStepBytes = 32;  // of k, of one instruction
constexpr std::uint32_t kStepChunks = kStepBytes / kChunkBytes;

}  // namespace

MatrixDescriptor take_apart_descriptor(std::uint64_t descriptor) {
  const auto field = [descriptor](int first) {
    return static_cast<std::uint32_t>(descriptor >> first & 0x3FFF) << 4;
  };
  constexpr int kSwizzles[] = {0, 128, 64, 32};
  return {field(0), field(16), field(32), static_cast<int>(descriptor >> 49 & 7),
          kSwizzles[descriptor >> 62]};
}

std::vector<std::uint32_t> operand_chunks(const SharedOperand& operand) {
  const MatrixDescriptor& d = operand.descriptor;
  std::vector<std::uint32_t> chunks;
  const auto add = [&](std::uint32_t offset) {
    // Lines are counted from where base_offset says, and addresses wrap round at 256 KiB.
    const std::uint32_t lines = static_cast<std::uint32_t>(d.base_offset) << 7;
    const std::uint32_t address = (d.start + offset) & 0x3FFFF;
    chunks.push_back(swizzled_address(address - lines, d.swizzle_bytes) + lines);
  };
  if (!operand.transposed) {
    // Rows of the swizzle's size, eight to a group; without swizzle each chunk of a row lies
    // `leading` behind the one before.
    const std::uint32_t row_bytes = d.swizzle_bytes == 0 ? kChunkBytes : d.swizzle_bytes;
    const std::uint32_t next = d.swizzle_bytes == 0 ? d.leading : kChunkBytes;
    for (int row = 0; row < operand.outer; ++row) {
      for (std::uint32_t chunk = 0; chunk < kStepChunks; ++chunk) {
        add(row / 8 * d.stride + row % 8 * row_bytes + chunk * next);
      }
    }
    return chunks;
  }
  // Lines of k, each of which has as many bytes along the outer dimension as the swizzle; eight of
  // them to a group. Without swizzle the two offsets change places.
  const std::uint32_t line_bytes = d.swizzle_bytes == 0 ? kChunkBytes : d.swizzle_bytes;
  const std::uint32_t along_outer = d.swizzle_bytes == 0 ? d.stride : d.leading;
  const std::uint32_t along_k = d.swizzle_bytes == 0 ? d.leading : d.stride;
  const std::uint32_t per_line = line_bytes / kChunkBytes;
  const int k = kStepBytes / operand.element_bytes;
  for (int i = 0; i < k; ++i) {
    for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(operand.outer) / 8; ++chunk) {
      add(chunk / per_line * along_outer + chunk % per_line * kChunkBytes + i / 8 * along_k +
          i % 8 * line_bytes);
    }
  }
  return chunks;
}

std::vector<std::uint32_t> operand_elements(const SharedOperand& operand,
                                            std::span<const std::byte> chunks) {
  const int k = kStepBytes / operand.element_bytes;
  std::vector<std::uint32_t> elements(static_cast<std::size_t>(operand.outer) * k);
  const std::byte* next = chunks.data();
  for (std::size_t i = 0; i < elements.size(); ++i, next += operand.element_bytes) {
    std::uint32_t element = 0;
    std::memcpy(&element, next, operand.element_bytes);
    const std::size_t at = operand.transposed ? i % operand.outer * k + i / operand.outer : i;
    elements[at] = element;
  }
  return elements;
}

std::vector<std::uint32_t> register_elements(int element_bytes,
                                             std::span<const WarpWords* const> registers) {
  const int k = kStepBytes / element_bytes;
  std::vector<std::uint32_t> elements(static_cast<std::size_t>(64) * k);
  for (std::size_t warp = 0; warp < 4; ++warp) {
    std::array<WarpWords, 4> words;
    for (std::size_t r = 0; r < 4; ++r) words[r] = *registers[warp * 4 + r];
    a_elements(element_bytes, words, elements.data() + warp * 16 * k);
  }
  return elements;
}

void warpgroup_multiply(const WarpgroupProduct& product, const std::uint32_t* a,
                        const std::uint32_t* b, std::span<WarpWords* const> d) {
  const ProductTypes& types = product.types;
  const int k = kStepBytes / factor_bytes(types.a);
  const int columns = product.columns;
  const bool half = types.sum == SumType::f16;
  const int per_word = half ? 2 : 1;
  const int registers = columns / 2 / per_word;
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(64) * columns);
  const auto exchange = [&](auto&& move) {
    for (int warp = 0; warp < 4; ++warp) {
      for (int r = 0; r < registers; ++r) {
        // Of every 8 columns a lane has two of one row and two of the row 8 below.
        const int pair = half ? r : r / 2;
        for (int lane = 0; lane < 32; ++lane) {
          const int row = warp * 16 + pair % 2 * 8 + lane / 4;
          const int column = pair / 2 * 8 + lane % 4 * 2 + (half ? 0 : r % 2);
          move((*d[warp * registers + r])[lane], &sums[row * columns + column]);
        }
      }
    }
  };
  if (product.accumulate) {
    exchange([&](std::uint32_t word, std::uint32_t* sum) {
      sum[0] = half ? word & 0xFFFF : word;
      if (half) sum[1] = word >> 16;
    });
  }
  multiply(types, take_apart(types.a, Side::a, 64, k, a, product.negate_a),
           take_apart(types.b, Side::b, columns, k, b, product.negate_b), sums.data());
  exchange([&](std::uint32_t& word, const std::uint32_t* sum) {
    word = half ? sum[1] << 16 | sum[0] : sum[0];
  });
}

}  // namespace assay::emulator
