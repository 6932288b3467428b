#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

/// The folder of these tests, with their kernels and sweeps, good and bad.
inline std::filesystem::path spec_tests() {
  return std::filesystem::path(ASSAY_SOURCE_DIR) / "harness/tests/spec";
}

inline void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace assay
