#pragma once

#include <cstddef>
#include <random>

namespace assay {

using Random = std::mt19937_64;

/// A number below `bound`: the high word of a 64 x 64-bit product, whose bias is at most
/// bound / 2^64. The standard's distributions give other numbers in other libraries.
inline std::size_t below(Random& random, std::size_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>((static_cast<Wide>(random()) * bound) >> 64);
}

/// Uniform in [0, 1).
inline double uniform(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

}  // namespace assay
