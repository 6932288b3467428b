#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The writer of recordings and their reader agree on this. results/README.md describes the rest.

/// Lines of which each leaves out what the one before says, with the whole line they begin with,
/// have no more bytes: all of that may stand for any short line that comes next.
inline constexpr std::size_t kMaxContinuedBytes = std::size_t{64} << 10;

/// Samples as text: the least of them, a step, and for each sample how many steps it lies above the
/// least. Up to 61 steps are one character (0 to 9, a to z, A to Z), more are a number in brackets:
/// "7520 32 4f0(137)1" are 7648, 8000, 7520, 11904 and 7552. A GPU's events have a step of 32 ns.
///
/// Samples are kept to a `parts`th: 10 keeps tenths. Nothing where one is no number of that kind.
std::optional<std::string> pack_samples(const std::vector<double>& samples, int parts);

/// Nothing where the text is not as above.
std::optional<std::vector<double>> unpack_samples(std::string_view text, int parts);

inline constexpr int kPartsPerNs = 10;
inline constexpr int kPartsPerMhz = 1;

}  // namespace assay
