#pragma once

#include <string>

#include "space/plan.h"

namespace assay {

/// Whether an input follows from another one by a computation of the host.
bool is_derived_on_host(const BufferPlan& plan);

/// The bytes of `plan`, an input that is made of `source`, whose bytes are given. Throws Failure
/// `launch` for an index that does not fit.
std::string derived(const BufferPlan& plan, const BufferPlan& source, const std::string& bytes);

}  // namespace assay
