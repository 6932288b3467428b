// The harness's own kernels. They make inputs, check guard zones, compare outputs, evict L2 and
// hold the stream. NVRTC compiles them for the GPU at hand, and SupportKernels loads them. Its
// constants and structs mirror the ones here. No header is included, because NVRTC alone must be
// enough.

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

constexpr int kThreads = 256;
constexpr u16 kPoisonHalf = 0x7FA5;       // a NaN as bf16 and as f16
constexpr u32 kPoisonWord = 0x7FA57FA5u;  // a NaN as f32

// The order of assay::DType.
enum DType { kBf16, kF16, kF32, kF64, kI32, kI64, kU8, kI8, kI16, kU16, kU32, kU64 };

// The order of assay::Generator.
enum Generator {
  kNormal,
  kUniform,
  kZeros,
  kOnes,
  kIota,
  kPermutation,
  kRouting,
  kDistinct,
  kRowStarts
};

__device__ i64 first_index() { return blockIdx.x * (i64)blockDim.x + threadIdx.x; }
__device__ i64 stride() { return gridDim.x * (i64)blockDim.x; }

__device__ u64 global_time_ns() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// The finaliser of splitmix64: a bijection whose output passes statistical tests even on a counter.
__device__ u64 mix(u64 x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ull;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

__device__ u64 random_bits(u64 key, u64 counter) {
  return mix(key + (counter + 1) * 0x9E3779B97F4A7C15ull);
}

__device__ double load(int dtype, const void* data, i64 i) {
  switch (dtype) {
    case kBf16:
      return __uint_as_float((u32) reinterpret_cast<const u16*>(data)[i] << 16);
    case kF16: {
      float value;
      asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(reinterpret_cast<const u16*>(data)[i]));
      return value;
    }
    case kF32:
      return reinterpret_cast<const float*>(data)[i];
    case kF64:
      return reinterpret_cast<const double*>(data)[i];
    case kI32:
      return reinterpret_cast<const int*>(data)[i];
    case kI64:
      return (double)reinterpret_cast<const i64*>(data)[i];
    case kU64:
      return (double)reinterpret_cast<const u64*>(data)[i];
    case kU32:
      return reinterpret_cast<const u32*>(data)[i];
    case kU16:
      return reinterpret_cast<const u16*>(data)[i];
    case kI16:
      return reinterpret_cast<const short*>(data)[i];
    case kI8:
      return reinterpret_cast<const i8*>(data)[i];
    default:
      return reinterpret_cast<const u8*>(data)[i];
  }
}

__device__ void store(int dtype, void* data, i64 i, double value) {
  switch (dtype) {
    case kBf16: {  // to nearest even; generators make no NaN
      const u32 bits = __float_as_uint((float)value);
      reinterpret_cast<u16*>(data)[i] = (u16)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
      return;
    }
    case kF16: {
      u16 bits;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"((float)value));
      reinterpret_cast<u16*>(data)[i] = bits;
      return;
    }
    case kF32:
      reinterpret_cast<float*>(data)[i] = (float)value;
      return;
    case kF64:
      reinterpret_cast<double*>(data)[i] = value;
      return;
    case kI32:
      reinterpret_cast<int*>(data)[i] = (int)value;
      return;
    case kI64:
      reinterpret_cast<i64*>(data)[i] = (i64)value;
      return;
    case kU64:
      reinterpret_cast<u64*>(data)[i] = (u64)value;
      return;
    case kU32:
      reinterpret_cast<u32*>(data)[i] = (u32)(i64)value;
      return;
    case kU16:
    case kI16:
      reinterpret_cast<u16*>(data)[i] = (u16)(int)value;
      return;
    default:
      reinterpret_cast<u8*>(data)[i] = (u8)(int)value;
  }
}

__device__ int size_bytes(int dtype) {
  switch (dtype) {
    case kF64:
    case kI64:
    case kU64:
      return 8;
    case kF32:
    case kI32:
    case kU32:
      return 4;
    case kU8:
    case kI8:
      return 1;
    default:
      return 2;
  }
}

__device__ bool is_signed(int dtype) {
  return dtype == kI8 || dtype == kI16 || dtype == kI32 || dtype == kI64;
}

__device__ u64 load_bits(int size, const void* data, i64 i) {
  if (size == 8) return reinterpret_cast<const u64*>(data)[i];
  if (size == 4) return reinterpret_cast<const u32*>(data)[i];
  if (size == 2) return reinterpret_cast<const u16*>(data)[i];
  return reinterpret_cast<const u8*>(data)[i];
}

