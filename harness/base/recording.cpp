#include "base/recording.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

struct Named {
  Objective objective;
  std::string_view text;
};
constexpr std::array kObjectives{
    Named{Objective::time, "time"},
    Named{Objective::energy, "energy"},
    Named{Objective::edp, "edp"},
};

}  // namespace

std::string_view to_text(Objective objective) {
  for (const Named& row : kObjectives) {
    if (row.objective == objective) return row.text;
  }
  return "unknown";
}

std::optional<Objective> parse_objective(std::string_view text) {
  for (const Named& row : kObjectives) {
    if (row.text == text) return row.objective;
  }
  return std::nullopt;
}

double NoiseFloor::margin_ratio() const {
  // Fewer than six rounds have no interval; the ratio itself is then all there is.
  const bool bounded = ratio.low > 0 && std::isfinite(ratio.high);
  const double low = bounded ? ratio.low : ratio.value;
  const double high = bounded ? ratio.high : ratio.value;
  return std::max({high - 1, 1 / low - 1, 0.0});
}

}  // namespace assay
