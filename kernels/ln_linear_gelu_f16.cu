// ln_linear_gelu.cu with fp16 for bf16.

#include "common/gemm_wgmma.cuh"
#include "common/wgmma/panel_scales.cuh"

#define Bf16 F16
#include "ln_linear_gelu.cu"