// Half of all bytes could be one of the poison's, so a byte never counts as poison.
__device__ bool is_poison(int size, u64 bits) {
  if (size == 8) return bits == ((u64)kPoisonWord << 32 | kPoisonWord);
  if (size == 4) return bits == kPoisonWord;
  return size == 2 && bits == kPoisonHalf;
}

// Box-Muller on two 32-bit uniforms; the largest value is sqrt(-2 ln 2^-33), 6.8. The approximate
// functions are off by 2^-21. With exact ones, inputs that are drawn anew for each launch cost ten
// times as much as the launch.
__device__ float2 normal_pair(u64 bits) {
  const float u = ((float)(u32)(bits >> 32) + 0.5f) * 2.3283064365386963e-10f;
  const float angle = (float)(int)(u32)bits * 1.4629180792671596e-9f;  // in [-pi, pi]
  float radius;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(radius) : "f"(fmaxf(-2.0f * __logf(u), 0.0f)));
  return {radius * __cosf(angle), radius * __sinf(angle)};
}

// In [0, 1).
__device__ float2 uniform_pair(u64 bits) {
  return {(float)(u32)(bits >> 40) * 5.960464477539063e-8f,
          (float)((u32)bits >> 8) * 5.960464477539063e-8f};
}

// A four-round Feistel network is a bijection of 2^bits. Repeating it until the value is below n
// makes it a bijection of [0, n).
__device__ u64 permute(u64 key, u64 i, u64 n) {
  int half = 1;
  while ((1ull << (2 * half)) < n) ++half;
  const u64 mask = (1ull << half) - 1;
  do {
    u64 left = i >> half, right = i & mask;
    for (int round = 0; round < 4; ++round) {
      const u64 next = left ^ (mix(key + right * 4 + round + 1) & mask);
      left = right;
      right = next;
    }
    i = left << half | right;
  } while (i >= n);
  return i;
}

// For each token `top` different experts. If only `hit` of them are to be met, then each is: the
// first tokens take them in turn.
__device__ u64 routed(i64 i, u64 key, u64 experts, u64 top, u64 hit) {
  const u64 token = i / top, slot = i % top;
  if (hit == 0) return permute(random_bits(key, token), slot, experts);
  const u64 local =
      token * top < hit ? i % hit : permute(random_bits(key, token), slot, hit);
  return permute(~key, local, experts);
}

// The places where n - 1 rows begin, and where the last one ends. With a skew, later rows are
// longer.
__device__ double row_start(i64 i, i64 n, u64 bits, double nonzeros, double skew) {
  if (i == 0 || i == n - 1) return i == 0 ? 0 : nonzeros;
  const double moved = (double)(bits >> 11) * 1.1102230246251565e-16 - 0.5;
  return floor(nonzeros * pow((i + moved) / (n - 1), 1 + skew));
}

// One element. The last numbers are those of FillRecipe. Uniform numbers lie in [first, second).
__device__ double generated(int generator, int dtype, i64 i, i64 n, u64 key, double first,
                            double second, double third) {
  const u64 bits = random_bits(key, i);
  switch (generator) {
    case kNormal:
      return first + second * normal_pair(bits).x;
    case kUniform: {
      const double value =
          first + (second - first) * ((double)(bits >> 11) * 1.1102230246251565e-16);
      return dtype >= kI32 ? floor(value) : value;
    }
    case kOnes:
      return 1;
    case kIota:
      return (double)i;
    case kPermutation:
      return (double)permute(key, i, n);
    case kRouting:
      return (double)routed(i, key, (u64)first, (u64)second, (u64)third);
    case kDistinct:
      return (double)permute(key, i, (u64)first);
    case kRowStarts:
      return row_start(i, n, bits, first, second);
    default:
      return 0;
  }
}

__device__ u32 half_bits(int dtype, float value) {
  u16 bits;
  store(dtype, &bits, 0, value);
  return bits;
}

