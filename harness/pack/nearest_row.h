#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "base/device_info.h"
#include "pack/pack.h"

// Which rows of a pack are near a problem. A program waits while it is compared with all.

namespace assay {

/// Where a tuned problem lies, seen from another.
struct Distance {
  /// The product over the sizes and traits of the larger over the smaller; infinite where only one
  /// is positive.
  double factor = 1;
  bool is_below = true, is_above = true;  // none of its sizes is larger, or smaller
};

/// Of two problems of an op, or of their numbers.
Distance distance_of(const Problem& tuned, const Problem& problem);
Distance distance_of(std::span<const double> tuned, std::span<const double> problem);

/// The nearest of the tuned problems whose sizes are none larger than a problem's, and of those
/// whose sizes are none smaller. A problem between two is neither so small that a tile of the
/// larger one's configuration is wasted, nor so large that one more is needed.
class Around {
 public:
  /// `place` is what below() and above() say of it. The problem itself is on neither side.
  void add(const Distance& distance, std::size_t place);

  std::optional<std::size_t> below() const { return below_.place; }
  std::optional<std::size_t> above() const { return above_.place; }
  /// How far they are; infinite where there are none.
  double below_factor() const { return below_.factor; }
  double above_factor() const { return above_.factor; }

 private:
  struct Nearest {
    std::optional<std::size_t> place;
    double factor = std::numeric_limits<double>::infinity();
  };

  Nearest below_, above_;
};

/// What decides which of two rows is tried first.
struct RowOrder {
  int tier = 0;  // lower ones first
  double factor = 1;
  std::size_t place = 0;  // among all rows of the op

  bool operator<(const RowOrder& other) const {
    if (tier != other.tier) return tier < other.tier;
    return factor != other.factor ? factor < other.factor : place < other.place;
  }
};

/// A row to try.
struct Ranked {
  RowOrder order;
  const PackTable* table = nullptr;
  const PackRow* row = nullptr;
  Around around = {};  // of the rows of the table that are near
};

/// The first row of the op to try behind `last`, which is null ahead of the first: near ones by
/// their distance, then the default of each table, then others, last what was not measured. Of each
/// of these, rows that were tuned on a device of this name come first.
std::optional<Ranked> next_row(const Pack& pack, std::string_view op, const Problem& problem,
                               const DeviceInfo& device, double most_factor, const Ranked* last);

}  // namespace assay
