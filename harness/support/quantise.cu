// Small floating numbers with scales: made of larger numbers, and taken apart again.

// A stack of matrices in blocks that have a scale each. Mirrors assay::Blocks.
struct Blocks {
  i64 batch, rows, columns;
  i64 block_rows, block_columns;
  i64 down, across;  // blocks of a matrix
};

constexpr i64 kSegment = 1024;  // columns that a warp takes at once; even

// Calls `work` with the row, the first column, the one behind the last, and the number of the
// block, for pieces of rows that lie in one block. A warp takes each piece.
template <typename Work>
__device__ __forceinline__ void for_pieces(const Blocks& blocks, Work work) {
  const u32 pieces = (u32)((blocks.block_columns + kSegment - 1) / kSegment);
  const u32 across = (u32)blocks.across, per_row = across * pieces;
  const u32 all = (u32)(blocks.batch * blocks.rows) * per_row;
  const u32 warps = gridDim.x * (blockDim.x / 32);
  for (u32 i = (u32)(first_index() / 32); i < all; i += warps) {
    const u32 row = i / per_row, part = i % per_row, column = part / pieces;
    const i64 block_begin = column * blocks.block_columns;
    const i64 begin = block_begin + part % pieces * kSegment;
    i64 end = begin + kSegment;
    if (end > block_begin + blocks.block_columns) end = block_begin + blocks.block_columns;
    if (end > blocks.columns) end = blocks.columns;
    const u32 matrix = row / (u32)blocks.rows, down = row % (u32)blocks.rows / (u32)blocks.block_rows;
    work((i64)row, begin, end, (i64)(matrix * (u32)blocks.down + down) * across + column);
  }
}

// Adds the largest size of the elements of each block to `largest`, which starts at zero.
extern "C" __global__ void assay_largest(int dtype, const void* data, Blocks blocks, u32* largest) {
  for_pieces(blocks, [&](i64 row, i64 begin, i64 end, i64 block) {
    float most = 0;
    for (i64 i = begin + threadIdx.x % 32; i < end; i += 32) {
      most = fmaxf(most, fabsf((float)load_inline(dtype, data, row * blocks.columns + i)));
    }
    for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    const u32 bits = __float_as_uint(most);
    if (threadIdx.x % 32 == 0 && bits > largest[block]) atomicMax(largest + block, bits);
  });
}

// The scale by which the largest element of a block becomes `limit`, or less for a power of two.
__device__ float scale_of(u32 largest, float limit, int powers_of_two) {
  if (largest == 0) return 1;
  const float scale = fmaxf(__uint_as_float(largest) / limit, 1.1754943508222875e-38f);
  if (!powers_of_two) return scale;
  return __uint_as_float((__float_as_uint(scale) + 0x7FFFFF) & 0x7F800000);
}

extern "C" __global__ void assay_quantise(int from, const void* data, Blocks blocks,
                                          const u32* largest, float limit, int powers_of_two,
                                          int to, void* out, const float* x_terms,
                                          float* terms) {
  for_pieces(blocks, [&](i64 row, i64 begin, i64 end, i64 block) {
    const float scale = scale_of(largest[block], limit, powers_of_two);
    // A thread takes two neighbours: those of e2m1 share a byte.
    for (i64 i = begin + threadIdx.x % 32 * 2; i < end; i += 64) {
      for (i64 k = i; k < i + 2 && k < end; ++k) {
        const i64 at = row * blocks.columns + k;
        store_inline(to, out, at, (float)load_inline(from, data, at) / scale);
        if (terms) terms[at] = x_terms[at] / scale / scale;
      }
    }
  });
}

// Where the scale of a block stands: `transpose` puts those of a block of columns beside each
// other. A row of the scales has `width`.
__device__ i64 scale_place(const Blocks& blocks, i64 block, int transpose, i64 width) {
  const i64 across = block % blocks.across, above = block / blocks.across;
  if (!transpose) return above * width + across;
  return (above / blocks.down * blocks.across + across) * width + above % blocks.down;
}

// Pads with zeros.
extern "C" __global__ void assay_scales(Blocks blocks, const u32* largest, float limit,
                                        int powers_of_two, int transpose, i64 width, int to,
                                        void* out) {
  const i64 inner = transpose ? blocks.down : blocks.across;
  const i64 outer = transpose ? blocks.across : blocks.down;
  for (i64 i = first_index(); i < blocks.batch * outer * width; i += stride()) {
    const i64 column = i % width, row = i / width;
    const i64 down = transpose ? column : row % outer, across = transpose ? row % outer : column;
    const i64 block = (row / outer * blocks.down + down) * blocks.across + across;
    store(to, out, i, column < inner ? scale_of(largest[block], limit, powers_of_two) : 0);
  }
}

extern "C" __global__ void assay_dequantise(int from, const void* data, Blocks blocks,
                                            int scales_dtype, const void* scales, int transpose,
                                            i64 width, float* out) {
  for_pieces(blocks, [&](i64 row, i64 begin, i64 end, i64 block) {
    const double scale = load(scales_dtype, scales, scale_place(blocks, block, transpose, width));
    for (i64 i = begin + threadIdx.x % 32; i < end; i += 32) {
      const i64 at = row * blocks.columns + i;
      out[at] = (float)(load_inline(from, data, at) * scale);
    }
  });
}
