// Outputs: poison before a launch; guard zones, comparison, sums and order after it.

// The first place of 16 bytes at an address or behind it.
__device__ u64 first_vector(u64 address) { return (address + 15) / 16 * 16; }
__device__ uint4 poison_vector() { return {kPoisonWord, kPoisonWord, kPoisonWord, kPoisonWord}; }

extern "C" __global__ void assay_poison(u32* words, i64 n) {
  for (i64 i = first_index(); i < n / 4; i += stride()) {
    reinterpret_cast<uint4*>(words)[i] = poison_vector();
  }
  for (i64 i = n / 4 * 4 + first_index(); i < n; i += stride()) words[i] = kPoisonWord;
}

// One block fills an SM's shared memory.
extern "C" __global__ void assay_fill_shared(u32 bytes) {
  extern __shared__ volatile u32 shared[];
  for (u32 i = threadIdx.x; i < bytes / 4; i += blockDim.x) shared[i] = kPoisonWord;
}

// Mirrors GuardZone in support_kernels.h. It ends at a multiple of 16.
struct GuardZone {
  u64 begin, end;
};

__device__ u8 poison_byte(u64 address) {
  return address % 2 == 0 ? (u8)(kPoisonHalf & 0xFF) : (u8)(kPoisonHalf >> 8);
}

// Every launch of the two has so many blocks for each zone.
constexpr int kBlocksPerZone = 16;

extern "C" __global__ void assay_poison_zones(const GuardZone* zones) {
  const GuardZone zone = zones[blockIdx.x / kBlocksPerZone];
  const u64 thread = blockIdx.x % kBlocksPerZone * (u64)blockDim.x + threadIdx.x;
  const u64 vectors = first_vector(zone.begin);
  if (zone.begin + thread < vectors) {
    *reinterpret_cast<u8*>(zone.begin + thread) = poison_byte(zone.begin + thread);
  }
  for (u64 at = vectors + 16 * thread; at < zone.end; at += 16 * kBlocksPerZone * blockDim.x) {
    *reinterpret_cast<uint4*>(at) = poison_vector();
  }
}

