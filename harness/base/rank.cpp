#include "base/rank.h"

#include <algorithm>
#include <cmath>

#include "base/find_named.h"

namespace assay {

double NoiseFloor::margin_ratio() const {
  // With fewer than six rounds there is no interval, so take the ratio itself.
  const bool bounded = ratio.low > 0 && std::isfinite(ratio.high);
  const double low = bounded ? ratio.low : ratio.value;
  const double high = bounded ? ratio.high : ratio.value;
  return std::max({high - 1, 1 / low - 1, 0.0});
}

KernelVersion RankRecord::version_of(const std::string& kernel) const {
  const auto* found = find_named(kernels, kernel);
  return found == nullptr ? KernelVersion{} : *found;
}

}  // namespace assay
