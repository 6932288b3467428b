// Where no fuzzer is linked: reads each file of some folders as it is, cut, and with a bit turned.
// The last name that stands on stderr is of the input that ended it.

#include <cstdio>
#include <exception>
#include <filesystem>

#include "base/file.h"
#include "fuzz_target.h"

namespace {

void read_damaged(const std::string& text) {
  constexpr std::size_t kPlaces = 3;
  assay::read_input(text);
  for (std::size_t i = 0; i < kPlaces && !text.empty(); ++i) {
    const std::size_t at = text.size() * (2 * i + 1) / (2 * kPlaces);
    assay::read_input(text.substr(0, at));
    std::string turned = text;
    turned[at] = static_cast<char>(turned[at] ^ 4);
    assay::read_input(turned);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int num_inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& input : std::filesystem::directory_iterator(argv[i])) {
      std::fprintf(stderr, "%s\n", input.path().c_str());
      try {
        read_damaged(assay::read_file(input.path()));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", input.path().c_str(), error.what());
        return 1;
      }
      ++num_inputs;
    }
  }
  std::printf("%d\n", num_inputs);
  return num_inputs > 0 ? 0 : 1;
}
