#include "report/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "report/table.h"

namespace assay {
namespace {

constexpr std::size_t kBarColumns = 50;
constexpr std::size_t kBesideBars = 24;  // "  1.234 us     1234  "

}  // namespace

std::string histogram(const std::vector<double>& samples_ns, std::size_t bins,
                      const Terminal& terminal) {
  // NaN has no place in an order or a bin; a recording or a database may hold any number.
  std::vector<double> sorted;
  std::copy_if(samples_ns.begin(), samples_ns.end(), std::back_inserter(sorted),
               [](double sample) { return std::isfinite(sample); });
  const std::size_t num_left_out = samples_ns.size() - sorted.size();
  const std::string note = num_left_out > 0 ? fmt::format("{} of {} samples are no numbers\n",
                                                          num_left_out, samples_ns.size())
                                            : "";
  if (sorted.empty() || bins == 0) return note;
  std::sort(sorted.begin(), sorted.end());
  const double low = sorted.front();
  const double high = sorted[(sorted.size() - 1) * 99 / 100];
  if (high <= low) bins = 1;
  std::vector<std::size_t> counts(bins, 0);
  for (double sample : sorted) {
    const double at = high > low ? (sample - low) / (high - low) * static_cast<double>(bins) : 0;
    ++counts[at < static_cast<double>(bins) ? static_cast<std::size_t>(at) : bins - 1];
  }
  const std::size_t most = *std::max_element(counts.begin(), counts.end());
  const std::size_t bar_columns =
      terminal.columns == 0
          ? kBarColumns
          : std::clamp<std::size_t>(terminal.columns, kBesideBars + 10, kBesideBars + kBarColumns) -
                kBesideBars;
  Table table({">from", ">samples", ""});
  for (std::size_t i = 0; i < bins; ++i) {
    const double from = low + (high - low) * static_cast<double>(i) / static_cast<double>(bins);
    // A bin that is not empty shows at least one mark.
    table.add_row({format_time(from), std::to_string(counts[i]),
                   std::string((counts[i] * bar_columns + most - 1) / most, '#')});
  }
  std::string text = table.text(Terminal{});
  if (sorted.back() > high) {
    text +=
        fmt::format("the last line holds the slowest too, up to {}\n", format_time(sorted.back()));
  }
  return text + note;
}

}  // namespace assay
