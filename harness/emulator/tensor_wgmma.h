#pragma once

// wgmma.mma_async: D[64, N] = A[64, K] * B[K, N] (+ D). A is in registers or in shared memory, B in
// shared memory. K is 32 bytes of elements.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "emulator/tensor_product.h"
#include "emulator/tensor_warp.h"

namespace assay::emulator {

/// A matrix descriptor, taken apart; offsets in bytes.
struct MatrixDescriptor {
  std::uint32_t start = 0;  // an address of the shared window, of which it has 18 bits
  std::uint32_t leading = 0;
  std::uint32_t stride = 0;
  int base_offset = 0;    // bits 7 to 9 of where swizzling begins to count lines
  int swizzle_bytes = 0;  // 0 (none), 32, 64, 128
};
MatrixDescriptor take_apart_descriptor(std::uint64_t descriptor);

/// How an instruction reads one operand out of shared memory.
struct SharedOperand {
  MatrixDescriptor descriptor;
  int outer = 64;  // rows of A (64), columns of B (N)
  int element_bytes = 2;
  bool transposed =
      false;  // .imm-trans: contiguous along the outer dimension; 2-byte elements only
};

/// Addresses in the shared window of the 16-byte chunks that an operand has, in the order that
/// read_operand wants them. outer * 2 chunks.
std::vector<std::uint32_t> operand_chunks(const SharedOperand& operand);

/// An operand's elements, [outer][k], one in each word, out of the bytes of its chunks.
std::vector<std::uint32_t> operand_elements(const SharedOperand& operand,
                                            std::span<const std::byte> chunks);

/// The elements [64][k] of A that lie in four registers of each of the 128 lanes of a warpgroup.
/// `registers` are warp 0's four, warp 1's, ...
std::vector<std::uint32_t> register_elements(int element_bytes,
                                             std::span<const WarpWords* const> registers);

/// One instruction.
struct WarpgroupProduct {
  ProductTypes types;
  int columns = 8;         // N
  bool accumulate = true;  // scale-d; else D is written and not read
  bool negate_a = false;   // imm-scale-a is -1
  bool negate_b = false;
};

/// Executes it on elements [64][k] and [N][k]. `d` are the accumulators' registers, warp 0's all,
/// warp 1's, ...: columns / 2 of each warp for f32 and s32, columns / 4 for f16.
void warpgroup_multiply(const WarpgroupProduct& product, const std::uint32_t* a,
                        const std::uint32_t* b, std::span<WarpWords* const> d);

}  // namespace assay::emulator
