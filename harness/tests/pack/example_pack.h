#pragma once

#include <string>

#include "base/hash.h"
#include "pack/kernel_json.h"
#include "pack/pack.h"

namespace assay {

/// What "machine code" is where nothing runs it.
inline constexpr std::string_view kExampleCode = "machine code";

/// A pack of the kernel tuned for `problems`, each for compute capability 9.0.
inline Pack example_pack(const KernelSpec& kernel, const std::vector<Problem>& problems,
                         const Config& config, std::map<std::string, std::string> symbols = {}) {
  DeviceInfo device = nominal_device("90");
  device.name = "Fake GPU";
  Pack pack;
  pack.made_by = "a test";
  PackTable table{kernel.op, device, "protocol cold", "2026-01-01T00:00:00Z", 0, {}};
  for (const Problem& problem : problems) {
    table.rows.push_back({problem,
                          0,
                          config,
                          {0},
                          1000,
                          "cublaslt_best",
                          1100,
                          1150,
                          2,
                          "13.1.0",
                          1.2,
                          false,
                          true});
  }
  table.note_numbers();
  pack.kernels.push_back({read_kernel_json(kernel_json(kernel)), false, "abc", "Apache-2.0"});
  pack.codes.push_back({"90", 0, kExampleCode.size(), hash_hex(kExampleCode), std::move(symbols)});
  pack.tables.push_back(std::move(table));
  return pack;
}

}  // namespace assay
