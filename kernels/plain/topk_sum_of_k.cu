// topk_sum.cu on rows of K elements, as a whole layer has them. M, TOP and K are macros.
#undef N
#define N K
#include "topk_sum.cu"
