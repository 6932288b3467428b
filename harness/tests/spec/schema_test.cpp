#include "spec/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdio.h>

#include <set>

#include "matchers.h"
#include "spec/mistakes.h"
#include "temp_folder.h"

namespace assay {
namespace {

/// What validate.py says of files, a line a refusal. Nothing where Python lacks a package.
std::optional<Lines> refusals(const TempFolder& folder, const std::vector<std::string>& files) {
  const auto kernel = folder.write("kernel.json", kernel_schema().dump());
  const auto sweep = folder.write("sweep.json", sweep_schema().dump());
  const auto op = folder.write("op.json", op_schema().dump());
  const std::string command =
      fmt::format("{} {} {} {} {}", (spec_tests() / "validate.py").string(), kernel.string(),
                  sweep.string(), op.string(), fmt::join(files, " "));
  FILE* const output = ::popen(command.c_str(), "r");
  std::string text;
  for (int c = ::fgetc(output); c != EOF; c = ::fgetc(output)) text += static_cast<char>(c);
  const int status = ::pclose(output);
  if (WEXITSTATUS(status) == 77) return std::nullopt;
  EXPECT_EQ(status, 0);
  return lines_of(text);
}

TEST(Schema, TakesAllFilesThatTheLoaderTakes) {
  std::vector<std::string> files;
  const std::filesystem::path tree = ASSAY_SOURCE_DIR;
  // Other readers of YAML take `!` for a tag, and the comma of `{a: min(b, c)}` for a separator.
  const std::set<std::filesystem::path> read_otherwise = {spec_tests() / "kernels/gemm_mma.yaml",
                                                          spec_tests() / "bad/gemm/base.yaml"};
  for (const auto& folder : {tree / "kernels", tree / "sweeps", spec_tests()}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const bool is_hidden = entry.path().parent_path().filename() == "hidden";  // problems alone
      const bool is_yaml = entry.path().extension() == ".yaml" && !is_hidden;
      if (is_yaml && !read_otherwise.contains(entry.path())) files.push_back(entry.path().string());
    }
  }
  ASSERT_GT(files.size(), 70u);
  const auto refused = refusals(TempFolder(), files);
  if (!refused) GTEST_SKIP() << "install python3-jsonschema and python3-yaml";
  EXPECT_THAT(*refused, IsEmpty());
}

// What a schema cannot know: the names that a file itself gives, and YAML 1.1's booleans.
const std::set<std::string> kBeyond = {
    "deterministic_yes",   "fill_missing",      "option_not_boolean", "problem_missing_dim",
    "problem_unknown_dim", "smoke_missing_dim", "smoke_unknown_dim"};

TEST(Schema, RefusesUnknownKeysAndWrongTypes) {
  TempFolder folder;
  std::vector<std::string> files;
  for (const auto& [mistake, lines] : bad_files()) {
    const auto says = [&, &text = mistake.message](const char* begin) {
      return text.starts_with(begin);
    };
    const bool is_form = says("unknown key") || says("expected the key") ||
                         says("expected a list of") || says("expected true or false") ||
                         says("expected a map");
    if (!is_form || kBeyond.contains(mistake.name)) continue;
    files.push_back(
        folder.write(mistake.name + ".yaml", fmt::format("{}\n", fmt::join(lines, "\n"))));
  }
  ASSERT_GT(files.size(), 40u);
  const auto refused = refusals(folder, files);
  if (!refused) GTEST_SKIP() << "install python3-jsonschema and python3-yaml";
  for (const std::string& file : files) {
    const auto names = [&](const std::string& line) { return line.starts_with(file + ":"); };
    EXPECT_TRUE(std::any_of(refused->begin(), refused->end(), names)) << file << " is taken";
  }
}

}  // namespace
}  // namespace assay
