// sparse_ffn.cu without clusters and early launches (sm_80 and later).

#include "common/sparse/launches_in_turn.cuh"
#include "sparse_ffn.cu"
