// gemm_mma.cu with fp16 for bf16.

#include "common/gemm_mma.cuh"
#include "common/reduce_partials.cuh"

#define Bf16 F16
#include "gemm_mma.cu"
