// p[i, j] = x[i, j] / sqrt(mean of squares of row i + 1e-5) * gamma[j]: what is run ahead of a
// product with normalised rows. A warp a row, at the memory's speed: the row is read once and kept
// in registers. M and K are macros, K a multiple of 8.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;

template <typename T>
struct alignas(16) Eight {
  T of[8];
};

template <typename T>
__global__ void rms_norm_rows(const T* x, const T* gamma, T* p) {
  constexpr int kChunks = (K / 8 + 31) / 32;  // of a lane
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= M) return;
  const T* from = x + (long long)row * K;
  Eight<T> kept[kChunks];
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    const int at = (i * 32 + lane) * 8;
    if (at < K) kept[i] = *(const Eight<T>*)(from + at);
  }
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    if ((i * 32 + lane) * 8 >= K) continue;
    for (int j = 0; j < 8; ++j) squares += float(kept[i].of[j]) * float(kept[i].of[j]);
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    squares += __shfl_xor_sync(~0u, squares, distance);
  }
  const float scale = rsqrtf(squares / K + 1e-5f);
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    const int at = (i * 32 + lane) * 8;
    if (at >= K) continue;
    const auto weight = *(const Eight<T>*)(gamma + at);
    for (int j = 0; j < 8; ++j)
      kept[i].of[j] = T(float(kept[i].of[j]) * scale * float(weight.of[j]));
    *(Eight<T>*)(p + (long long)row * K + at) = kept[i];
  }
}
