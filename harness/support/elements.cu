// The harness's own kernels. They make inputs, compare outputs, compute references, evict L2 and
// hold the stream. NVRTC compiles them for the GPU at hand, and SupportKernels loads them.
// Constants and structs mirror those of the host. No header is included, because NVRTC alone must
// be enough: CMakeLists.txt puts the files together, one behind the other, as support.cu.
//
// Here is what they share: elements of any type, and poison.

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
enum DType {
  kBf16,
  kF16,
  kF32,
  kF64,
  kE4m3,
  kE5m2,
  kUe8m0,
  kE2m1,
  kI32,
  kI64,
  kU8,
  kI8,
  kI16,
  kU16,
  kU32,
  kU64
};

__device__ i64 first_index() { return blockIdx.x * (i64)blockDim.x + threadIdx.x; }
__device__ i64 stride() { return gridDim.x * (i64)blockDim.x; }

// The bits behind the leading one, the exponent's bias and the largest number of a small type.
struct SmallFloat {
  int bits, bias;
  float largest;
};

__device__ SmallFloat small_float(int dtype) {
  if (dtype == kE4m3) return {3, 7, 448};
  if (dtype == kE5m2) return {2, 15, 57344};
  return {1, 1, 6};
}

// Of e4m3, e5m2 and e2m1, without the sign: `code` has at most 7 bits.
__device__ float small_float_value(int dtype, u32 code) {
  const SmallFloat type = small_float(dtype);
  if (dtype == kE4m3 && code == 0x7F) return __uint_as_float(0x7FC00000);
  if (dtype == kE5m2 && code >= 0x7C) return __uint_as_float(code == 0x7C ? 0x7F800000 : 0x7FC00000);
  const int exponent = (int)(code >> type.bits);
  const u32 leading = exponent > 0 ? 1u << type.bits : 0;
  const int shift = (exponent > 0 ? exponent : 1) - type.bias - type.bits;
  return (float)((code & ((1u << type.bits) - 1)) | leading) *
         __uint_as_float((u32)(shift + 127) << 23);
}

// To nearest even; what is too large becomes the largest number.
__device__ u32 small_float_code(int dtype, float value) {
  const SmallFloat type = small_float(dtype);
  const u32 sign = __float_as_uint(value) >> 31 << (dtype == kE2m1 ? 3 : 7);
  if (value != value && dtype != kE2m1) return 0x7F | sign;
  const float size = fminf(fabsf(value), type.largest);
  int exponent = (int)(__float_as_uint(size) >> 23) - 127;
  if (exponent < 1 - type.bias) exponent = 1 - type.bias;
  const float steps = rintf(size * __uint_as_float((u32)(type.bits - exponent + 127) << 23));
  return (u32)(((exponent + type.bias - 1) << type.bits) + (int)steps) | sign;
}

// A power of two, rounded up.
__device__ u8 power_code(float value) {
  if (value != value) return 0xFF;
  const u32 bits = value > 5.877471754111438e-39f ? __float_as_uint(value) : 0;  // 2^-127
  const u32 code = (bits + 0x7FFFFF) >> 23;
  return (u8)(code > 254 ? 254 : code);
}

__device__ u16 bf16_bits(float value) {  // to nearest even; generators make no NaN
  const u32 bits = __float_as_uint(value);
  return (u16)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

// For the kernels that every checked sample waits for. The others call load() and store(), of which
// there is one copy each: NVRTC takes half the time.
__device__ __forceinline__ double load_inline(int dtype, const void* data, i64 i) {
  switch (dtype) {
    case kBf16:
      return __uint_as_float((u32) reinterpret_cast<const u16*>(data)[i] << 16);
    case kF16:
      return f16_value(reinterpret_cast<const u16*>(data)[i]);
    case kF32:
      return reinterpret_cast<const float*>(data)[i];
    case kF64:
      return reinterpret_cast<const double*>(data)[i];
    case kE4m3:
    case kE5m2: {
      const u32 bits = reinterpret_cast<const u8*>(data)[i];
      const float size = small_float_value(dtype, bits & 0x7F);
      return bits & 0x80 ? -size : size;
    }
    case kE2m1: {
      const u32 bits = reinterpret_cast<const u8*>(data)[i / 2] >> (i % 2 * 4);
      const float size = small_float_value(dtype, bits & 7);
      return bits & 8 ? -size : size;
    }
    case kUe8m0: {
      const u32 code = reinterpret_cast<const u8*>(data)[i];
      if (code == 0xFF) return __uint_as_float(0x7FC00000);
      return __uint_as_float(code == 0 ? 0x400000 : code << 23);
    }
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

__device__ __noinline__ double load(int dtype, const void* data, i64 i) {
  return load_inline(dtype, data, i);
}

// Two neighbours of e2m1 share a byte: one thread must store both.
__device__ __forceinline__ void store_inline(int dtype, void* data, i64 i, double value) {
  switch (dtype) {
    case kBf16:
      reinterpret_cast<u16*>(data)[i] = bf16_bits((float)value);
      return;
    case kF16:
      reinterpret_cast<u16*>(data)[i] = f16_bits((float)value);
      return;
    case kF32:
      reinterpret_cast<float*>(data)[i] = (float)value;
      return;
    case kF64:
      reinterpret_cast<double*>(data)[i] = value;
      return;
    case kE4m3:
    case kE5m2:
      reinterpret_cast<u8*>(data)[i] = (u8)small_float_code(dtype, (float)value);
      return;
    case kE2m1: {
      u8& byte = reinterpret_cast<u8*>(data)[i / 2];
      const int shift = (int)(i % 2) * 4;
      byte = (u8)((byte & ~(15 << shift)) | small_float_code(dtype, (float)value) << shift);
      return;
    }
    case kUe8m0:
      reinterpret_cast<u8*>(data)[i] = power_code((float)value);
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

__device__ __noinline__ void store(int dtype, void* data, i64 i, double value) {
  store_inline(dtype, data, i, value);
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
    case kE4m3:
    case kE5m2:
    case kUe8m0:
    case kE2m1:
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
