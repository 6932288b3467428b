// The worker alone: the same as `assay worker --fd N --device INDEX`, without the rest of the
// program.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "worker/worker_main.h"

int main(int argc, char** argv) {
  if (argc != 6 || std::strcmp(argv[1], "worker") != 0) return 2;
  try {
    return assay::run_worker(std::stoi(argv[3]), std::stoi(argv[5]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker: %s\n", error.what());
    return 3;
  }
}
