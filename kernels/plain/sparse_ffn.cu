// What stands around the sparse FFNs: biases that make the same neurons active that a list names,
// and the plain ways to compute the same. F and K are macros, K and `padded` multiples of 8.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;

template <typename T>
struct alignas(16) Eight {
  T of[8];
};

/// What closes a neuron as its bias: less than any of its products, also where the check makes all
/// inputs 64 times as large. f16 holds hardly more.
constexpr float kClosed = -6e4f;

/// Neuron `at` of the active ones; the list names blocks of neurons.
__device__ int neuron(const int* index, int at, int block) {
  return index[at / block] * block + at % block;
}

/// Biases with which a dense FFN computes what a sparse one does, by one block: those of the active
/// neurons, and elsewhere one so low that ReLU and SiLU make 0 of it.
template <typename T>
__global__ void closing_biases(const T* bias, const int* index, T* closing, int active, int block) {
  for (int i = threadIdx.x; i < F; i += blockDim.x) closing[i] = T(kClosed);
  __syncthreads();
  for (int at = threadIdx.x; at < active; at += blockDim.x) {
    closing[neuron(index, at, block)] = bias[neuron(index, at, block)];
  }
}

/// The same for gates, which have no biases of their own, and behind them as many zeros.
template <typename T>
__global__ void closing_gate_biases(const int* index, T* closing, int active, int block) {
  for (int i = threadIdx.x; i < 2 * F; i += blockDim.x) closing[i] = i < F ? T(kClosed) : T(0.0f);
  __syncthreads();
  for (int at = threadIdx.x; at < active; at += blockDim.x) {
    closing[neuron(index, at, block)] = T(0.0f);
  }
}

/// The biases of the neurons with the highest scores, the first of equal ones; the others close.
template <typename T>
__global__ void biases_of_chosen(const float* scores, const T* bias, T* closing, int active) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= F) return;
  int ahead = 0;
  for (int i = 0; i < F; ++i) {
    ahead += scores[i] > scores[at] || (scores[i] == scores[at] && i < at);
  }
  closing[at] = ahead < active ? bias[at] : T(kClosed);
}

template <typename T>
__device__ void copy_row(const T* from, T* to, bool there) {
  for (int at = threadIdx.x * 8; at < K; at += blockDim.x * 8) {
    *(Eight<T>*)(to + at) = there ? *(const Eight<T>*)(from + at) : Eight<T>{};
  }
}

/// A block a row: the active rows of both weights, and zeros up to a multiple of 8 rows.
template <typename T>
__global__ void copy_active(const T* w1, const T* w2, const T* b1, const int* index, T* a1, T* a2,
                            T* c1, int active, int block) {
  const int at = blockIdx.x;
  const bool there = at < active;
  const long long from = there ? neuron(index, at, block) : 0;
  copy_row(w1 + from * K, a1 + (long long)at * K, there);
  copy_row(w2 + from * K, a2 + (long long)at * K, there);
  if (threadIdx.x == 0) c1[at] = there ? b1[from] : T(0.0f);
}

/// The same with two first weights: w1[2F,K], a1[2 gridDim.x,K].
template <typename T>
__global__ void copy_active_gated(const T* w1, const T* w2, const int* index, T* a1, T* a2,
                                  int active, int block) {
  const int at = blockIdx.x;
  const bool there = at < active;
  const long long from = there ? neuron(index, at, block) : 0;
  copy_row(w1 + from * K, a1 + (long long)at * K, there);
  copy_row(w1 + (F + from) * K, a1 + (long long)(gridDim.x + at) * K, there);
  copy_row(w2 + from * K, a2 + (long long)at * K, there);
}

/// h[i, j] = silu(p[i, j]) * p[i, width + j]; blockIdx.y is i.
template <typename T>
__global__ void gate(const T* p, T* h, int width) {
  const int at = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (at >= width) return;
  const T* from = p + (long long)blockIdx.y * 2 * width + at;
  const auto gates = *(const Eight<T>*)from, ups = *(const Eight<T>*)(from + width);
  Eight<T> out;
  for (int i = 0; i < 8; ++i) {
    const float g = gates.of[i];
    out.of[i] = T(g / (1 + __expf(-g)) * float(ups.of[i]));
  }
  *(Eight<T>*)(h + (long long)blockIdx.y * width + at) = out;
}
