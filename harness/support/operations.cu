// The operations of references compute in fp64, whatever they read and make: speed is no matter,
// and their own error is below any that is looked for. So loops with calls are not unrolled: NVRTC
// takes less time.

// Mirrors Strided in support_kernels.h. Without data it reads as `otherwise`.
struct Strided {
  const void* data;
  i64 first, row_step, column_step;
  int dtype;
};

__device__ double load(const Strided& from, i64 row, i64 column, double otherwise) {
  if (!from.data) return otherwise;
  return load(from.dtype, from.data, from.first + row * from.row_step + column * from.column_step);
}

// The order of assay::Pointwise.
enum Pointwise { kCopy, kAdd, kMultiply, kRelu, kSilu, kGelu, kGeluTanh, kGate };

__device__ double silu(double x) { return x / (1 + exp(-x)); }

__device__ double pointwise(int function, double a, double b, double slope) {
  switch (function) {
    case kAdd:
      return a + b;
    case kMultiply:
      return a * b;
    case kRelu:
      return a > 0 ? a : slope > 0 ? slope * a : 0;
    case kSilu:
      return silu(a);
    case kGelu:  // by erfc, since 1 + erf loses all digits of a large negative a
      return 0.5 * a * erfc(-a * 0.70710678118654752);
    case kGeluTanh:  // 1 + tanh(u) = 2 / (1 + exp(-2u))
      return a / (1 + exp(-1.5957691216057308 * (a + 0.044715 * a * a * a)));
    case kGate:
      return silu(a) * b;
    default:
      return a;
  }
}

// The squared size of the terms of an element, from those of its operands. No activation's slope
// is above 1.13, but for one that is given.
__device__ double squared_terms(int function, double a, double b, double slope, double a_terms,
                                double b_terms) {
  switch (function) {
    case kCopy:
      return a_terms;
    case kAdd:
      return a_terms + b_terms;
    case kMultiply:
      return b * b * a_terms + a * a * b_terms;
    case kGate:
      return 1.28 * b * b * a_terms + silu(a) * silu(a) * b_terms;
    default:
      return fmax(1.28, slope * slope) * a_terms;
  }
}

// If `terms` is there, it gets the squared sizes of the terms. An operand that is no sum is one
// term.
extern "C" __global__ void assay_pointwise(int function, Strided a, Strided b, int dtype, void* out,
                                           i64 rows, i64 columns, Strided a_terms, Strided b_terms,
                                           float* terms, double slope) {
#pragma unroll 1
  for (i64 i = first_index(); i < rows * columns; i += stride()) {
    const i64 row = i / columns, column = i % columns;
    const double x = load(a, row, column, 0), y = load(b, row, column, 0);
    store(dtype, out, i, pointwise(function, x, y, slope));
    if (!terms) continue;
    terms[i] = (float)squared_terms(function, x, y, slope, load(a_terms, row, column, x * x),
                                    load(b_terms, row, column, y * y));
  }
}

// The squares that products of bf16 or f32 take.
__device__ __forceinline__ void store_square(int to, void* out, i64 i, double x) {
  store_inline(to == kBf16 ? kBf16 : kF32, out, i, x * x);
}

__device__ __forceinline__ void square_all(int from, const void* data, i64 n, int to, void* out) {
  i64 i = first_index();
  for (; i + 3 * stride() < n; i += 4 * stride()) {
    double x[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) x[k] = load_inline(from, data, i + k * stride());
#pragma unroll
    for (int k = 0; k < 4; ++k) store_square(to, out, i + k * stride(), x[k]);
  }
  for (; i < n; i += stride()) store_square(to, out, i, load_inline(from, data, i));
}

// Where the compiler knows the type, four loads are under way at once in each thread.
extern "C" __global__ void assay_square(int from, const void* data, i64 n, int to, void* out) {
  switch (from) {
    case kBf16:
      return square_all(kBf16, data, n, to, out);
    case kF16:
      return square_all(kF16, data, n, to, out);
    case kF32:
      return square_all(kF32, data, n, to, out);
    default:
      for (i64 i = first_index(); i < n; i += stride()) {
        store_square(to, out, i, load(from, data, i));
      }
  }
}

// Adds over the block; every thread gets the sum.
__device__ double block_sum(double value) {
  __shared__ double partial[kThreads];
  __syncthreads();
  partial[threadIdx.x] = value;
  for (int step = kThreads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
  }
  __syncthreads();
  return partial[0];
}

