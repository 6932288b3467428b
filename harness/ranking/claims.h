#pragma once

#include <string>
#include <vector>

#include "base/rank.h"

namespace assay {

/// What `rank` says that its own samples contradict, as "'rounds' is 30, but there are samples of
/// 20"; empty when they agree. Everything that rank_entries computes is computed again. What lies
/// within the digits that a recording keeps agrees.
///
/// What breaks a tie is not in the verdict, so any configuration may be the winner that is as near
/// to the fastest as a winner must be.
std::string contradiction(const RankRecord& rank);

/// The same of a time: its median and the interval of that.
std::string contradiction(const Timing& timing);

}  // namespace assay
