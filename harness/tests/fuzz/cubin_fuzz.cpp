// Machine code, whose entries and parameters are looked up before a launch.

#include <cstdlib>

#include "base/cubin_info.h"
#include "fuzz_target.h"

namespace assay {

void fuzz_cubin(std::string_view text) {
  constexpr std::int64_t kMostBytes = (1 << 14) - 1;  // a size has 14 bits
  for (const auto& [name, sizes] : entries_of(text)) {
    for (const std::int64_t size : sizes) {
      if (size < 0 || size > kMostBytes) std::abort();
    }
  }
}

}  // namespace assay
