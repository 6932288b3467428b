#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/device_info.h"
#include "base/value.h"
#include "spec/kernel_spec.h"
#include "spec/vocabulary.h"

// A pack: tuned tables, and all that a program needs to launch what they name. It is one file: a
// header of 32 bytes, an index in JSON, and machine code. docs/runtime.md says what the index has.

namespace assay {

/// The first bytes of a pack, and its version.
inline constexpr std::string_view kPackMagic = "ASSAYPK\n";
inline constexpr std::uint32_t kPackVersion = 4;

/// Machine code of a configuration for one architecture.
struct PackCode {
  std::string arch;                            // "90a"
  std::uint64_t offset = 0, bytes = 0;         // in the part of the file that is machine code
  std::string hash;                            // of the code
  std::map<std::string, std::string> symbols;  // of each entry and variable, its name in the code
};

/// A kernel: the part of its contract that a launch needs, and its source. The contract has a
/// reference where is_library_product().
struct PackKernel {
  KernelSpec spec;
  bool per_problem = false;  // sizes are compiled in, so that its code is for one problem alone
  std::string source_hash;
  std::string licence;  // an SPDX expression; empty: its source names none
};

/// The numbers of a problem.
std::vector<double> numbers_of(const Problem& problem);

/// What is best for one problem.
struct PackRow {
  Problem problem;  // the dims, then the traits, as the op has them
  std::size_t kernel = 0;
  Config config;
  std::vector<std::size_t> codes;  // one for each architecture
  double time_ns = 0;              // median; 0: a contract's default, which was not measured
  std::string baseline = {};       // the fastest; empty when there was none
  double baseline_ns = 0;
  double first_ns = 0;  // of cuBLASLt's first choice of an algorithm; 0: not known
  int algorithm = 0;    // of cuBLASLt's heuristic, from 1 on, if that is the baseline; 0: not known
  std::string cublas = {};  // the version that offered it
  /// The configuration's time over the least of any, for the worst of the neighbours: the nearest
  /// other problem, and each problem whose nearest other is this one. 0: not measured.
  double regret = 0;
  bool verified = false;       // by `assay verify`
  bool measured_code = false;  // the code is bit for bit what was measured
  /// Rows for whose problems this row's configuration was measured, too, took nearly as long as for
  /// its own, and was for both more than 2 % faster than cuBLASLt's first choice and no slower than
  /// the best algorithm. Each problem differs from this row's in one size, and is the next smaller
  /// that was tuned.
  std::vector<std::size_t> fast_for = {};
};

inline bool is_measured(const PackRow& row) { return row.time_ns > 0; }

/// A kernel is clearly faster where cuBLASLt took so many times as long: within 2 % cuBLASLt may be
/// the faster one on another day.
inline constexpr double kFasterRatio = 1.02;

/// Whether no kernel was clearly faster than cuBLASLt. What a program would get counts: on the GPU
/// that was measured the best algorithm, on another model cuBLASLt's first choice.
inline bool is_library_as_fast(const PackRow& row, bool is_same_gpu) {
  const double library_ns = is_same_gpu || row.first_ns == 0 ? row.baseline_ns : row.first_ns;
  return row.baseline.starts_with(kCublasLt) && library_ns > 0 &&
         library_ns < kFasterRatio * row.time_ns;
}

/// The tuned table of an op on one device.
struct PackTable {
  std::string op;
  DeviceInfo device;
  std::string conditions;       // "protocol cold"
  std::string measured_at;      // when the newest row was
  std::size_t default_row = 0;  // the row that loses least over all problems
  std::vector<PackRow> rows;    // at least one
  /// The numbers of all problems, one behind the other: a choice would wait for the memory of as
  /// many names. And the rows in the order of their first numbers.
  std::vector<double> numbers = {};
  std::vector<std::size_t> by_first = {};

  /// Sets these two: there are all rows.
  void note_numbers();
};

struct Pack {
  std::string made_by;  // "assay 0.1.0, NVRTC 13.0"
  std::vector<PackKernel> kernels;
  std::vector<PackCode> codes;
  std::vector<PackTable> tables;
};

/// The index of a pack, in JSON.
std::string index_text(const Pack& pack);
/// The bytes of a pack with this index. `code` has the machine code where the index says. Throws
/// UsageError for an index that is too long.
std::string seal_pack(std::string index, std::string_view code);

/// Reads the header and the index, and checks every number, name and expression in them. `code` is
/// set to the part of `bytes` that is machine code. `where` begins messages. Throws UsageError for
/// anything but a whole pack of this version.
Pack read_pack(std::string_view bytes, std::string_view where, std::string_view* code);

/// A pack's file, mapped as long as this object lives. Whoever replaces the file renames another
/// one over it; a file that is cut short while it is mapped ends the process.
class PackFile {
 public:
  /// Throws UsageError "PATH: ...".
  explicit PackFile(const std::string& path);
  PackFile(const PackFile&) = delete;
  PackFile& operator=(const PackFile&) = delete;
  ~PackFile();

  const Pack& pack() const { return pack_; }
  /// The machine code. Throws UsageError if its hash is another.
  std::string code(const PackCode& code) const;

 private:
  std::string path_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::string_view code_;
  Pack pack_;
};

/// Whether the caller passes the argument: inputs and outputs, but neither scratch memory, nor what
/// is prepared, nor scalars.
bool is_passed(const ArgSpec& arg);
std::vector<std::string> caller_args(const KernelSpec& kernel);

/// Whether a program may call cuBLASLt instead: the op's reference is one product of matrices that
/// the caller passes and whose shapes the sizes decide, and cuBLASLt's product is its baseline.
bool is_library_product(const KernelSpec& kernel);

/// Why a pack cannot have the kernel: it reads a texture. Empty: it can.
std::string unpackable(const KernelSpec& kernel);

}  // namespace assay
