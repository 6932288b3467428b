#pragma once

#include "base/c_layout.h"
#include "cuda/handles.h"
#include "cuda/lt_product.h"
#include "space/plan.h"

// The values that a launch passes, as the driver takes them.

namespace assay {

/// How an argument of the plan lies in memory.
Layout layout_of(const Plan& plan, std::size_t place);

void write_scalar(const ScalarPlan& scalar, void* slot);

/// Writes the descriptor of `buffer`, which lies at `data`. Throws CudaError.
void write_tensor_map(const Driver& driver, const TensorMapPlan& map, const BufferPlan& buffer,
                      CUdeviceptr data, void* slot);

/// A texture that reads the buffer where it lies. Throws Failure (`launch`) or CudaError.
Texture make_texture(const Driver& driver, const BufferPlan& buffer, CUdeviceptr data);

/// What cuBLASLt computes for a product of the plan's buffers.
LtShape product_shape(const Plan& plan, const ReferenceSpec& product);

}  // namespace assay
