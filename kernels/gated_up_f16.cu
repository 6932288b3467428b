// gated_up.cu with fp16 for bf16.

#include "common/gemm_wgmma.cuh"

#define Bf16 F16
#include "gated_up.cu"
