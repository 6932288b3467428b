#include "emulator/tensor_product.h"

#include <bit>
#include <cstring>

#include "emulator/tensor_map.h"

namespace assay::emulator {
namespace {

constexpr int kStepBytes = 32;  // of k, of one wgmma

Matrix8 flipped(const Matrix8& rows) {
  Matrix8 result;
  for (std::size_t i = 0; i < 64; ++i) result[i / 8][i % 8] = rows[i % 8][i / 8];
  return result;
}

/// mma.sync of e4m3 and e5m2, as an H200 does it: the factors become f16, the products of the first
/// two of each four along k are added up, then those of the others, and what comes of it to c.
void multiply_as_halves(const FragmentProduct& product, const std::uint32_t* a,
                        const std::uint32_t* b, std::span<std::uint32_t> sums) {
  const int k = product.k;
  const auto ordered = [k](const std::uint32_t* bits, int rows) {
    std::vector<std::uint32_t> result(bits, bits + rows * k);
    for (int row = 0; row < rows; ++row) {
      for (int i = 0; i < k; ++i) {
        result[row * k + i % 4 / 2 * (k / 2) + i / 4 * 2 + i % 2] = bits[row * k + i];
      }
    }
    return result;
  };
  ProductTypes products = product.types;
  products.sum = PtxType::f32;
  std::vector<std::uint32_t> made(sums.size());
  multiply(products, take_apart(products.a, Side::a, 16, k, ordered(a, 16).data()),
           take_apart(products.b, Side::b, 8, k, ordered(b, 8).data()), made.data());
  const PtxType format = product.types.sum;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const double sum = decode(format, sums[i]) + decode(PtxType::f32, made[i]);
    sums[i] = static_cast<std::uint32_t>(encode(format, static_cast<float>(sum)));
  }
}

}  // namespace

// The words of the lanes, one after the other, are the matrix as it lies in memory.

WarpWords load_matrix(const Matrix8& rows, bool transposed) {
  return std::bit_cast<WarpWords>(transposed ? flipped(rows) : rows);
}

Matrix8 store_matrix(const WarpWords& words, bool transposed) {
  const auto rows = std::bit_cast<Matrix8>(words);
  return transposed ? flipped(rows) : rows;
}

std::vector<std::uint32_t> fragment_elements(const FragmentLayout& layout,
                                             std::span<const WarpWords* const> registers) {
  const int bits = layout.element_bytes * 8, num_registers = static_cast<int>(registers.size());
  const int k = layout.tile_registers * 128 / layout.element_bytes / layout.tile_rows;
  std::vector<std::uint32_t> elements(registers.size() * 32 * (32 / bits));
  for (int r = 0; r < num_registers; ++r) {
    for (int lane = 0; lane < 32; ++lane) {
      const FragmentPlace at = layout.place(r, lane);
      const std::uint32_t word = (*registers[r])[lane];
      for (int i = 0; i < 32 / bits; ++i) {
        elements[at.outer * k + at.inner + i] = word >> (i * bits) & ~0u >> (32 - bits);
      }
    }
  }
  return elements;
}

void multiply_fragments(const FragmentProduct& product, const std::uint32_t* a,
                        const std::uint32_t* b, std::span<WarpWords* const> d) {
  const ProductTypes& types = product.types;
  const int columns = product.columns, k = product.k;
  const bool half = types.sum == PtxType::f16;
  const FragmentLayout layout = product.d();
  const int rows = static_cast<int>(d.size()) / layout.tile_registers * 16;
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(rows) * columns);
  const auto exchange = [&](auto&& move) {
    for (int r = 0; r < static_cast<int>(d.size()); ++r) {
      for (int lane = 0; lane < 32; ++lane) {
        const FragmentPlace at = layout.place(r, lane);
        move((*d[r])[lane], &sums[at.outer * columns + at.inner]);
      }
    }
  };
  if (product.accumulates) {
    exchange([&](std::uint32_t word, std::uint32_t* sum) {
      sum[0] = half ? word & 0xFFFF : word;
      if (half) sum[1] = word >> 16;
    });
  }
  if (types.as_halves) {
    multiply_as_halves(product, a, b, sums);
  } else {
    multiply(types, take_apart(types.a, Side::a, rows, k, a, product.negates_a),
             take_apart(types.b, Side::b, columns, k, b, product.negates_b), sums.data());
  }
  exchange([&](std::uint32_t& word, const std::uint32_t* sum) {
    word = half ? sum[1] << 16 | sum[0] : sum[0];
  });
}

void warp_multiply(FragmentProduct product, std::span<const WarpWords> a,
                   std::span<const WarpWords> b, std::span<WarpWords> d) {
  const auto pointers = []<class T>(std::span<T> words) {
    std::vector<T*> result;
    for (T& each : words) result.push_back(&each);
    return result;
  };
  product.types.as_halves = bytes_of(product.types.a) == 1 && product.types.sum != PtxType::s32;
  multiply_fragments(product, fragment_elements(product.a(), pointers(a)).data(),
                     fragment_elements(product.b(), pointers(b)).data(), pointers(d));
}

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
  const std::uint32_t outer = operand.outer;
  const std::uint32_t k = kStepBytes / operand.element_bytes;
  // Lines (rows, or, transposed, those of one k) of the swizzle's size, eight to a group; the
  // chunks of one behind its size lie `leading` further on. Without swizzle a line is one chunk,
  // and the two offsets change places for what is transposed.
  const bool changes = operand.transposed && d.swizzle_bytes == 0;
  const std::uint32_t along_line = changes ? d.stride : d.leading;
  const std::uint32_t to_group = changes ? d.leading : d.stride;
  const std::uint32_t line_chunks =
      d.swizzle_bytes == 0 ? 1 : static_cast<std::uint32_t>(d.swizzle_bytes) / kChunkBytes;
  const std::uint32_t num_lines = operand.transposed ? k : outer;
  const std::uint32_t num_chunks = operand.transposed ? outer / 8 : kStepBytes / kChunkBytes;
  // Lines are counted from where base_offset says, and addresses wrap round at 256 KiB.
  const std::uint32_t counted_from = static_cast<std::uint32_t>(d.base_offset) << 7;
  std::vector<std::uint32_t> chunks;
  for (std::uint32_t line = 0; line < num_lines; ++line) {
    for (std::uint32_t chunk = 0; chunk < num_chunks; ++chunk) {
      const std::uint32_t offset = line / 8 * to_group + line % 8 * line_chunks * kChunkBytes +
                                   chunk / line_chunks * along_line +
                                   chunk % line_chunks * kChunkBytes;
      const std::uint32_t address = (d.start + offset) & 0x3FFFF;
      chunks.push_back(swizzled_address(address - counted_from, d.swizzle_bytes) + counted_from);
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
    const std::size_t at = operand.transposed ? i % operand.outer * k + i / operand.outer : i;
    std::memcpy(&elements[at], next, operand.element_bytes);
  }
  return elements;
}

}  // namespace assay::emulator
