#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <sstream>
#include <string>

#include "base/file.h"
#include "base/terminal.h"

namespace assay {

/// Compares with harness/tests/report/golden/NAME. With TUNE_UPDATE_GOLDEN=1 in the environment the
/// file is written instead; look at the difference before committing it.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = ASSAY_SOURCE_DIR "/harness/tests/report/golden/" + name;
  if (std::getenv("TUNE_UPDATE_GOLDEN")) write_file_atomic(path, text);
  EXPECT_EQ(text, read_file(path)) << path << " (TUNE_UPDATE_GOLDEN=1 rewrites it)";
}

/// Expects that a terminal of so many columns has room for each line.
inline void expect_fits(const std::string& text, std::size_t columns) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(width_of(line), columns) << line;
}

}  // namespace assay
