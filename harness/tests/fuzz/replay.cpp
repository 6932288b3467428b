// Where no fuzzer is linked: a target reads each file of a folder as it is, cut, and with a bit
// turned. The last name that stands on stderr is of the input that ended it.
// Usage: fuzz_once TARGET FOLDER

#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "fuzz_target.h"

// ASSAY_FUZZ_TARGETS is X(name) of each target.
namespace assay {
#define X(name) void fuzz_##name(std::string_view);
ASSAY_FUZZ_TARGETS
#undef X
}  // namespace assay

namespace {

using Target = void (*)(std::string_view);
#define X(name) {#name, assay::fuzz_##name},
const std::map<std::string_view, Target> kTargets = {ASSAY_FUZZ_TARGETS};
#undef X

void read_damaged(Target read_input, const std::string& text) {
  constexpr std::size_t kPlaces = 3;
  read_input(text);
  for (std::size_t i = 0; i < kPlaces && !text.empty(); ++i) {
    const std::size_t at = text.size() * (2 * i + 1) / (2 * kPlaces);
    read_input(text.substr(0, at));
    std::string turned = text;
    turned[at] = static_cast<char>(turned[at] ^ 4);
    read_input(turned);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || !kTargets.contains(argv[1])) return 2;
  int num_inputs = 0;
  for (const auto& input : std::filesystem::directory_iterator(argv[2])) {
    std::fprintf(stderr, "%s\n", input.path().c_str());
    try {
      read_damaged(kTargets.at(argv[1]), assay::read_file(input.path()));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", input.path().c_str(), error.what());
      return 1;
    }
    ++num_inputs;
  }
  std::printf("%d\n", num_inputs);
  return num_inputs > 0 ? 0 : 1;
}