// Fills with random numbers, 16 bytes at a time; neighbours share their random bits. Two pairs make
// 16 bytes of f32, four make 16 of a half type. `out` is 16-byte aligned.
template <float2 (*kRandomPair)(u64), int kPairs>
__device__ void fill_pairs(int dtype, void* out, i64 n, u64 key, float first, float scale) {
  constexpr int kElements = 2 * kPairs;
  for (i64 begin = first_index() * kElements; begin < n; begin += stride() * kElements) {
    u32 words[4];
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const float2 random = kRandomPair(random_bits(key, begin / 2 + i));
      const float x = fmaf(scale, random.x, first), y = fmaf(scale, random.y, first);
      if (kPairs == 2) {
        words[2 * i] = __float_as_uint(x);
        words[2 * i + 1] = __float_as_uint(y);
      } else {
        words[i] = half_bits(dtype, x) | half_bits(dtype, y) << 16;
      }
    }
    if (begin + kElements <= n) {
      reinterpret_cast<uint4*>(out)[begin / kElements] = {words[0], words[1], words[2], words[3]};
      continue;
    }
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      if (begin + i >= n) break;
      if (kPairs == 2) {
        reinterpret_cast<u32*>(out)[begin + i] = words[i % 4];
      } else {
        reinterpret_cast<u16*>(out)[begin + i] = (u16)(words[i / 2] >> (i % 2 * 16));
      }
    }
  }
}

extern "C" __global__ void assay_fill(int generator, int dtype, void* out, i64 n, u64 key,
                                      double first, double second, double third) {
  const bool half = dtype == kBf16 || dtype == kF16;
  if (generator == kNormal && half) {
    return fill_pairs<normal_pair, 4>(dtype, out, n, key, (float)first, (float)second);
  }
  if (generator == kNormal && dtype == kF32) {
    return fill_pairs<normal_pair, 2>(dtype, out, n, key, (float)first, (float)second);
  }
  if (generator == kUniform && half) {
    return fill_pairs<uniform_pair, 4>(dtype, out, n, key, (float)first, (float)(second - first));
  }
  if (generator == kUniform && dtype == kF32) {
    return fill_pairs<uniform_pair, 2>(dtype, out, n, key, (float)first, (float)(second - first));
  }
  for (i64 i = first_index(); i < n; i += stride()) {
    store(dtype, out, i, generated(generator, dtype, i, n, key, first, second, third));
  }
}

// Adds to *sum a hash of (position, word) for every 8-byte word. So the result depends on the order
// of the words, but not on the order of the additions. `data` is 8-byte aligned.
extern "C" __global__ void assay_hash(const void* data, u64 bytes, u64* sum) {
  const u64* words = reinterpret_cast<const u64*>(data);
  const u64 num_words = bytes / 8;
  u64 total = 0;
  for (u64 i = first_index(); i < num_words; i += stride()) total += mix(random_bits(i, words[i]));
  if (first_index() == 0 && bytes % 8 != 0) {
    u64 tail = 0;
    for (u64 i = num_words * 8; i < bytes; ++i) {
      tail = tail << 8 | reinterpret_cast<const u8*>(data)[i];
    }
    total += mix(random_bits(num_words, tail));
  }
  for (int step = 16; step > 0; step /= 2) total += __shfl_down_sync(~0u, total, step);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, total);
}

// Every byte of a guard zone must still be poison. *found becomes the largest ~distance of a
// changed byte from the buffer; in the zone before the buffer it counts backwards. 0 means intact.
extern "C" __global__ void assay_guard(const u8* zone, u64 bytes, int backwards, u64* found) {
  for (u64 i = first_index(); i < bytes; i += stride()) {
    const u8* byte = backwards ? zone + (bytes - 1 - i) : zone + i;
    const u8 expected = (u64)byte % 2 == 0 ? (u8)(kPoisonHalf & 0xFF) : (u8)(kPoisonHalf >> 8);
    if (*byte != expected) atomicMax(found, ~i);
  }
}

// Mirrors Comparison in support_kernels.h. "not_" fields hold ~index, so that zeroed memory means
// "none" and the first index is the largest.
struct Comparison {
  u64 compared;
  u64 unwritten;
  u64 not_first_unwritten;
  u64 bad;
  u64 not_first_bad;
  double squared_error;
  double squared_reference;
  double worst_ratio;
};

__device__ u64 larger(u64 a, u64 b) { return a > b ? a : b; }

// A NaN or an infinity counts as this error, so that the sums stay finite.
constexpr double kErrorCap = 1e30;

