// swiglu.cu on M * TOP rows, as many as tokens have experts. M, TOP and N are macros.
constexpr long long kPairs = M * TOP;
#undef M
#define M kPairs
#include "swiglu.cu"
