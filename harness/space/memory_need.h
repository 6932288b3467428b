#pragma once

#include <cstdint>

#include "space/plan.h"

namespace assay {

/// How much device memory a run of the plan needs: the bytes of the buffers that its launches get,
/// by themselves or by a descriptor. These are inputs, outputs, scratch and what is prepared. What
/// only a reference, a baseline or a launch of `prepare` reads does not count.
std::int64_t memory_bytes(const Plan& plan);

}  // namespace assay