// Integers are compared bit by bit, with a reference of the same dtype.
extern "C" __global__ void assay_compare(int dtype, const void* out, int reference_dtype,
                                         const void* reference, i64 n, double factor, double floor,
                                         Comparison* result) {
  __shared__ Comparison partial[kThreads];
  Comparison mine = {};
  const bool integer = dtype >= kI32;
  const int size = size_bytes(dtype);
  for (i64 i = first_index(); i < n; i += stride()) {
    ++mine.compared;
    const u64 bits = load_bits(size, out, i);
    const bool equal = integer && bits == load_bits(size, reference, i);
    if (is_poison(size, bits) && !equal) {
      ++mine.unwritten;
      mine.not_first_unwritten = larger(mine.not_first_unwritten, ~(u64)i);
      continue;
    }
    const double expected = load(reference_dtype, reference, i);
    const double bound = factor * fabs(expected) + floor;
    double error = fabs(load(dtype, out, i) - expected);
    // `!(error <= bound)` and not `error > bound`: a NaN is neither.
    if (integer ? !equal : !(error <= bound)) {
      ++mine.bad;
      mine.not_first_bad = larger(mine.not_first_bad, ~(u64)i);
    }
    if (!(error <= kErrorCap)) error = kErrorCap;
    mine.squared_error += error * error;
    mine.squared_reference += expected * expected;
    if (error > 0) {
      mine.worst_ratio =
          fmax(mine.worst_ratio, bound > 0 ? fmin(error / bound, kErrorCap) : kErrorCap);
    }
  }
  partial[threadIdx.x] = mine;
  for (int step = kThreads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x >= step) continue;
    Comparison& a = partial[threadIdx.x];
    const Comparison& b = partial[threadIdx.x + step];
    a.compared += b.compared;
    a.unwritten += b.unwritten;
    a.not_first_unwritten = larger(a.not_first_unwritten, b.not_first_unwritten);
    a.bad += b.bad;
    a.not_first_bad = larger(a.not_first_bad, b.not_first_bad);
    a.squared_error += b.squared_error;
    a.squared_reference += b.squared_reference;
    a.worst_ratio = fmax(a.worst_ratio, b.worst_ratio);
  }
  if (threadIdx.x != 0) return;
  const Comparison& all = partial[0];
  atomicAdd(&result->compared, all.compared);
  atomicAdd(&result->unwritten, all.unwritten);
  atomicMax(&result->not_first_unwritten, all.not_first_unwritten);
  atomicAdd(&result->bad, all.bad);
  atomicMax(&result->not_first_bad, all.not_first_bad);
  atomicAdd(&result->squared_error, all.squared_error);
  atomicAdd(&result->squared_reference, all.squared_reference);
  // The bits of doubles that are not negative are ordered like the doubles.
  atomicMax(reinterpret_cast<u64*>(&result->worst_ratio),
            (u64)__double_as_longlong(all.worst_ratio));
}

extern "C" __global__ void assay_sum_squares(int dtype, const void* data, i64 n, double* sum) {
  double total = 0;
  for (i64 i = first_index(); i < n; i += stride()) {
    const double value = load(dtype, data, i);
    total += value * value;
  }
  for (int step = 16; step > 0; step /= 2) total += __shfl_down_sync(~0u, total, step);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, total);
}

__device__ u64 integer_bits(int dtype, const void* data, i64 i) {
  const int unused = 64 - 8 * size_bytes(dtype);
  const u64 bits = load_bits(size_bytes(dtype), data, i) << unused;
  return is_signed(dtype) ? (u64)((i64)bits >> unused) : bits >> unused;
}

// Adds to the double at `sum`, or to the 64-bit word where the elements are integers.
extern "C" __global__ void assay_sum(int dtype, const void* data, i64 n, void* sum) {
  const bool integer = dtype >= kI32;
  double total = 0;
  u64 integers = 0;
  for (i64 i = first_index(); i < n; i += stride()) {
    if (integer) {
      integers += integer_bits(dtype, data, i);
    } else {
      total += load(dtype, data, i);
    }
  }
  if (integer) {
    atomicAdd(reinterpret_cast<u64*>(sum), integers);
  } else {
    atomicAdd(reinterpret_cast<double*>(sum), total);
  }
}

// What is sorted are 64-bit keys in the order of the elements, at a power of two of places. Those
// behind the n elements hold the largest key.
constexpr u64 kSign = 1ull << 63;

extern "C" __global__ void assay_sort_keys(int dtype, const void* data, i64 n, u64* keys,
                                           i64 places) {
  for (i64 i = first_index(); i < places; i += stride()) {
    u64 key = ~0ull;
    if (i < n && dtype >= kI32) {
      key = integer_bits(dtype, data, i) ^ (is_signed(dtype) ? kSign : 0);
    } else if (i < n) {
      const bool unwritten = is_poison(size_bytes(dtype), load_bits(size_bytes(dtype), data, i));
      const u64 bits = unwritten ? (u64)kPoisonWord << 32 | kPoisonWord
                                 : (u64)__double_as_longlong(load(dtype, data, i));
      key = bits & kSign ? ~bits : bits | kSign;
    }
    keys[i] = key;
  }
}

