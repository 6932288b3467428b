#pragma once

#include <filesystem>
#include <string_view>

#include "temp_folder.h"

namespace assay {

// NAME_fuzz.cpp has the function `void fuzz_NAME(std::string_view text)`, which reads one input. It
// may refuse the input with what the reader is documented to throw, which it catches; anything else
// is a finding.

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
