#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "base/file.h"
#include "spec/spec_files.h"
#include "spec/sweep_spec.h"

namespace assay {
namespace {

/// The comment that a bad file starts with: the exact message it must give.
std::string expected_message(const std::string& text) {
  std::istringstream lines(text);
  std::string message;
  for (std::string line; std::getline(lines, line) && line.starts_with('#');) {
    if (!message.empty()) message += '\n';
    message += line.substr(std::min<std::size_t>(2, line.size()));
  }
  return message;
}

std::string actual_message(const std::filesystem::path& path) {
  try {
    load_sweep(path, spec_tests() / "kernels");
  } catch (const SpecError& error) {
    std::string message = error.what();
    replace_all(message, spec_tests().generic_string() + "/", "");
    return message;
  }
  return "no error";
}

TEST(BadFiles, EachGivesTheMessageItStartsWith) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(spec_tests() / "bad")) {
    EXPECT_EQ(actual_message(entry.path()), expected_message(read_file(entry.path())));
    ++files;
  }
  EXPECT_GT(files, 100);  // the folder was found
}

}  // namespace
}  // namespace assay
