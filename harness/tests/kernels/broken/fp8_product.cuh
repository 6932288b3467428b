// A product of e4m3 with scales, 64 x 8 of its elements a block, slices of 128 columns. The three
// kernels that are wrong take the scales in another way each.

typedef unsigned char u8;
typedef unsigned short u16;

constexpr int kSlice = 128;

struct Tile {
  const u8 *a, *b;
  const float *a_scales, *b_scales;
  int m, n, k;

  __device__ int row() const { return blockIdx.y * 64 + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4; }
  __device__ int column() const { return blockIdx.x * 8 + threadIdx.x % 4 * 2; }
  __device__ int slices() const { return k / kSlice; }

  __device__ float a_scale(int slice, int below) const { return a_scales[slice * m + row() + below]; }
  __device__ float b_scale(int slice) const { return b_scales[column() / 128 * slices() + slice]; }

  /// Adds the products of a slice to the sums of the row and of the one 8 further down, two columns
  /// each; or begins them anew.
  __device__ void multiply(int slice, float (&sums)[4], int add) const;
};

/// Where 8 rows of 16 bytes lie in one piece: `across` bytes to the next 16 columns, `down` bytes
/// to the next 8 rows.
__device__ unsigned long long matrix_of(const void* shared, int across, int down) {
  const unsigned address = (unsigned)__cvta_generic_to_shared(shared);
  return (unsigned long long)(address >> 4 & 0x3FFF) | (unsigned long long)(across >> 4) << 16 |
         (unsigned long long)(down >> 4) << 32;
}

__device__ inline void Tile::multiply(int slice, float (&sums)[4], int add) const {
  __shared__ alignas(128) uint4 left[8 * 64], right[8 * 8];  // [16 columns][rows]
  __syncthreads();
  for (int i = threadIdx.x; i < 8 * 64; i += 128) {
    const long long at = (blockIdx.y * 64ll + i % 64) * k + slice * kSlice + i / 64 * 16;
    left[i] = *reinterpret_cast<const uint4*>(a + at);
  }
  if (threadIdx.x < 64) {
    const int i = threadIdx.x;
    const long long at = (blockIdx.x * 8ll + i % 8) * k + slice * kSlice + i / 8 * 16;
    right[i] = *reinterpret_cast<const uint4*>(b + at);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  // The fence names the sums: else the compiler may set them behind it.
  asm volatile("wgmma.fence.sync.aligned;"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])::"memory");
  for (int i = 0; i < 4; ++i) {
    const unsigned long long of_a = matrix_of(left + i * 128, 1024, 128);
    const unsigned long long of_b = matrix_of(right + i * 16, 128, 128);
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0,%1,%2,%3}, %4, %5, p, 1, 1;\n}"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "l"(of_a), "l"(of_b), "r"((int)(add || i > 0))
        : "memory");
  }
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
}

__device__ u16 to_bf16(float x) {
  const unsigned bits = __float_as_uint(x);
  return (u16)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

__device__ inline void write(const Tile& tile, u16* c, const float (&sums)[4]) {
  for (int i = 0; i < 4; ++i) {
    c[(tile.row() + i / 2 * 8) * tile.n + tile.column() + i % 2] = to_bf16(sums[i]);
  }
}

/// Adds up what `multiply` makes of each slice in fp32. `a_scale` and `b_scale` of a slice.
template <typename AScale, typename BScale>
__device__ void multiply_slices(const Tile& tile, u16* c, AScale a_scale, BScale b_scale) {
  float sums[4] = {};
  for (int slice = 0; slice < tile.slices(); ++slice) {
    float partial[4] = {};
    tile.multiply(slice, partial, 0);
    for (int i = 0; i < 4; ++i) sums[i] += a_scale(slice, i / 2 * 8) * b_scale(slice) * partial[i];
  }
  write(tile, c, sums);
}
