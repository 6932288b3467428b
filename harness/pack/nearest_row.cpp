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
    ++distance.num_other;
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

namespace {

/// The rows of an op, as they are offered.
struct Search {
  std::span<const double> numbers;  // of the problem
  double most_factor;
  const Ranked* last;
  Ranked next = {};

  void offer(const RowOrder& order, const PackTable& table, std::size_t row) {
    if (last != nullptr && !(last->order < order)) return;
    if (next.row != nullptr && !(order < next.order)) return;
    next.order = order;
    next.table = &table;
    next.row = &table.rows[row];
  }

  Distance distance(const PackTable& table, std::size_t row) const {
    const std::span<const double> all = table.numbers;
    return distance_of(all.subspan(row * numbers.size(), numbers.size()), numbers);
  }

  /// Offers those that are near. They are visited from the problem's first number on to both sides,
  /// until by that number alone the others are farther.
  void offer_near(const PackTable& table, int tier, std::size_t place) {
    const auto first_of = [&](std::size_t row) { return table.numbers[row * numbers.size()]; };
    const auto begin = table.by_first.begin(), end = table.by_first.end();
    auto right = std::ranges::lower_bound(begin, end, numbers[0], {}, first_of), left = right;
    const PackRow *below = nullptr, *above = nullptr;
    double above_factor = std::numeric_limits<double>::infinity();
    const auto may_be_next = [&](double factor) {
      const bool is_taken = next.row != nullptr && next.order.tier <= tier;
      return factor <= most_factor && (!is_taken || factor <= next.order.factor);
    };
    const auto visit = [&](std::size_t row) {
      const Distance to = distance(table, row);
      if (to.factor > most_factor || !is_measured(table.rows[row])) return;
      offer({tier, to.factor, place + row}, table, row);
      if (!to.is_above || to.num_other != 1 || to.factor >= above_factor) return;
      for (const std::size_t other : table.rows[row].fast_for) {
        if (!distance(table, other).is_below) continue;
        below = &table.rows[other];
        above = &table.rows[row];
        above_factor = to.factor;
      }
    };
    for (bool is_left = true, is_right = true; is_left || is_right;) {
      is_left = left != begin && may_be_next(numbers[0] / first_of(left[-1]));
      if (is_left) visit(*--left);
      const double factor = right == end ? 0 : first_of(*right) / numbers[0];
      is_right =
          right != end && (may_be_next(factor) || factor <= std::min(most_factor, above_factor));
      if (is_right) visit(*right++);
    }
    if (next.table == &table) {
      next.below = below;
      next.above = above;
    }
  }

  /// Offers the others.
  void offer_far(const PackTable& table, int other_device, std::size_t place) {
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      const double factor = distance(table, row).factor;
      const bool is_known = is_measured(table.rows[row]);
      if (is_known && factor <= most_factor) continue;
      const int tier = !is_known ? 6 : row == table.default_row ? 2 : 4;
      offer({tier + other_device, factor, place + row}, table, row);
    }
  }
};

}  // namespace

std::optional<Ranked> next_row(const Pack& pack, std::string_view op, const Problem& problem,
                               const DeviceInfo& device, double most_factor, const Ranked* last) {
  const std::vector<double> numbers = numbers_of(problem);
  Search search{numbers, most_factor, last};
  // Mostly a near row fits. Rows are neither kept nor sorted.
  for (const bool is_near : {true, false}) {
    std::size_t place = 0;
    for (const PackTable& table : pack.tables) {
      if (table.op != op) continue;
      const int other_device = table.device.name == device.name ? 0 : 1;
      is_near ? search.offer_near(table, other_device, place)
              : search.offer_far(table, other_device, place);
      place += table.rows.size();
    }
    if (search.next.row != nullptr) return search.next;
  }
  return std::nullopt;
}

}  // namespace assay
