// What stands around sparse FFNs with any activation and with either layout of W2. F and K are
// macros, K and the width of the hidden layer multiples of 8.
#include "sparse_ffn.cu"

/// copy_active without blocks. With `in_columns` the neurons' second weights are columns of
/// w2[K,F].
template <typename T>
__global__ void copy_active_of(const T* w1, const T* w2, const T* b1, const int* index, T* a1,
                               T* a2, T* c1, int active, int in_columns) {
  const int at = blockIdx.x;
  const bool there = at < active;
  const long long from = there ? index[at] : 0;
  copy_row(w1 + from * K, a1 + (long long)at * K, there);
  if (!in_columns) copy_row(w2 + from * K, a2 + (long long)at * K, there);
  for (int i = threadIdx.x; in_columns && i < K; i += blockDim.x) {
    a2[(long long)at * K + i] = there ? w2[(long long)i * F + from] : T(0.0f);
  }
  if (threadIdx.x == 0) c1[at] = there ? b1[from] : T(0.0f);
}

/// r[i, j] = act(p[i, j] + bias[j]); blockIdx.y is i. Activations are numbered as in the op.
template <typename From, typename T>
__global__ void activate(const From* p, const T* bias, T* r, int width, int activation) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= width) return;
  const long long to = (long long)blockIdx.y * width + at;
  const float x = float(p[to]) + float(bias[at]);
  const float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
  const float slope = activation == 1 ? 0.01f : 0.0f;
  r[to] = T(activation == 2 ? 0.5f * x * (1 + tanhf(inner)) : x > 0 ? x : slope * x);
}
