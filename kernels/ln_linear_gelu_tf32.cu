// ln_linear_gelu_f32.cu with one product of tf32.

#include "ln_linear_gelu_f32.cu"
