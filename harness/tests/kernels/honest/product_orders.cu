// A product of f32 that is added up in fp32, or better, in one of the orders that kernels have. Each
// is right, whatever its factors are.
enum Order {
  forward,
  backward,
  strided,
  blocks,
  pairwise,
  tree,
  kahan,
  unfused,
  lanes,
  four_sums,
  doubles,
  halves
};
constexpr Order kOrder = ORDER;

/// One row of a and one of b.
struct Terms {
  const float *a, *b;
  __device__ float add_to(float sum, int i) const { return fmaf(a[i], b[i], sum); }
  __device__ float product(int i) const { return __fmul_rn(a[i], b[i]); }
};

/// Of terms begin to end, one after the other.
__device__ float in_turn(const Terms& terms, int begin, int end) {
  float sum = 0;
  for (int i = begin; i < end; ++i) sum = terms.add_to(sum, i);
  return sum;
}

/// Adds pairs of leaves of so many terms, then pairs of pairs: `waiting` has one sum for each bit
/// of the number of leaves.
__device__ float in_pairs(const Terms& terms, int k, int leaf) {
  float waiting[32];
  int leaves = 0;
  for (int i = 0; i < k; i += leaf, ++leaves) {
    float sum = in_turn(terms, i, min(k, i + leaf));
    int level = 0;
    for (; leaves >> level & 1; ++level) sum += waiting[level];
    waiting[level] = sum;
  }
  float sum = 0;
  for (int level = 0; level < 32; ++level) {
    if (leaves >> level & 1) sum += waiting[level];
  }
  return sum;
}

/// Term i goes to sum i % kLanes; then halves of the sums are added to each other.
template <int kLanes>
__device__ float in_lanes(const Terms& terms, int k) {
  float sums[kLanes] = {};
  for (int i = 0; i < k; i += kLanes) {
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      if (i + lane < k) sums[lane] = terms.add_to(sums[lane], i + lane);
    }
  }
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) {
#pragma unroll
    for (int lane = 0; lane < step; ++lane) sums[lane] += sums[lane + step];
  }
  return sums[0];
}

__device__ float added(const Terms& terms, int k) {
  float sum = 0;
  switch (kOrder) {
    case backward:
      for (int i = k - 1; i >= 0; --i) sum = terms.add_to(sum, i);
      return sum;
    case strided:
      for (int first = 0; first < 7; ++first) {
        for (int i = first; i < k; i += 7) sum = terms.add_to(sum, i);
      }
      return sum;
    case blocks:
      for (int i = 0; i < k; i += 32) sum += in_turn(terms, i, min(k, i + 32));
      return sum;
    case pairwise:
      return in_pairs(terms, k, 8);
    case tree:
      return in_pairs(terms, k, 1);
    case kahan: {
      float lost = 0;
      for (int i = 0; i < k; ++i) {
        const float term = __fsub_rn(terms.product(i), lost);
        const float next = __fadd_rn(sum, term);
        lost = __fsub_rn(__fsub_rn(next, sum), term);
        sum = next;
      }
      return sum;
    }
    case unfused:
      for (int i = 0; i < k; ++i) sum = __fadd_rn(sum, terms.product(i));
      return sum;
    case lanes:
      return in_lanes<32>(terms, k);
    case four_sums:
      return in_lanes<4>(terms, k);
    case doubles: {
      double wide = 0;
      for (int i = 0; i < k; ++i) wide += (double)terms.a[i] * terms.b[i];
      return (float)wide;
    }
    case halves:
      return in_turn(terms, 0, k / 2) + in_turn(terms, k / 2, k);
    default:
      return in_turn(terms, 0, k);
  }
}

extern "C" __global__ void product_orders(const float* a, const float* b, float* c, int n, int k) {
  const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (column >= n) return;
  c[row * n + column] = added({a + row * k, b + column * k}, k);
}
