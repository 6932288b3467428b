#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/errors.h"
#include "emulator/memory.h"
#include "emulator/program.h"

// Runs kernels of a PTX module on CPU cores. Global addresses are addresses of this process. What
// the model leaves open (when copies complete, which warp goes on) is drawn from a seed.

namespace assay::emulator {

/// A loaded module. Its variables hold their initial values.
struct Module {
  PtxModule text;
  std::vector<Program> kernels;
  /// The caller adds them to its Memory, and takes them away before the module ends. Constants can
  /// be written through an ordinary pointer, as on a GPU.
  ModuleVariables variables;
};

/// Reads PTX. Throws UsageError "PTX:LINE: ..." where the text is no PTX, and
/// "emulator/unsupported: ..." where a whole function cannot be run. An instruction that is not
/// known is no error before it is reached.
Module load(std::string_view ptx);

/// Something wrong in a launch.
struct LaunchFinding {
  FindingKind kind = FindingKind::unsupported;
  std::string text;  // "reads 4 bytes at 0x7f..., where no memory is"
  std::string kernel = {};
  std::string instruction = {};  // "ld.global.f32 %f1, [%rd4]"
  std::string file = {};         // of the source; empty: the PTX has no lines
  int line = 0;
  std::array<std::uint32_t, 3> block = {};
  std::array<std::uint32_t, 3> thread = {};

  /// "kernel sgemm, file.cu:12, block (0,0,0), thread (3,0,0): reads ..., by ld.global.f32 ..."
  std::string description() const;
};

/// What was carried out.
struct LaunchCounts {
  std::uint64_t instructions = 0;       // of warps
  std::uint64_t lane_instructions = 0;  // of threads

  void operator+=(const LaunchCounts& other) {
    instructions += other.instructions;
    lane_instructions += other.lane_instructions;
  }
};

using Extents = std::array<std::uint32_t, 3>;
inline std::uint64_t volume(const Extents& extents) {
  return std::uint64_t{extents[0]} * extents[1] * extents[2];
}
/// What is at a place, x first.
inline Extents place_in(const Extents& extents, std::uint64_t index) {
  const std::uint64_t row = index / extents[0];
  return {static_cast<std::uint32_t>(index % extents[0]),
          static_cast<std::uint32_t>(row % extents[1]),
          static_cast<std::uint32_t>(row / extents[1])};
}

struct LaunchShape {
  Extents grid = {1, 1, 1};
  Extents block = {1, 1, 1};
  Extents cluster = {1, 1, 1};
  std::size_t dynamic_shared_bytes = 0;
  /// Of a cooperative launch, whose blocks are all resident: the address of two words, 0 at first,
  /// in which its blocks count who is at the grid's barrier. 0: it is none.
  std::uint64_t grid_workspace = 0;

  /// Where the block of a number is; blocks are numbered cluster by cluster.
  Extents block_of(std::uint64_t number) const {
    Extents clusters = grid, place = place_in(cluster, number % volume(cluster));
    for (std::size_t i = 0; i < 3; ++i) clusters[i] /= cluster[i];
    const Extents at = place_in(clusters, number / volume(cluster));
    for (std::size_t i = 0; i < 3; ++i) place[i] += at[i] * cluster[i];
    return place;
  }
};

struct MachineOptions {
  std::uint64_t seed = 1;
  int threads = 1;                                     // of this process
  std::uint64_t max_instructions = 20'000'000'000ull;  // of lanes, in the launch
  double max_seconds = 300;                            // of the launch: a lane alone is slow
  std::size_t max_findings = 20;                       // the launch ends at this many
  std::uint32_t resident_blocks = 132 * 8;             // that may wait for each other
  /// Whether a read of shared memory that nobody wrote is a finding. It is no mistake of a kernel
  /// that makes no use of the value; else the value, a NaN, shows in the output.
  bool finds_uninitialised = false;
  LeftLocal* left_local = nullptr;  // null: each block finds NaNs in its local memory
};

struct LaunchOutcome {
  bool ok = true;  // no finding
  std::vector<LaunchFinding> findings = {};
  LaunchCounts counts = {};
};

/// Throws UsageError if the shape is impossible.
void check_launch(const Program& program, const LaunchShape& shape);

/// Runs a kernel to its end, or to a finding after which it cannot go on. `parameters` is laid out
/// as Program::parameter_offsets says. Throws UsageError as check_launch() and where none is named
/// so.
LaunchOutcome run(const Module& module, std::string_view kernel, const LaunchShape& shape,
                  std::span<const std::byte> parameters, const Memory& memory,
                  const MachineOptions& options = {});

}  // namespace assay::emulator