__device__ double block_max(double value) {
  __shared__ double partial[kThreads];
  __syncthreads();
  partial[threadIdx.x] = value;
  for (int step = kThreads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) {
      partial[threadIdx.x] = fmax(partial[threadIdx.x], partial[threadIdx.x + step]);
    }
  }
  __syncthreads();
  return partial[0];
}

// The order of assay::Rowwise.
enum Rowwise { kRowSum, kSoftmax, kLayerNorm, kRmsNorm };

// A block makes a row: of as many elements, or of one for the sum. `terms`, if it is there, gets the
// squared sizes of the sums' terms, as in the kernels below.
extern "C" __global__ void assay_rowwise(int function, Strided x, Strided weight, Strided bias,
                                         double epsilon, int dtype, void* out, i64 rows,
                                         i64 columns, Strided x_terms, float* terms) {
  const double infinity = __longlong_as_double(0x7FF0000000000000ll);
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    double sum = 0, squares = 0, largest = -infinity;
#pragma unroll 1
    for (i64 i = threadIdx.x; i < columns; i += blockDim.x) {
      const double value = load(x, row, i, 0);
      sum += value;
      squares += load(x_terms, row, i, value * value);
      largest = fmax(largest, value);
    }
    sum = block_sum(sum);
    if (function == kRowSum) {
      squares = block_sum(squares);
      if (threadIdx.x == 0) store(dtype, out, row, sum);
      if (threadIdx.x == 0 && terms) terms[row] = (float)squares;
      continue;
    }
    largest = block_max(largest);
    const double mean = function == kLayerNorm ? sum / columns : 0;
    double other = 0;  // of powers, or of squares
#pragma unroll 1
    for (i64 i = threadIdx.x; i < columns; i += blockDim.x) {
      const double value = load(x, row, i, 0);
      other += function == kSoftmax ? exp(value - largest) : (value - mean) * (value - mean);
    }
    other = block_sum(other);
#pragma unroll 1
    for (i64 i = threadIdx.x; i < columns; i += blockDim.x) {
      const double value = load(x, row, i, 0);
      const double made = function == kSoftmax ? exp(value - largest) / other
                                               : (value - mean) / sqrt(other / columns + epsilon);
      const double scaled = made * load(weight, 0, i, 1), shift = load(bias, 0, i, 0);
      store(dtype, out, row * columns + i, scaled + shift);
      // Of the two parts, or of their sum where that is larger.
      const double parts = scaled * scaled + shift * shift + fmax(0.0, 2 * scaled * shift);
      if (terms) terms[row * columns + i] = (float)parts;
    }
  }
}

// Row `row` of the output is the sum of `top` rows of x, each with its weight. Which rows, the index
// says, or they are the next ones. A row that x does not have is NaN.
extern "C" __global__ void assay_gather_rows(Strided x, i64 x_rows, Strided index, Strided weight,
                                             i64 top, int dtype, void* out, i64 rows,
                                             i64 columns, Strided x_terms, float* terms) {
  for (i64 i = first_index(); i < rows * columns; i += stride()) {
    const i64 row = i / columns, column = i % columns;
    double sum = 0, squares = 0;
    for (i64 t = 0; t < top; ++t) {
      const i64 from = (i64)load(index, row, t, (double)(row * top + t));
      if (from < 0 || from >= x_rows) {
        sum = __longlong_as_double(-1);
        break;
      }
      const double by = load(weight, row, t, 1), value = load(x, from, column, 0);
      sum += by * value;
      squares += by * by * load(x_terms, from, column, value * value);
    }
    store(dtype, out, i, sum);
    if (terms) terms[i] = (float)squares;
  }
}

// Row `row` of the output is the sum of the rows of x whose index is `row`, in their order.
extern "C" __global__ void assay_scatter_rows(Strided x, i64 x_rows, Strided index, int dtype,
                                              void* out, i64 rows, i64 columns, Strided x_terms,
                                              float* terms) {
  for (i64 i = first_index(); i < rows * columns; i += stride()) {
    const i64 row = i / columns, column = i % columns;
    double sum = 0, squares = 0;
#pragma unroll 1
    for (i64 from = 0; from < x_rows; ++from) {
      if ((i64)load(index, 0, from, 0) != row) continue;
      const double value = load(x, from, column, 0);
      sum += value;
      squares += load(x_terms, from, column, value * value);
    }
    store(dtype, out, i, sum);
    if (terms) terms[i] = (float)squares;
  }
}