// A step of a bitonic sort: runs of `run` keys, every second one descending, come nearer to their
// order.
extern "C" __global__ void assay_sort_step(u64* keys, i64 places, i64 run, i64 distance) {
  for (i64 i = first_index(); i < places; i += stride()) {
    const i64 other = i ^ distance;
    const u64 a = keys[i], b = keys[other];
    if (other < i || (a > b) != ((i & run) == 0)) continue;
    keys[i] = b;
    keys[other] = a;
  }
}

// Makes the keys f64, i64 or u64 again.
extern "C" __global__ void assay_sort_values(int dtype, u64* keys, i64 n) {
  for (i64 i = first_index(); i < n; i += stride()) {
    const u64 key = keys[i];
    if (dtype >= kI32) {
      keys[i] = key ^ (is_signed(dtype) ? kSign : 0);
    } else {
      keys[i] = key & kSign ? key ^ kSign : ~key;
    }
  }
}

// out[j] = data[first + j * step], j < count: what the host needs to compute one element itself.
extern "C" __global__ void assay_gather(int dtype, const void* data, i64 first, i64 step, i64 count,
                                        double* out) {
  for (i64 j = first_index(); j < count; j += stride())
    out[j] = load(dtype, data, first + j * step);
}

// The operations of references compute in fp64, whatever they read and make: speed is no matter,
// and their own error is below any that is looked for.

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