// Every byte of a zone must still be poison. Its word at `found` becomes the largest ~distance of a
// changed byte from the buffer; in each first zone of two, which is ahead of its buffer, it counts
// backwards. 0 means intact.
extern "C" __global__ void assay_guard_zones(const GuardZone* zones, u64* found) {
  const int number = blockIdx.x / kBlocksPerZone;
  const GuardZone zone = zones[number];
  const u64 thread = blockIdx.x % kBlocksPerZone * (u64)blockDim.x + threadIdx.x;
  const u64 vectors = first_vector(zone.begin);
  const auto look = [&](u64 at) {
    if (*reinterpret_cast<const u8*>(at) == poison_byte(at)) return;
    atomicMax(found + number, ~(number % 2 == 0 ? zone.end - 1 - at : at - zone.begin));
  };
  if (zone.begin + thread < vectors) look(zone.begin + thread);
  for (u64 at = vectors + 16 * thread; at < zone.end; at += 16 * kBlocksPerZone * blockDim.x) {
    const uint4 now = *reinterpret_cast<const uint4*>(at);
    const bool is_whole = now.x == kPoisonWord && now.y == kPoisonWord && now.z == kPoisonWord &&
                          now.w == kPoisonWord;
    if (is_whole) continue;
    for (int i = 0; i < 16; ++i) look(at + i);
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
  double scaled_error;  // the same two, and their product, in ratio to the size of the terms
  double scaled_reference;
  double scaled_product;
  double worst_ratio;
};

// Mirrors ElementBound of support_kernels.h.
struct ElementBound {
  double of_value, of_terms, size, floor;
};

constexpr float kLeastSquares = 0x1p-100f;

__device__ u64 larger(u64 a, u64 b) { return a > b ? a : b; }

// A NaN or an infinity counts as this error, so that the sums stay finite.
constexpr double kErrorCap = 1e30;

// Whether `found` is what the dtype makes of `expected`, beyond what a difference can tell: an equal
// infinity, or that to which what is beyond the range of f16 is rounded.
__device__ bool is_same_infinity(int dtype, double found, double expected, double bound) {
  constexpr double kRoundsToInfinity = 65520;
  if (!isinf(found) || (found > 0) != (expected > 0)) return false;
  return isinf(expected) || (dtype == kF16 && fabs(expected) + bound >= kRoundsToInfinity);
}

// Integers are compared bit by bit, with a reference of the same dtype. `terms` has the squared
// sizes of the elements' terms, or is null.
extern "C" __global__ void assay_compare(int dtype, const void* out, int reference_dtype,
                                         const void* reference, const float* terms, i64 n,
                                         ElementBound bounds, Comparison* result) {
  __shared__ Comparison partial[kThreads];
  Comparison mine = {};
  const bool integer = dtype >= kI32;
  const int size = size_bytes(dtype);
  const bool saturates = dtype == kE4m3 || dtype == kE5m2;
  const double most = small_float(dtype).largest;  // of these two
  const double other_by = bounds.size > 0 ? 1 / (bounds.size * bounds.size) : 0;
  for (i64 i = first_index(); i < n; i += stride()) {
    ++mine.compared;
    // Ask for all three before any is used. Roots and quotients are of fp32, of which there are
    // twice as many units and which need fewer steps: 235 million elements took 4.4 ms in fp64.
    const float squares = terms ? terms[i] : 0;
    const u64 bits = load_bits(size, out, i);
    double expected = load_inline(reference_dtype, reference, i);
    if (saturates) expected = fmin(fmax(expected, -most), most);
    const bool equal = integer && bits == load_bits(size, reference, i);
    if (is_poison(size, bits) && !equal) {
      ++mine.unwritten;
      mine.not_first_unwritten = larger(mine.not_first_unwritten, ~(u64)i);
      continue;
    }
    const bool known = squares >= kLeastSquares;
    const double size = known ? sqrtf(squares) : bounds.size;
    // In ratio to an infinity every number would be near.
    const double bound =
        isinf(expected)
            ? 0
            : bounds.of_value * fabs(expected) + bounds.of_terms * size + bounds.floor;
    const double found = load_inline(dtype, out, i);
    if (is_same_infinity(dtype, found, expected, bound)) continue;
    const double difference = found - expected;
    double error = fabs(difference);
    // `!(error <= bound)` and not `error > bound`: a NaN is neither.
    if (integer ? !equal : !(error <= bound)) {
      ++mine.bad;
      mine.not_first_bad = larger(mine.not_first_bad, ~(u64)i);
    }
    if (!(error <= kErrorCap)) error = kErrorCap;
    mine.squared_error += error * error;
    mine.squared_reference += expected * expected;
    const double by = known ? 1 / squares : other_by;
    mine.scaled_error += by * error * error;
    mine.scaled_reference += by * expected * expected;
    mine.scaled_product += by * copysign(error, difference) * expected;
    if (error > mine.worst_ratio * bound) {
      mine.worst_ratio = bound > 0 ? fmin(error / bound, kErrorCap) : kErrorCap;
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
    a.scaled_error += b.scaled_error;
    a.scaled_reference += b.scaled_reference;
    a.scaled_product += b.scaled_product;
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
  atomicAdd(&result->scaled_error, all.scaled_error);
  atomicAdd(&result->scaled_reference, all.scaled_reference);
  atomicAdd(&result->scaled_product, all.scaled_product);
  // The bits of doubles that are not negative are ordered like the doubles.
  atomicMax(reinterpret_cast<u64*>(&result->worst_ratio),
            (u64)__double_as_longlong(all.worst_ratio));
}

extern "C" __global__ void assay_sum_squares(int dtype, const void* data, i64 n, double* sum) {
  double total = 0;
  for (i64 i = first_index(); i < n; i += stride()) {
    const double value = load_inline(dtype, data, i);
    if (!isinf(value)) total += value * value;
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
  for (int step = 16; step > 0; step /= 2) {
    total += __shfl_down_sync(~0u, total, step);
    integers += __shfl_down_sync(~0u, integers, step);
  }
  if (threadIdx.x % 32 != 0) return;
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
