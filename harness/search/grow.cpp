#include "search/grow.h"

#include <algorithm>

#include "search/refine.h"

namespace assay {

void grow(Points& points, const std::vector<Observation>& history, std::set<std::size_t>& grown,
          const std::function<bool(std::span<const int> point)>& is_valid) {
  constexpr std::size_t kNumFastest = 4;
  const std::vector<Observation> fastest = fastest_first(points, history);
  for (std::size_t i = 0; i < std::min(kNumFastest, fastest.size()); ++i) {
    if (!grown.insert(fastest[i].index).second) continue;
    const std::span<const int> values = points[fastest[i].index];
    std::vector<int> point(values.begin(), values.end());
    for (std::size_t param = 0; param < point.size(); ++param) {
      const int own = point[param];
      for (int value = 0; value < points.num_values()[param]; ++value) {
        point[param] = value;
        if (!points.find(point) && is_valid(point)) points.add(point);
      }
      point[param] = own;
    }
  }
}

}  // namespace assay
