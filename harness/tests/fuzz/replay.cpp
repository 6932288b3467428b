// Where no fuzzer is linked: reads each file of some folders once. The last name that stands on
// stderr is of the input that ended it.

#include <cstdio>
#include <exception>
#include <filesystem>

#include "base/file.h"
#include "fuzz_target.h"

int main(int argc, char** argv) {
  int num_inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& input : std::filesystem::directory_iterator(argv[i])) {
      std::fprintf(stderr, "%s\n", input.path().c_str());
      try {
        assay::read_input(assay::read_file(input.path()));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", input.path().c_str(), error.what());
        return 1;
      }
      ++num_inputs;
    }
  }
  std::printf("%d\n", num_inputs);
  return 0;
}
