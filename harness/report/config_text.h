#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "base/value.h"

namespace assay {

/// Writes the configurations of one kernel in few columns: `BM=128 BN=256 S=3`. A parameter that
/// has the same value in all of them is written once, in the note.
class ConfigText {
 public:
  /// All the configurations of the kernel that one table shows. With `wide`, names stay whole and
  /// shared values stay in every line.
  ConfigText(std::string kernel, const std::vector<Config>& configs, bool wide);

  std::string line(const Config& config) const;

  /// "gemm: BM = BLOCK_M, S = STAGES; all: GROUP_M=8"; empty when the lines say everything.
  std::string note() const;

 private:
  std::string kernel_;
  std::map<std::string, std::string> short_names_;
  std::vector<std::string> order_;       // parameters in the kernel's order
  std::map<std::string, Value> shared_;  // left out of the lines
};

struct KernelConfig {
  std::string kernel;
  Config config;
  bool operator==(const KernelConfig&) const = default;
};

/// The same of all configurations that one table shows, of whatever kernels.
class ConfigTexts {
 public:
  explicit ConfigTexts(const std::vector<KernelConfig>& shown, bool wide = false);

  std::string line(const KernelConfig& choice) const;
  /// A line for each kernel that needs one.
  std::string notes(const Terminal& terminal) const;

 private:
  std::map<std::string, ConfigText> texts_;  // by kernel
};

/// The shortest unambiguous abbreviations: the initials of a name's words (BLOCK_M -> BM). Where
/// two would be the same, more letters of the first word are taken (STAGES, SPLIT -> ST, SP).
std::map<std::string, std::string> abbreviate(const std::vector<std::string>& names);

/// Problems in numeric order, dim after dim; other dims sort by name.
bool problem_less(const Problem& a, const Problem& b);

/// Where and when a time was measured: "here, 2026-11-21", or the provenance as it is ("recorded on
/// NVIDIA H200, 2026-11-21").
std::string measured_text(const std::string& provenance, const std::string& finished_at);

}  // namespace assay
