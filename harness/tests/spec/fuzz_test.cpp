#include <random>

#include <gtest/gtest.h>

#include "base/file.h"
#include "spec/spec_files.h"
#include "spec/sweep_spec.h"
#include "temp_folder.h"

namespace assay {
namespace {

/// Seeded damage to a text: bytes dropped, doubled, replaced, pieces moved, tokens put in.
class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (int edits = 1 + static_cast<int>(pick(4)); edits > 0; --edits) {
      const std::size_t at = pick(text.size() + 1);
      const std::size_t length = std::min(1 + pick(20), text.size() - at);
      switch (pick(5)) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(pick(text.size() + 1), text.substr(at, length));
          break;
        case 2:
          if (at < text.size()) text[at] = static_cast<char>(pick(256));
          break;
        case 3:
          text.resize(std::max<std::size_t>(at, text.size() / 2));
          break;
        default:
          text.insert(at, kTokens[pick(std::size(kTokens))]);
          break;
      }
    }
    return text;
  }

 private:
  static constexpr const char* kTokens[] = {
      ": ",     "\n",    "\n  - ",    "[",        "]",    "{",
      "}",      ", ",    "*a",        "&a ",      "'",    "\"",
      "# ",     "? ",    "| ",        "> ",       "!",    "%",
      "---\n",  "...\n", "(",         ")",        "\t",   "\\",
      "0",      "-1",    "010",       "null",     "~",    "9223372036854775808",
      "&& ",    "|| ",   " / 0",      "cdiv",     "min(", "M",
      "true",   "on",    "device.cc", "\xc3\xa9", "<<",   "\xff",
      "name: ", "in",    "0x7f,",     "`",        "@",    "=",
      "row",    "\r\n"};

  std::size_t pick(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  std::mt19937 random_;
};

// Whatever the text, a load must succeed, or throw UsageError (or SpecError, which is one) with a
// message that names the file. Anything else ends the test.
TEST(Fuzz, DamagedFilesOnlyEverThrowUsageError) {
  const TempFolder folder;
  std::vector<std::pair<std::string, std::string>> good;
  for (const char* name :
       {"kernels/gemm_mma", "kernels/add_chain", "kernels/gemm_twins", "good/gemm_h200"}) {
    const std::filesystem::path path = spec_tests() / (std::string(name) + ".yaml");
    good.emplace_back(path.stem().string(), read_file(path));
    folder.write(good.back().first + ".cu", "");
  }
  Mutator mutator(20);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto& [stem, text] = good[static_cast<std::size_t>(i) % good.size()];
    const std::string damaged = mutator.mutate(text);
    SCOPED_TRACE(damaged);
    try {
      load_sweep(folder.write(stem + ".yaml", damaged), spec_tests() / "kernels");
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(stem + ".yaml"), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1500);  // the damage is real
}

}  // namespace
}  // namespace assay
