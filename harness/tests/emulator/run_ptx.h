#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "emulator/machine.h"
#include "matchers.h"

namespace assay::emulator {

/// A kernel of a test: its parameters are addresses of `buffers`.
class PtxRun {
 public:
  std::vector<std::vector<std::byte>> buffers = {};
  LaunchShape shape = {};
  MachineOptions options = {};
  LaunchOutcome outcome = {};

  template <class T>
  std::size_t add(const std::vector<T>& values) {
    buffers.emplace_back(values.size() * sizeof(T));
    std::memcpy(buffers.back().data(), values.data(), buffers.back().size());
    return buffers.size() - 1;
  }
  template <class T>
  std::vector<T> get(std::size_t index) const {
    std::vector<T> values(buffers[index].size() / sizeof(T));
    std::memcpy(values.data(), buffers[index].data(), buffers[index].size());
    return values;
  }

  /// Runs a whole module's one kernel.
  void run(const std::string& ptx) {
    const Module module = load(ptx);
    Memory memory;
    std::vector<std::uint64_t> parameters;
    for (std::vector<std::byte>& buffer : buffers) {
      const auto begin = reinterpret_cast<std::uint64_t>(buffer.data());
      parameters.push_back(begin);
      memory.add({begin, begin + buffer.size(), true, true});
    }
    for (const auto& [name, variable] : module.variables) {
      memory.add({variable.address(), variable.address() + variable.size_bytes});
    }

    if (module.kernels.empty()) throw UsageError("no kernel");
    const std::size_t bytes = std::min<std::size_t>(module.kernels[0].parameter_bytes, 4096);
    parameters.resize(std::max(parameters.size(), bytes / 8 + 1));
    outcome = emulator::run(module, module.kernels[0].kernel->name, shape,
                            std::as_bytes(std::span(parameters)), memory, options);
  }

  /// Runs a body with registers %r<64>, %rd<64>, %f<64>, %fd<16>, %h<16>, %p<16>. %rd0 to %rd3 are
  /// the addresses of the buffers.
  void run_body(const std::string& body, const std::string& declarations = "") {
    std::string ptx = ".version 8.7\n.target sm_90a\n.address_size 64\n" + declarations +
                      "\n.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, "
                      ".param .u64 p3)\n{\n.reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .f32 %f<64>; "
                      ".reg .f64 %fd<16>; .reg .b16 %h<16>; .reg .pred %p<16>;\n";
    for (const char i : {'0', '1', '2', '3'}) {
      ptx += std::string("ld.param.u64 %rd") + i + ", [p" + i + "];\n";
    }
    run(ptx + body + "\nret;\n}\n");
  }

  /// All that was found, in words.
  std::string findings() const {
    std::string text;
    for (const LaunchFinding& finding : outcome.findings) text += finding.description() + "\n";
    return text;
  }
};

}  // namespace assay::emulator
