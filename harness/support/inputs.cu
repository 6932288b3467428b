// What inputs are filled with, and their hash.

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

// Box-Muller on two 32-bit uniforms; the largest value is sqrt(-2 ln 2^-33), 6.8. The approximate
// functions are off by 2^-21. With exact ones, inputs that are drawn anew for each launch cost ten
// times as much as the launch.
__device__ float2 normal_pair(u64 bits) {
  const float u = ((float)(u32)(bits >> 32) + 0.5f) * 2.3283064365386963e-10f;
  const float angle = (float)(int)(u32)bits * 1.4629180792671596e-9f;  // in [-pi, pi]
  const float radius = approximate_sqrt(fmaxf(-2.0f * __logf(u), 0.0f));
  return {radius * __cosf(angle), radius * __sinf(angle)};
}

// In [0, 1).
__device__ float2 uniform_pair(u64 bits) {
  return {(float)(u32)(bits >> 40) * 5.960464477539063e-8f,
          (float)((u32)bits >> 8) * 5.960464477539063e-8f};
}

// A four-round Feistel network is a bijection of 2^bits. Repeating it until the value is below n
// makes it a bijection of [0, n).
__device__ __noinline__ u64 permute(u64 key, u64 i, u64 n) {
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

// The number of draw `slot` among 0 to n - 1 without putting back, where each number's share of the
// draws falls like the power -skew of itself plus one. The largest of log(share) + a Gumbel number
// is such a draw, the second largest the next one, and so on.
__device__ __noinline__ u64 popular(u64 key, u64 slot, u64 n, double skew) {
  double bound = 0;
  u64 drawn = n;  // none yet
  for (u64 pass = 0; pass <= slot; ++pass) {
    double best = 0;
    u64 found = n;
    for (u64 i = 0; i < n; ++i) {
      const double u = ((double)(random_bits(key, i) >> 11) + 0.5) * 1.1102230246251565e-16;
      const double score = -skew * log(i + 1.0) - log(-log(u));
      if (pass > 0 && (score > bound || (score == bound && i <= drawn))) continue;
      if (found == n || score > best) {
        best = score;
        found = i;
      }
    }
    bound = best;
    drawn = found;
  }
  return drawn;
}

// For each token `top` different experts. If only `hit` of them are to be met, then each is: the
// first tokens take them in turn. With a skew some experts are chosen more often than others; which
// ones, depends on the key.
__device__ u64 routed(i64 i, u64 key, u64 experts, u64 top, u64 hit, double skew) {
  const u64 token = i / top, slot = i % top, own_key = random_bits(key, token);
  if (hit == 0 && skew == 0) return permute(own_key, slot, experts);
  const u64 met = hit == 0 ? experts : hit;
  u64 local;
  if (hit != 0 && token * top < hit) {
    local = i % hit;
  } else {
    local = skew == 0 ? permute(own_key, slot, met) : popular(own_key, slot, met, skew);
  }
  return permute(~key, local, experts);
}

// The places where n - 1 rows begin, and where the last one ends. With a skew, later rows are
// longer.
__device__ __noinline__ double row_start(i64 i, i64 n, u64 bits, double nonzeros, double skew) {
  if (i == 0 || i == n - 1) return i == 0 ? 0 : nonzeros;
  const double moved = (double)(bits >> 11) * 1.1102230246251565e-16 - 0.5;
  return floor(nonzeros * pow((i + moved) / (n - 1), 1 + skew));
}

// Where the choice that stands at `i` comes from if all tokens change places.
__device__ i64 other_place(u64 places, i64 i, i64 n, i64 top) {
  return places == 0 ? i : (i64)permute(places, i / top, n / top) * top + i % top;
}

// One element. The last numbers are those of FillRecipe. Uniform numbers lie in [first, second).
__device__ double generated(int generator, int dtype, i64 i, i64 n, u64 key, double first,
                            double second, double third, double fourth, u64 places) {
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
      return (double)routed(other_place(places, i, n, (i64)second), key, (u64)first, (u64)second,
                            (u64)third, fourth);
    case kDistinct:
      return (double)permute(key, i, (u64)first);
    case kRowStarts:
      return row_start(i, n, bits, first, second);
    default:
      return 0;
  }
}

__device__ u32 half_bits(int dtype, float value) {
  return dtype == kBf16 ? bf16_bits(value) : f16_bits(value);
}

// Fills with random numbers, 16 bytes at a time; neighbours share their random bits. Two pairs make
// 16 bytes of f32, four make 16 of a half type. `out` is 16-byte aligned, unless less than 16 bytes
// are filled.
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
                                      double first, double second, double third, double fourth,
                                      u64 places) {
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
  const i64 width = dtype == kE2m1 ? 2 : 1;
  for (i64 begin = first_index() * width; begin < n; begin += stride() * width) {
    for (i64 i = begin; i < begin + width && i < n; ++i) {
      store(dtype, out, i,
            generated(generator, dtype, i, n, key, first, second, third, fourth, places));
    }
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

// The order of assay::DataKind.
enum DataKind { kAsDrawn, kShifted, kScaledRows, kSparse, kConstant, kLarge, kPlanted };

// Makes other data of random numbers, in place. A row has `columns` elements.
extern "C" __global__ void assay_vary(int kind, int dtype, void* data, i64 n, i64 columns, u64 key,
                                      double mean, double std) {
  if (dtype == kE2m1) return;  // neighbours share a byte
  for (i64 i = first_index(); i < n; i += stride()) {
    double value = load(dtype, data, i);
    switch (kind) {
      case kShifted:
        value += 0.25 * std;
        break;
      case kScaledRows:
        value *= exp2f(-(float)(random_bits(key, i / columns) % 9));
        break;
      case kSparse:
        if (random_bits(key, i / 32) & 1) value = 0;
        break;
      case kConstant:
        // A power of two: each step of a sum of others would be rounded alike.
        value = mean + exp2(rint(log2(0.25 * std)));
        break;
      case kLarge:
        value *= 64;
    }
    store(dtype, data, i, value);
  }
}

// Puts one to three values into each row, at places that nobody can foresee: each adds as much to
// the row's sum of squares as all others together. So no part of a row stands for the row.
extern "C" __global__ void assay_plant(int dtype, void* data, i64 rows, i64 columns, u64 key,
                                       double std) {
  constexpr int kMost = 3;
  for (i64 row = first_index(); row < rows; row += stride()) {
    const int planted = 1 + (int)(random_bits(~key, row) % kMost);
    for (int i = 0; i < planted; ++i) {
      const u64 bits = random_bits(key, row * kMost + i);
      const double value = sqrt((double)columns) * std;
      store(dtype, data, row * columns + (i64)((bits >> 1) % (u64)columns),
            bits & 1 ? value : -value);
    }
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
