// The harness's own kernels: fills, comparisons, L2 flush, stream hold.
