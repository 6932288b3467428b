#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "message_of.h"
#include "spec/mistakes.h"
#include "spec/sweep_spec.h"
#include "temp_folder.h"

namespace assay {
namespace {

class BadFiles : public testing::Test {
 protected:
  BadFiles() { folder_.write("bad_f64.yaml", ""); }

  std::string refusal(std::string_view text) const {
    std::string message = message_of<SpecError>(
        [&] { load_sweep(folder_.write("bad.yaml", text), spec_tests() / "kernels"); });
    replace_all(message, folder_.path().generic_string() + "/", "");
    replace_all(message, spec_tests().generic_string() + "/", "");
    return message;
  }

  TempFolder folder_;
};

TEST_F(BadFiles, EachMistakeGivesItsMessage) {
  const auto files = bad_files();
  for (const auto& [mistake, lines] : files) {
    const auto after = std::find(lines.rbegin(), lines.rend(), mistake.source).base();
    EXPECT_EQ(refusal(fmt::format("{}\n", fmt::join(lines, "\n"))),
              fmt::format("bad.yaml:{}:{}: {}\n  {}\n  {}", after - lines.begin(),
                          mistake.caret.size(), mistake.message, mistake.source, mistake.caret))
        << mistake.name;
  }
  EXPECT_GT(files.size(), 240u);  // the folder was found
}

TEST_F(BadFiles, WholeFiles) {
  const char* files[][2] = {
      {"", "bad.yaml:1:1: expected a kernel or a sweep, found an empty file"},
      {"- kernel: bad\n",
       "bad.yaml:1:1: expected a kernel or a sweep, found a list\n  - kernel: bad\n  ^"},
      {"kernel\n", "bad.yaml:1:1: expected a kernel or a sweep, found \"kernel\"\n  kernel\n  ^"},
      {"kernel: bad\n---\nkernel: other\n",
       "bad.yaml:3:1: expected one document, found a second\n  kernel: other\n  ^"},
      {"op: a\nop: b\n", "bad.yaml:2:1: duplicate key \"op\", first given in line 1\n  op: b\n  ^"},
      {"op: gemm\x04\n",
       "bad.yaml:1:9: expected text, found control character 0x04\n  op: gemm?\n          ^"},
      {"op: gemm\xe9\n",
       "bad.yaml:1:9: expected UTF-8 text, found another encoding\n  op: gemm?\n          ^"},
  };
  for (const auto& [text, message] : files) EXPECT_EQ(refusal(text), message);
}

// What the mistakes are made in lacks nothing but a source.
TEST_F(BadFiles, TheirBasesAreGood) {
  folder_.write("bad.cu", "");
  for (const auto& entry : std::filesystem::directory_iterator(spec_tests() / "bad")) {
    ASSERT_TRUE(entry.is_directory()) << entry.path() << ": a mistake belongs to a base";
    EXPECT_EQ(refusal(read_file(entry.path() / "base.yaml")), "") << entry.path();
  }
}

}  // namespace
}  // namespace assay
