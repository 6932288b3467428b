#pragma once

// Sums of products, to the bit of an H200: the tests hold 40,000 of its sums for each kind.
//
// An instruction adds 16 products (tf32: 8; wgmma of e4m3 and e5m2: 32) and the sum before at once.
// Products are exact. All terms are aligned to the largest exponent among them and cut off, not
// rounded, behind 25 bits of fraction; their sum is exact, and is cut off to f32, or rounded to
// nearest f16. wgmma of 8-bit floats keeps 13 bits of fraction instead, in the terms as in the sum.
// The check of a kernel that adds up along K allows for an error that grows with K times 2^-24:
// more than the cut-off bits, whichever way a GPU adds. Sums of 8-bit floats over a long K are
// outside of it, here as on a GPU.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/float_formats.h"

namespace assay::emulator {

struct ProductTypes {
  PtxType a = PtxType::bf16, b = PtxType::bf16;  // or f16, tf32, e4m3, e5m2, s8, u8
  PtxType sum = PtxType::f32;                    // or f16, s32
  bool saturate = false;                         // .satfinite of s32
  bool as_halves = false;                        // mma.sync of e4m3 and e5m2: multiplied as f16
};

/// Whether there are products of such types.
bool is_known(const ProductTypes& types);

/// An operand ready to be multiplied: what each element is, taken apart once.
struct FactorMatrix {
  int outer = 0;  // rows of A, columns of B
  int k = 0;
  std::vector<float> significand;      // A: [outer][k], B: [k][outer]
  std::vector<std::int32_t> exponent;  // likewise; of integers 0
  std::vector<std::uint8_t> special;   // of each row or column: whether an element is not finite
};

enum class Side { a, b };

/// Takes an operand apart. `bits` is [outer][k], an element in the low bits of each word.
FactorMatrix take_apart(PtxType factor, Side side, int outer, int k, const std::uint32_t* bits,
                        bool negated = false);

/// sums[rows][columns] += a * b, to the bit of an H200. Sums are the words of f32, f16 or s32.
void multiply(const ProductTypes& types, const FactorMatrix& a, const FactorMatrix& b,
              std::uint32_t* sums);

// Matrices in the registers and the shared memory of a warp (ldmatrix, stmatrix, movmatrix, mma,
// wmma) and of a warpgroup (wgmma.mma_async, whose K is 32 bytes of elements).

/// One 32-bit register of each lane of a warp.
using WarpWords = std::array<std::uint32_t, 32>;

/// 8x8 elements of 16 bits: rows as they lie in shared memory.
using Matrix8 = std::array<std::array<std::uint16_t, 8>, 8>;

/// ldmatrix: what it puts into a register for eight rows.
WarpWords load_matrix(const Matrix8& rows, bool transposed);
/// stmatrix: the rows of a register.
Matrix8 store_matrix(const WarpWords& words, bool transposed);

/// Where the first element of a register is: its row of A or of the sums, or its column of B; and
/// its place along k, or its column of the sums.
struct FragmentPlace {
  int outer, inner;
};

/// How the registers of a warp hold a matrix: tile by tile, with 4 bytes of neighbours in each.
struct FragmentLayout {
  int tile_rows = 16;  // of A, or columns of B: 8; 0: sums, in tiles of 16 rows
  int tile_registers = 4;
  int element_bytes = 2;
  int registers = tile_registers;  // of one tile or several

  FragmentPlace place(int index, int lane) const {
    const int tile = index / tile_registers, at = index % tile_registers;
    if (tile_rows > 0) {
      // Registers go through the eights of rows, and then on along k.
      const int eights = tile_rows / 8;
      return {tile * tile_rows + at % eights * 8 + lane / 4,
              (at / eights * 4 + lane % 4) * 4 / element_bytes};
    }
    // Of every 8 columns a lane has two of one row and two of the row 8 below.
    const int pair = at * 2 / element_bytes;
    return {tile * 16 + pair % 2 * 8 + lane / 4,
            pair / 2 * 8 + lane % 4 * 2 + (element_bytes == 2 ? 0 : at % 2)};
  }
};

/// An instruction d = a * b (+ d), with 16 rows of d in each warp or tile.
struct FragmentProduct {
  ProductTypes types;
  int k = 16;
  int columns = 8;
  bool accumulates = true;  // else d is written and not read
  bool negates_a = false;
  bool negates_b = false;

  FragmentLayout a() const { return {16, k * bytes_of(types.a) / 8, bytes_of(types.a)}; }
  FragmentLayout b() const { return {8, k * bytes_of(types.a) / 16, bytes_of(types.a)}; }
  FragmentLayout d() const { return {0, columns * bytes_of(types.sum) / 8, bytes_of(types.sum)}; }
};

/// Elements of A or B, [rows][k]. `registers` are the first tile's, the second's, ...
std::vector<std::uint32_t> fragment_elements(const FragmentLayout& layout,
                                             std::span<const WarpWords* const> registers);

/// wgmma, of elements [rows][k] and [columns][k]. `d` are warp 0's registers, warp 1's, ...:
/// columns / 2 of each for f32 and s32, columns / 4 for f16.
void multiply_fragments(const FragmentProduct& product, const std::uint32_t* a,
                        const std::uint32_t* b, std::span<WarpWords* const> d);

/// mma.sync.aligned.row.col: d += a * b, of fragments of one warp.
void warp_multiply(FragmentProduct product, std::span<const WarpWords> a,
                   std::span<const WarpWords> b, std::span<WarpWords> d);

/// A matrix descriptor, taken apart; offsets in bytes.
struct MatrixDescriptor {
  std::uint32_t start = 0;  // an address of the shared window, of which it has 18 bits
  std::uint32_t leading = 0;
  std::uint32_t stride = 0;
  int base_offset = 0;    // bits 7 to 9 of where swizzling begins to count lines
  int swizzle_bytes = 0;  // 0 (none), 32, 64, 128
};
MatrixDescriptor take_apart_descriptor(std::uint64_t descriptor);

/// How wgmma reads one operand out of shared memory.
struct SharedOperand {
  MatrixDescriptor descriptor;
  int outer = 64;  // rows of A (64), columns of B (N)
  int element_bytes = 2;
  bool transposed = false;  // .imm-trans: contiguous along `outer`; 2-byte elements only
};

/// Addresses in the shared window of the 16-byte chunks that an operand has, in the order that
/// operand_elements wants them. outer * 2 chunks.
std::vector<std::uint32_t> operand_chunks(const SharedOperand& operand);

/// An operand's elements, [outer][k], one in each word, out of the bytes of its chunks.
std::vector<std::uint32_t> operand_elements(const SharedOperand& operand,
                                            std::span<const std::byte> chunks);

}  // namespace assay::emulator
