#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "temp_folder.h"

namespace assay {

/// Reads one input. It may refuse it with what the reader is documented to throw, which it catches;
/// anything else is a finding. Each target defines it.
void read_input(std::string_view text);

/// The file in which an input is shown to a reader of files.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path name) : name_(std::move(name)) {}
  std::filesystem::path with(std::string_view text) const { return folder_.write(name_, text); }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
  std::filesystem::path name_;
};

}  // namespace assay

/// What libFuzzer calls.
extern "C" inline __attribute__((used)) int LLVMFuzzerTestOneInput(const std::uint8_t* bytes,
                                                                   std::size_t size) {
  assay::read_input({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