__device__ double pointwise(int function, double a, double b) {
  switch (function) {
    case kAdd:
      return a + b;
    case kMultiply:
      return a * b;
    case kRelu:
      return a > 0 ? a : 0;
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

extern "C" __global__ void assay_pointwise(int function, Strided a, Strided b, int dtype, void* out,
                                           i64 rows, i64 columns) {
  for (i64 i = first_index(); i < rows * columns; i += stride()) {
    const i64 row = i / columns, column = i % columns;
    store(dtype, out, i, pointwise(function, load(a, row, column, 0), load(b, row, column, 0)));
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

// A block makes a row: of as many elements, or of one for the sum.
extern "C" __global__ void assay_rowwise(int function, Strided x, Strided weight, Strided bias,
                                         double epsilon, int dtype, void* out, i64 rows,
                                         i64 columns) {
  const double infinity = __longlong_as_double(0x7FF0000000000000ll);
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    double sum = 0, largest = -infinity;
    for (i64 i = threadIdx.x; i < columns; i += blockDim.x) {
      const double value = load(x, row, i, 0);
      sum += value;
      largest = fmax(largest, value);
    }
    sum = block_sum(sum);
    if (function == kRowSum) {
      if (threadIdx.x == 0) store(dtype, out, row, sum);
      continue;
    }
    largest = block_max(largest);
    const double mean = function == kLayerNorm ? sum / columns : 0;
    double other = 0;  // of powers, or of squares
    for (i64 i = threadIdx.x; i < columns; i += blockDim.x) {
      const double value = load(x, row, i, 0);
      other += function == kSoftmax ? exp(value - largest) : (value - mean) * (value - mean);
    }
    other = block_sum(other);
    for (i64 i = threadIdx.x; i < columns; i += blockDim.x) {
      const double value = load(x, row, i, 0);
      const double made = function == kSoftmax ? exp(value - largest) / other
                                               : (value - mean) / sqrt(other / columns + epsilon);
      store(dtype, out, row * columns + i, made * load(weight, 0, i, 1) + load(bias, 0, i, 0));
    }
  }
}

// Row `row` of the output is the sum of `top` rows of x, each with its weight. Which rows, the index
// says, or they are the next ones. A row that x does not have is NaN.
extern "C" __global__ void assay_gather_rows(Strided x, i64 x_rows, Strided index, Strided weight,
                                             i64 top, int dtype, void* out, i64 rows,
                                             i64 columns) {
  for (i64 i = first_index(); i < rows * columns; i += stride()) {
    const i64 row = i / columns, column = i % columns;
    double sum = 0;
    for (i64 t = 0; t < top; ++t) {
      const i64 from = (i64)load(index, row, t, (double)(row * top + t));
      sum += from < 0 || from >= x_rows
                 ? __longlong_as_double(-1)
                 : load(weight, row, t, 1) * load(x, from, column, 0);
    }
    store(dtype, out, i, sum);
  }
}

// Row `row` of the output is the sum of the rows of x whose index is `row`, in their order.
extern "C" __global__ void assay_scatter_rows(Strided x, i64 x_rows, Strided index, int dtype,
                                              void* out, i64 rows, i64 columns) {
  for (i64 i = first_index(); i < rows * columns; i += stride()) {
    const i64 row = i / columns, column = i % columns;
    double sum = 0;
    for (i64 from = 0; from < x_rows; ++from) {
      if ((i64)load(index, 0, from, 0) == row) sum += load(x, from, column, 0);
    }
    store(dtype, out, i, sum);
  }
}

// As if every element had been kept in `rounded` for a while.
extern "C" __global__ void assay_round(int rounded, int dtype, void* data, i64 n) {
  for (i64 i = first_index(); i < n; i += stride()) {
    u64 kept;
    store(rounded, &kept, 0, load(dtype, data, i));
    store(dtype, data, i, load(rounded, &kept, 0));
  }
}

// The order of assay::DataKind.
enum DataKind { kAsDrawn, kShifted, kScaledRows, kSparse, kConstant, kLarge };

// Makes other data of random numbers, in place. A row has `columns` elements.
extern "C" __global__ void assay_vary(int kind, int dtype, void* data, i64 n, i64 columns, u64 key) {
  for (i64 i = first_index(); i < n; i += stride()) {
    double value = load(dtype, data, i);
    switch (kind) {
      case kShifted:
        value += 0.25;
        break;
      case kScaledRows:
        value *= exp2f(-(float)(random_bits(key, i / columns) % 9));
        break;
      case kSparse:
        if (random_bits(key, i / 32) & 1) value = 0;
        break;
      case kConstant:
        value = 0.25;
        break;
      case kLarge:
        value *= 64;
    }
    store(dtype, data, i, value);
  }
}

// The second time it takes back what it did the first.
extern "C" __global__ void assay_veil(u8* data, i64 bytes, u64 key) {
  const i64 words = bytes / 4;
  const i64 begin = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  for (i64 i = begin; i < words; i += (i64)gridDim.x * blockDim.x) {
    reinterpret_cast<u32*>(data)[i] ^= (u32)random_bits(key, i);
  }
  if (begin < bytes % 4) data[4 * words + begin] ^= (u8)random_bits(key, words + begin);
}

extern "C" __global__ void assay_poison(u32* words, i64 n) {
  for (i64 i = first_index(); i < n; i += stride()) words[i] = kPoisonWord;
}

// Reads everything and writes nothing. This evicts L2 and leaves only clean lines in it. Each
// thread has four loads in flight. To keep the compiler from removing the loads, the sum is stored
// if it hits one value in 2^32.
extern "C" __global__ void assay_read(const uint4* data, i64 n, u32* sink) {
  u32 sum = 0;
  i64 i = first_index();
  for (; i + 3 * stride() < n; i += 4 * stride()) {
    const uint4 a = __ldcg(data + i), b = __ldcg(data + i + stride());
    const uint4 c = __ldcg(data + i + 2 * stride()), d = __ldcg(data + i + 3 * stride());
    sum ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w;
    sum ^= c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
  }
  for (; i < n; i += stride()) {
    const uint4 a = __ldcg(data + i);
    sum ^= a.x ^ a.y ^ a.z ^ a.w;
  }
  if (sum == 0x5EED5EEDu) *sink = sum;
}

// Holds the stream until the host has published `ticket`. If a call waits for the device while the
// stream is held, neither can go on. So it gives up after a second and says so.
extern "C" __global__ void assay_hold(const volatile u32* published, u32 ticket, u32* timed_out) {
  const u64 begin = global_time_ns();
  while ((int)(*published - ticket) < 0) {
    if (global_time_ns() - begin > 1000000000ull) {
      *timed_out = 1;
      __threadfence_system();
      return;
    }
  }
}

struct Stamp {
  u64 time_ns, cycles;
};

// One stamp before the work and one after it give the SM clock during the work. Each SM counts its
// own cycles, so the stamp is always of the first SM.
extern "C" __global__ void assay_stamp(Stamp* stamp) {
  u32 sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (sm != 0) return;
  stamp->time_ns = global_time_ns();
  stamp->cycles = (u64)clock64();
}

extern "C" __global__ void assay_empty() {}
