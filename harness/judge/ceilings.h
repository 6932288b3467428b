#pragma once

#include <optional>
#include <string>

#include "judge/operation.h"
#include "messages/requests.h"
#include "timing/timer.h"

namespace assay {

/// Measures what the GPU can do at most, in about a second. The rates of products stay 0 when
/// cuBLAS is not there, and each where it cannot do such a product.
Ceilings measure_ceilings(OperationEngine& engine, Timer& timer, std::size_t l2_bytes);

/// The least times that the ceilings allow for parts of `plan`, which took `time_ns`; 0 where no
/// ceiling is known. Operations on f32 are those without tensor cores, unless they were done faster
/// than that: then they are tf32's, one for each of them, however many a kernel makes of it.
struct LeastTimes {
  double operations_ns = 0;
  double memory_ns = 0;    // of its bytes, from L2 under the protocol `hot`
  double launches_ns = 0;  // of as many launches that do nothing
};
LeastTimes least_times(const Plan& plan, const Ceilings& ceilings, Preparation preparation,
                       double time_ns);

/// The least time that the ceilings allow for `plan`, which took `time_ns`: the time of its
/// operations or of its bytes, whichever is longer. 0 when no ceiling is known. Short work at boost
/// clock can be faster, because a ceiling is what large work sustains.
double roofline_ns(const Plan& plan, const Ceilings& ceilings, Preparation preparation,
                   double time_ns);

/// Why a time of `plan` cannot be true: its work takes longer at the ceilings, even with a margin,
/// or launches that do nothing take longer. Names the ceiling. Nothing when it can be true. A
/// ceiling of 0 is unknown and forbids nothing.
std::optional<std::string> implausible(const Plan& plan, double time_ns, const Ceilings& ceilings,
                                       Preparation preparation);

}  // namespace assay
