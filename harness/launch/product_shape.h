#pragma once

#include "cuda/lt_product.h"
#include "space/plan.h"
#include "spec/kernel_spec.h"

namespace assay {

/// What cuBLASLt computes for a product of the plan's buffers.
LtShape product_shape(const Plan& plan, const ReferenceSpec& product);

}  // namespace assay
