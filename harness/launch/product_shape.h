#pragma once

#include "cuda/lt_product.h"
#include "space/plan.h"

namespace assay {

/// What cuBLASLt computes where the plan's reference is one product.
LtShape product_shape(const Plan& plan);

}  // namespace assay
