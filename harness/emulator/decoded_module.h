#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emulator/machine.h"
#include "emulator/program.h"

namespace assay::emulator {

/// What a Module holds.
struct DecodedModule {
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  PtxModule text;
  std::vector<Program> programs;  // of the kernels
  std::vector<KernelTraits> kernels;
  std::vector<ModuleVariable> variables;
  std::vector<std::unique_ptr<std::byte, Free>> memory;
  std::map<std::string, std::uint64_t, std::less<>> addresses;
};

}  // namespace assay::emulator
