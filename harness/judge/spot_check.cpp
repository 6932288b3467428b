#include "judge/spot_check.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>

#include "judge/tolerance.h"
#include "support/inputs.h"

namespace assay {
namespace {

// A wrong layout or leading dimension makes nearly all elements wrong.
constexpr int kNumSamples = 64;

std::set<std::int64_t> sampled(std::string_view name, std::int64_t elements) {
  std::set<std::int64_t> indices{0, elements - 1};
  for (std::uint64_t i = 0; i < kNumSamples; ++i) {
    const std::uint64_t random = generator_key(i, name);
    indices.insert(static_cast<std::int64_t>(random % static_cast<std::uint64_t>(elements)));
  }
  return indices;
}

}  // namespace

bool spot_check(const OperationRow& row, const Operation& operation, const OperationCall& call,
                const std::vector<OutputShape>& made, const ReadElements& read) {
  for (std::size_t output = 0; output < made.size(); ++output) {
    const Operand& out = call.operand(std::string(row.outputs[output].name));
    for (const std::int64_t index : sampled(row.name, out.elements())) {
      const std::optional<ExactElement> exact = operation.exact(call, output, index, read);
      if (!exact) return false;
      const double found = read(out, index, 1, 1)[0];
      double bound = exactness_bound(made[output].arithmetic, exact->value, exact->scale) +
                     std::numeric_limits<float>::denorm_min();
      // What a step rounds to 16 bits; below the normal range of f16, by half their distance.
      if (out.dtype == DType::bf16 || out.dtype == DType::f16) {
        bound += unit_roundoff(out.dtype) * std::abs(exact->value) + std::ldexp(1.0, -25);
      }
      if (!(std::abs(found - exact->value) <= bound)) {
        throw oracle_failure(fmt::format(
            "the reference itself is wrong: {} made {} at element {}, the host {} (bound {:.3g})",
            row.name, found, index, exact->value, bound));
      }
    }
  }
  return true;
}

}  // namespace assay
