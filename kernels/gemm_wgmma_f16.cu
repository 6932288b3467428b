// gemm_wgmma.cu with fp16 for bf16.

#include "common/gemm_wgmma.cuh"

#define Bf16 F16
#include "gemm_wgmma.cu"
