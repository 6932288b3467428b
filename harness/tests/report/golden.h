#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"

namespace assay {

/// Compares with harness/tests/report/golden/NAME. With TUNE_UPDATE_GOLDEN=1 in the environment the
/// file is written instead; look at the difference before committing it.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = ASSAY_SOURCE_DIR "/harness/tests/report/golden/" + name;
  if (std::getenv("TUNE_UPDATE_GOLDEN")) write_file_atomic(path, text);
  EXPECT_EQ(text, read_file(path)) << path << " (TUNE_UPDATE_GOLDEN=1 rewrites it)";
}

}  // namespace assay
