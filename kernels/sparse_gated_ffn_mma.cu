// sparse_gated_ffn.cu without clusters and early launches (sm_80 and later).

#include "common/before_hopper.cuh"
#include "sparse_gated_ffn.cu"
