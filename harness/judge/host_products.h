#pragma once

#include "judge/operations/gemm.h"

namespace assay {

// References on the emulator, whose device memory is the host's: products, whose libraries need a
// GPU, and sums for which a kernel looks through all rows. They are added up in fp64, one after
// another; products take about as long as 1e9 products a second. What was enqueued must have ended.

/// out = a @ b.
void multiply_on_host(const GemmShape& gemm, const Operand& a, const Operand& b,
                      const Operand& out);

/// out = A x, as in `spmv`. Throws Failure `oracle` for a column that x does not have, or row
/// starts that do not rise from 0 to the number of values.
void multiply_sparse_on_host(const OperationCall& call);

/// out[index[i]] += x[i], as in `scatter_add`, and the terms of out where they are wanted.
void scatter_on_host(const OperationCall& call);

}  // namespace assay
