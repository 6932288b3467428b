#pragma once

#include <string>
#include <string_view>

#include "pack/nearest_row.h"
#include "pack/pack.h"
#include "space/plan.h"

namespace assay {

/// How a configuration was found: the problem was tuned on this device; another problem or another
/// device was; or none is near, and what loses least over the whole table is taken. Or cuBLASLt is
/// called instead.
enum class Match { exact, near, otherwise, fallback };

/// What to launch for a problem.
struct Choice {
  const PackTable* table = nullptr;
  const PackRow* row = nullptr;
  const PackCode* code = nullptr;  // null for a fallback
  Match match = Match::exact;
  double factor = 1;  // how far the problem is from the row's: see Distance
  std::string why;    // why it is not exact, but for what `below` and `above` say
  /// The tuned problems around, where these decided.
  const PackRow* below = nullptr;
  const PackRow* above = nullptr;
  Plan plan;  // of a fallback: the arguments that the caller passes, alone
  const ReferenceSpec* product = nullptr;  // of a fallback
  int algorithm = 0;  // of a fallback: the row's if it is for this problem and GPU, else 0
};

/// Why the choice is not exact; empty if it is. A program rarely asks, so a choice does not wait
/// for this text.
std::string why_text(const Choice& choice);

/// Whether cuBLASLt may be called instead.
enum class Fallback { allowed, missing };

/// The op's problem with all of its dims and traits in order: those given, and defaults of traits.
/// Throws UsageError for an op or a name that the pack does not have, and for one that is missing.
Problem complete_problem(const Pack& pack, std::string_view op, const Problem& given);

/// The first of these whose code runs on the device, and whose constraints hold for this problem:
/// the row of the problem, tuned on a device of this name; the nearest row within `most_factor`;
/// the default row; any other row that was measured; defaults of contracts. Rows that were tuned on
/// a device of this name come first. Throws UsageError that says why none does.
///
/// Where cuBLASLt may be called, it is taken in the place of a row that was slower. It is also
/// taken in the place of a near row, unless the problem is between two that were tuned and differ
/// from it in one size, and the configuration of the one above was faster for both: see
/// PackRow::fast_for. That configuration is then taken.
Choice choose(const Pack& pack, std::string_view op, const Problem& problem,
              const DeviceInfo& device, double most_factor, Fallback fallback = Fallback::missing);

}  // namespace assay
