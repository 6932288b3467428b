#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "base/value.h"

namespace assay {

/// The size of one kernel's space for one problem, and what each constraint removed.
struct SpaceRow {
  Problem problem;
  std::uint64_t raw = 0;
  std::uint64_t valid = 0;
  std::vector<std::pair<std::string, std::uint64_t>> removed;  // constraint, points; in order
  bool whole = true;  // else so many were counted of a space that has more
};

struct KernelRow {
  std::string name;
  std::string op;
  std::string summary;
  std::vector<std::string> arch;
  std::vector<SpaceRow> spaces;  // one a problem; never empty
};

struct SweepRow {
  std::string name;
  std::string file;
  std::string strategy;
  std::string protocol;
  std::size_t num_problems = 0;
  std::vector<KernelRow> kernels;
};

/// A table of the kernels, each with the size of its first space, and a table of the sweeps, each
/// with the sum over its kernels and problems. What was not counted to its end is "over" a number.
/// `device` is the one whose limits were used.
std::string list_text(const std::vector<KernelRow>& kernels, const std::vector<SweepRow>& sweeps,
                      const std::string& device, const Terminal& terminal = {});

/// Kernels one by one: for each problem, how many configurations each constraint removed.
/// Constraints that removed none are counted in one line.
std::string spaces_text(const std::vector<KernelRow>& kernels, const std::string& device,
                        const Terminal& terminal = {});

/// {"error": ..., "device": ..., "kernels": [...], "sweeps": [...]}, everything of both texts.
/// "error" has what is wrong with the other files, a mistake a line, or is null.
std::string list_json(const std::vector<KernelRow>& kernels, const std::vector<SweepRow>& sweeps,
                      const std::string& device, const std::vector<std::string>& mistakes);

}  // namespace assay
