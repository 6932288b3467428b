#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

namespace assay {
namespace {

/// Damerau's distance (optimal string alignment) in thirds of a letter: one is inserted, deleted or
/// replaced, or two change places, for 3; the case of one changes for 1.
std::size_t distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<std::size_t> before, above, row(b.size() + 1);  // the rows of a's prefixes
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = 3 * j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = 3 * i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = a[i - 1], y = b[j - 1];
      const std::size_t replaced = above[j - 1] + (x == y ? 0 : lower(x) == lower(y) ? 1 : 3);
      row[j] = std::min({replaced, above[j] + 3, row[j - 1] + 3});
      if (i > 1 && j > 1 && x == b[j - 2] && y == a[i - 2])
        row[j] = std::min(row[j], before[j - 2] + 3);
    }
  }
  return row[b.size()];
}

// Longer words are nobody's typing mistake, and the distance costs the product of the lengths.
constexpr std::size_t kLongestWord = 64;

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kLongestWord) return {};
  std::string best;
  // A third of the letters may be wrong: "BLOK" finds "BLOCK", "M" does not find "N".
  std::size_t limit = word.size() + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestWord) continue;
    const std::size_t d = distance(word, candidate);
    if (d < limit) {
      best = candidate;
      limit = d;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  if (const std::string near = nearest(word, known); !near.empty()) {
    return fmt::format("; did you mean \"{}\"?", near);
  }
  return known.empty() ? "" : fmt::format("; known are {}", fmt::join(known, ", "));
}

}  // namespace assay
