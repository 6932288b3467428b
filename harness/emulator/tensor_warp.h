#pragma once

// What 32 lanes do to matrices together: ldmatrix, stmatrix, movmatrix, mma.sync. Registers are
// given as they lie in a warp: 32 words, one for each lane.

#include <array>
#include <cstdint>
#include <span>

#include "emulator/tensor_product.h"

namespace assay::emulator {

/// One 32-bit register of each lane of a warp.
using WarpWords = std::array<std::uint32_t, 32>;

/// A row of an 8x8 matrix of 16-bit elements, as it lies in shared memory.
using MatrixRow = std::array<std::uint16_t, 8>;

/// ldmatrix .x1 .x2 .x4: `rows` are the 8, 16 or 32 rows at the addresses that lanes 0 to 7, 15 or
/// 31 gave; fills one register for each 8 rows.
void load_matrices(std::span<const MatrixRow> rows, bool transposed, std::span<WarpWords> matrices);

/// stmatrix: the rows to write at the addresses that lanes 0 to 7, 15 or 31 gave.
void store_matrices(std::span<const WarpWords> matrices, bool transposed,
                    std::span<MatrixRow> rows);

/// movmatrix.sync.aligned.m8n8.trans.b16
WarpWords transpose_matrix(const WarpWords& matrix);

/// The elements [16][k] of a fragment of A: two or four registers of a warp.
void a_elements(int element_bytes, std::span<const WarpWords> registers, std::uint32_t* elements);

/// mma.sync.aligned.m16n8kK.row.col: d = a * b + c. `k` of `types` says how many registers a and b
/// have: k * bytes / 8 and half as many; c and d have four (f32, s32) or two (f16). d may be c.
void warp_multiply(const ProductTypes& types, int k, std::span<const WarpWords> a,
                   std::span<const WarpWords> b, std::span<const WarpWords> c,
                   std::span<WarpWords> d);

}  // namespace assay::emulator
