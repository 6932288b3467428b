#include "judge/bad_elements.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

/// Which of so many rows or columns: a range, every so-maniest, or how many. Empty: all.
std::string which(const std::vector<std::int64_t>& places, std::int64_t count, const char* noun) {
  const auto size = static_cast<std::int64_t>(places.size());
  const std::int64_t first = places.front(), last = places.back();
  if (size == count) return "";
  if (size == 1) return fmt::format("{} {}", noun, first);
  const std::int64_t step = places[1] - first;
  for (std::int64_t i = 1; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (places[at] - places[at - 1] != step) {
      return fmt::format("{} of {} {}s ({} to {})", size, count, noun, first, last);
    }
  }
  const bool to_the_end = last + step >= count;
  if (step > 1) {
    return fmt::format("every {} {} from {} {}", step == 2 ? "second" : fmt::format("{}th", step),
                       noun, first, to_the_end ? "on" : fmt::format("to {}", last));
  }
  if (to_the_end) return fmt::format("the last {} {}s (from {} on)", size, noun, first);
  return fmt::format("{}s {} to {}", noun, first, last);
}

void make_unique(std::vector<std::int64_t>& places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
}

}  // namespace

std::string pattern_of(const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& bad) {
  const std::int64_t num_columns = shape.back();
  std::int64_t num_rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) num_rows *= shape[i];
  std::vector<std::int64_t> rows, columns;
  for (const std::int64_t at : bad) {
    rows.push_back(at / num_columns);
    columns.push_back(at % num_columns);
  }
  make_unique(rows);
  make_unique(columns);
  const std::string of_rows = which(rows, num_rows, "row");
  const std::string of_columns = which(columns, num_columns, num_rows > 1 ? "column" : "element");
  const bool is_whole = bad.size() == rows.size() * columns.size();
  if (of_rows.empty() && of_columns.empty()) {
    return is_whole ? "wrong are all elements" : "wrong elements are in all rows and columns";
  }
  const std::string& ahead = of_columns.empty() ? of_rows : of_columns;
  const bool is_one = ahead.starts_with("every ") || ahead.starts_with("row ") ||
                      ahead.starts_with("column ") || ahead.starts_with("element ");
  const char* const begin = !is_whole ? "wrong elements are among"
                            : is_one  ? "wrong is"
                                      : "wrong are";
  return fmt::format("{} {}{}{}", begin, of_columns,
                     of_rows.empty() || of_columns.empty() ? "" : " of ", of_rows);
}

}  // namespace assay
