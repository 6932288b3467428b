#include "base/recording.h"

#include <algorithm>
#include <cmath>

namespace assay {

double NoiseFloor::margin_ratio() const {
  // Fewer than six rounds have no interval; the ratio itself is then all there is.
  const bool bounded = ratio.low > 0 && std::isfinite(ratio.high);
  const double low = bounded ? ratio.low : ratio.value;
  const double high = bounded ? ratio.high : ratio.value;
  return std::max({high - 1, 1 / low - 1, 0.0});
}

}  // namespace assay
