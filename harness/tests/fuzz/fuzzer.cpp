// What libFuzzer calls, in the program of one target.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay {
void ASSAY_FUZZ_TARGET(std::string_view text);
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  assay::ASSAY_FUZZ_TARGET({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
