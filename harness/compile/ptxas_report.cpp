// What ptxas 13.0 writes for each entry (12.x leaves out the third line's "ptxas         ."):
//
//   ptxas info    : Compiling entry function 'sgemm' for 'sm_90a'
//   ptxas info    : Function properties for sgemm
//   ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 58 registers, used 1 barriers, 8448 bytes smem
//   ptxas info    : Compile time = 32.617 ms
//
// and once `ptxas info    : 28 bytes gmem, 4 bytes cmem[3]`. Functions that are not inlined have
// the second and third line only.
//
// This is the end of the log. Before it stands what the front end says. There, too, a line can look
// like that: a source may have any text in a `[[deprecated("...")]]`. But behind that text the
// front end quotes the line of the source, so what stands at the end is of ptxas alone.

#include "compile/ptxas_report.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

namespace assay {
namespace {

/// The number right before `suffix`, as in `8448 bytes smem`.
std::optional<int> number_before(std::string_view line, std::string_view suffix) {
  const std::size_t end = line.find(suffix);
  if (end == std::string_view::npos) return std::nullopt;
  std::size_t first = end;
  while (first > 0 && line[first - 1] >= '0' && line[first - 1] <= '9') --first;
  int number = 0;
  const auto [last, error] = std::from_chars(line.data() + first, line.data() + end, number);
  if (error != std::errc() || last != line.data() + end) return std::nullopt;
  return number;
}

void keep_most(int& most, std::optional<int> number) { most = std::max(most, number.value_or(0)); }

void add(int& sum, std::optional<int> number) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  sum = static_cast<int>(std::min(std::int64_t{sum} + number.value_or(0), kMost));
}

bool is_of_ptxas(std::string_view line) {
  return line.empty() || line.starts_with("ptxas ") || number_before(line, " bytes stack frame, ");
}

/// Where what ptxas says begins.
std::size_t find_ptxas(std::string_view log) {
  std::size_t begin = log.size();
  while (begin > 0) {
    const std::size_t before = log.substr(0, begin - 1).rfind('\n') + 1;  // npos + 1 is 0
    std::string_view line = log.substr(before, begin - before);
    if (line.ends_with('\n')) line.remove_suffix(1);
    if (!is_of_ptxas(line)) break;
    begin = before;
  }
  return begin;
}

/// Whether the line is part of the report; if so, adds what it says.
bool take_line(std::string_view line, CompileReport& report) {
  if (const auto stack = number_before(line, " bytes stack frame, ")) {
    keep_most(report.stack_bytes, stack);
    add(report.spill_bytes, number_before(line, " bytes spill stores"));
    add(report.spill_bytes, number_before(line, " bytes spill loads"));
    return true;
  }
  constexpr std::string_view kPrefix = "ptxas info    : ";
  if (!line.starts_with(kPrefix)) return false;
  line.remove_prefix(kPrefix.size());
  if (line.starts_with("Used ")) {
    keep_most(report.registers, number_before(line, " registers"));
    keep_most(report.static_smem_bytes, number_before(line, " bytes smem"));
    return true;
  }
  return line.starts_with("Compiling entry function ") ||
         line.starts_with("Function properties for ") || line.starts_with("Compile time = ") ||
         number_before(line, " bytes gmem") || number_before(line, " bytes cmem");
}

}  // namespace

std::string take_ptxas_report(std::string_view log, CompileReport& report) {
  const std::size_t begin = find_ptxas(log);
  std::string rest(log.substr(0, begin));
  log.remove_prefix(begin);
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    if (!take_line(line, report)) rest.append(line).append("\n");
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  const std::size_t first = rest.find_first_not_of('\n');
  if (first == std::string::npos) return "";
  return rest.substr(first, rest.find_last_not_of('\n') - first + 1);
}

}  // namespace assay
