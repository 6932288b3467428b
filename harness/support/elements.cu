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
enum DType { kBf16, kF16, kF32, kF64, kI32, kI64, kU8, kI8, kI16, kU16, kU32, kU64 };

__device__ i64 first_index() { return blockIdx.x * (i64)blockDim.x + threadIdx.x; }
__device__ i64 stride() { return gridDim.x * (i64)blockDim.x; }

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
