#pragma once

// What every device header starts from. NVRTC gets no toolkit header (parsing cuda_bf16.h or
// libcu++ costs more than compiling the kernel), so the few names that kernels need are defined
// here.

/// On functions that the host compiles too: index maths that CPU tests check.
#ifdef __CUDACC__
#define ASSAY_HD __host__ __device__ __forceinline__
#else
#define ASSAY_HD inline
#endif

/// A 16-bit float as stored; arithmetic on it happens in fp32 or inside mma.
struct alignas(2) Bf16 {
  unsigned short bits;
};
struct alignas(2) F16 {
  unsigned short bits;
};

/// Sixteen bytes: the widest load or store of one thread.
struct alignas(16) Chunk {
  unsigned word[4];
};
struct alignas(16) Quad {
  float lane[4];
};

ASSAY_HD constexpr int cdiv(int a, int b) { return a / b + (a % b != 0 ? 1 : 0); }
ASSAY_HD constexpr int smaller(int a, int b) { return a < b ? a : b; }
ASSAY_HD constexpr int larger(int a, int b) { return a < b ? b : a; }
