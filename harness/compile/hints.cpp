#include "compile/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace assay {
namespace {

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
