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

#include "compile/compiler_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>

#include "base/text.h"

namespace assay {
namespace {

/// The number right before `suffix`, as in `8448 bytes smem`.
std::optional<int> number_before(std::string_view line, std::string_view suffix) {
  const std::size_t end = line.find(suffix);
  if (end == std::string_view::npos) return std::nullopt;
  std::size_t first = end;
  while (first > 0 && is_digit(line[first - 1])) --first;
  return number_of<int>(line.substr(first, end - first));
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

struct Advice {
  std::string_view name;
  std::string_view advice;
};

// The table in kernels/README.md has these, too.
constexpr Advice kHeaders[] = {
    {"algorithm", "leave it out; min and max are built in"},
    {"assert.h", "leave it out; assert is built in"},
    {"math.h", "leave it out; sqrtf and its like are built in"},
    {"stdint.h", "write #include <cuda/std/cstdint>"},
    {"stdio.h", "leave it out; printf is built in"},
    {"cstdio", "leave it out; printf is built in"},
    {"stdlib.h", "leave it out; malloc and free are built in"},
    {"string.h", "leave it out; memcpy and memset are built in"},
    {"float.h", "write #include <cuda/std/limits>, which has cuda::std::numeric_limits"},
    {"limits.h", "write #include <cuda/std/climits>"},
};

// Headers of the standard library that the toolkit has below cuda/std.
constexpr std::string_view kStandard[] = {
    "array",       "atomic",   "bit",        "bitset",           "cassert",  "cfloat",  "chrono",
    "climits",     "cmath",    "complex",    "concepts",         "cstddef",  "cstdint", "cstdlib",
    "cstring",     "expected", "functional", "initializer_list", "iterator", "limits",  "memory",
    "numbers",     "numeric",  "optional",   "ranges",           "ratio",    "span",    "tuple",
    "type_traits", "utility",  "variant",
};

constexpr Advice kNames[] = {
    {"INFINITY", "write #include <cuda/std/cmath>"},
    {"NAN", "write #include <cuda/std/cmath>"},
    {"HUGE_VALF", "write INFINITY and #include <cuda/std/cmath>"},
    {"M_PI", "write CUDART_PI and #include <math_constants.h>"},
    {"FLT_MAX", "write cuda::std::numeric_limits<float>::max() and #include <cuda/std/limits>"},
    {"FLT_MIN", "write cuda::std::numeric_limits<float>::min() and #include <cuda/std/limits>"},
    {"FLT_EPSILON",
     "write cuda::std::numeric_limits<float>::epsilon() and #include <cuda/std/limits>"},
    {"DBL_MAX", "write cuda::std::numeric_limits<double>::max() and #include <cuda/std/limits>"},
    {"INT_MAX", "write #include <cuda/std/climits>"},
    {"INT_MIN", "write #include <cuda/std/climits>"},
    {"UINT_MAX", "write #include <cuda/std/climits>"},
    {"uint", "write unsigned int, or compile: {define: {uint: unsigned int}} in the contract"},
    {"half", "write #include <cuda_fp16.h>"},
    {"__half", "write #include <cuda_fp16.h>"},
    {"half2", "write #include <cuda_fp16.h>"},
    {"__half2", "write #include <cuda_fp16.h>"},
    {"__nv_bfloat16", "write #include <cuda_bf16.h>"},
    {"__nv_bfloat162", "write #include <cuda_bf16.h>"},
};

bool is_sized_integer(std::string_view name) {
  if (name.starts_with('u')) name.remove_prefix(1);
  return name == "int8_t" || name == "int16_t" || name == "int32_t" || name == "int64_t" ||
         name == "intptr_t";
}

std::string advice_on_header(std::string_view name) {
  for (const Advice& row : kHeaders) {
    if (row.name == name) return std::string(row.advice);
  }
  if (std::ranges::find(kStandard, name) != std::end(kStandard)) {
    return fmt::format("write #include <cuda/std/{}>, whose names are in cuda::std", name);
  }
  constexpr std::string_view kHost[] = {"iostream", "vector", "string",  "map",   "stdexcept",
                                        "thread",   "mutex",  "fstream", "random"};
  if (std::ranges::find(kHost, name) != std::end(kHost)) {
    return "leave it out, with the code that runs on the host";
  }
  return {};
}

std::string advice_on_name(std::string_view name) {
  for (const Advice& row : kNames) {
    if (row.name == name) return std::string(row.advice);
  }
  return is_sized_integer(name) ? "write #include <cuda/std/cstdint>" : "";
}

/// Calls `take` with what stands between `before` and a quote, wherever `before` is.
template <typename Take>
void for_each_quoted(std::string_view log, std::string_view before, const Take& take) {
  for (std::size_t at = log.find(before); at != std::string_view::npos; at = log.find(before, at)) {
    at += before.size();
    const std::size_t end = log.find('"', at);
    if (end == std::string_view::npos) return;
    take(log.substr(at, end - at));
  }
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

std::string hints(std::string_view log) {
  std::string text;
  std::set<std::string> seen;
  const auto add = [&](const std::string& hint) {
    if (seen.insert(hint).second) text += hint + '\n';
  };
  for_each_quoted(log, "cannot open source file \"", [&](std::string_view name) {
    const std::string advice = advice_on_header(name);
    if (!advice.empty()) add(fmt::format("NVRTC has no <{}> of the host: {}", name, advice));
  });
  for_each_quoted(log, "identifier \"", [&](std::string_view name) {
    const std::string advice = advice_on_name(name);
    if (!advice.empty()) add(fmt::format("{} is of no header here: {}", name, advice));
  });
  for_each_quoted(log, "namespace \"std\" has no member \"", [&](std::string_view name) {
    add(fmt::format(
        "std::{0} is of the host: write cuda::std::{0}, and include its header from <cuda/std/...>",
        name));
  });
  return text;
}

}  // namespace assay
