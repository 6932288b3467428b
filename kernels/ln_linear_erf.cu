// gelu(layer_norm(X) W^T + b), by erf.

#include "ln_linear.cu"
