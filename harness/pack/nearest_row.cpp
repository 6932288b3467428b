#include "pack/nearest_row.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace assay {

Distance distance_of(std::span<const double> tuned, std::span<const double> problem) {
  Distance distance;
  double larger = 1, smaller = 1;
  bool is_finite = true;
  for (std::size_t i = 0; i < problem.size(); ++i) {
    const double x = tuned[i], y = problem[i];
    if (x == y) continue;
    (x < y ? distance.is_above : distance.is_below) = false;
    is_finite = is_finite && x > 0 && y > 0;
    larger *= std::max(x, y);
    smaller *= std::min(x, y);
  }
  distance.factor = is_finite ? larger / smaller : std::numeric_limits<double>::infinity();
  return distance;
}

Distance distance_of(const Problem& tuned, const Problem& problem) {
  return distance_of(numbers_of(tuned), numbers_of(problem));
}

void Around::add(const Distance& distance, std::size_t place) {
  if (distance.is_below == distance.is_above) return;
  Nearest& nearest = distance.is_below ? below_ : above_;
  if (!nearest.place || distance.factor < nearest.factor) nearest = {place, distance.factor};
}

std::optional<Ranked> next_row(const Pack& pack, std::string_view op, const Problem& problem,
                               const DeviceInfo& device, double most_factor, const Ranked* last) {
  const std::vector<double> numbers = numbers_of(problem);
  // Rows are neither kept nor sorted: mostly the first fits.
  Ranked next;
  std::size_t place = 0;
  for (const PackTable& table : pack.tables) {
    if (table.op != op) continue;
    const int other_device = table.device.name == device.name ? 0 : 1;
    const PackRow* const default_row = &table.rows[table.default_row];
    Around around;
    std::span<const double> rest = table.numbers;
    for (const PackRow& row : table.rows) {
      const Distance distance = distance_of(rest.first(numbers.size()), numbers);
      rest = rest.subspan(numbers.size());
      int tier = 6;
      if (is_measured(row)) {
        tier = &row == default_row ? 2 : 4;
        if (distance.factor <= most_factor) {
          tier = 0;
          around.add(distance, static_cast<std::size_t>(&row - table.rows.data()));
        }
      }
      const RowOrder order{tier + other_device, distance.factor, place++};
      if (last != nullptr && !(last->order < order)) continue;
      if (next.row != nullptr && !(order < next.order)) continue;
      next.order = order;
      next.table = &table;
      next.row = &row;
    }
    if (next.table == &table) next.around = around;
  }
  if (next.row == nullptr) return std::nullopt;
  return next;
}

}  // namespace assay
