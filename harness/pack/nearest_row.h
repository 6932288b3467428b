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

/// How far from a problem a row may be, where a program sets no other limit.
inline constexpr double kNearFactor = 16;

/// Where a tuned problem lies, seen from another.
struct Distance {
  /// The product over the sizes and traits of the larger over the smaller; infinite where only one
  /// is positive.
  double factor = 1;
  bool is_below = true, is_above = true;  // none of its sizes is larger, or smaller
  int num_other = 0;                      // sizes and traits that differ
};

/// Of two problems of an op, or of their numbers.
Distance distance_of(const Problem& tuned, const Problem& problem);
Distance distance_of(std::span<const double> tuned, std::span<const double> problem);

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
  /// Two near rows of the table between which the problem lies, the nearest above for whose
  /// problem and that below the configuration above was fast (PackRow::fast_for). Null: none.
  const PackRow* below = nullptr;
  const PackRow* above = nullptr;
};

/// The first row of the op to try behind `last`, which is null ahead of the first: near ones by
/// their distance, then the default of each table, then others, last what was not measured. Of each
/// of these, rows that were tuned on a device of this name come first.
std::optional<Ranked> next_row(const Pack& pack, std::string_view op, const Problem& problem,
                               const DeviceInfo& device, double most_factor, const Ranked* last);

}  // namespace assay
