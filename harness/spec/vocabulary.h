#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/value.h"

// The words that contracts and sweeps may use, one row each. These tables are the only ones: what
// runs on the GPU finds its part by a row's `id`, in a switch without default, so that a word
// without a part does not compile.

namespace assay {

/// A word that means no more than its `id`.
template <typename Id>
struct WordRow {
  Id id;
  std::string_view name;
};

enum class Role { in, out, scratch, inout, prepared, consumed };

/// Whether the kernel finds what a generator made in a buffer of this role.
inline bool is_filled(Role role) {
  return role == Role::in || role == Role::inout || role == Role::consumed;
}
/// Whether its memory is a part of what all entries of a re-rank share.
inline bool is_shared(Role role) { return role != Role::in && role != Role::prepared; }
/// Whether what the kernel leaves in it is checked.
inline bool is_output(Role role) { return role == Role::out || role == Role::inout; }

/// What a kernel does with a buffer.
inline constexpr WordRow<Role> kRoles[] = {
    {Role::in, "in"},       {Role::out, "out"},           {Role::scratch, "scratch"},
    {Role::inout, "inout"}, {Role::prepared, "prepared"}, {Role::consumed, "consumed"}};

/// What a texture has beyond its edges, in CUDA's words.
enum class AddressMode { clamp, border, wrap, mirror };
inline constexpr WordRow<AddressMode> kAddressModes[] = {{AddressMode::clamp, "clamp"},
                                                         {AddressMode::border, "border"},
                                                         {AddressMode::wrap, "wrap"},
                                                         {AddressMode::mirror, "mirror"}};

enum class OperationId {
  gemm,
  grouped_gemm,
  scaled_gemm,
  grouped_scaled_gemm,
  quantise,
  add,
  mul,
  bias,
  relu,
  silu,
  gelu,
  swiglu,
  layer_norm,
  rms_norm,
  softmax,
  sum,
  transpose,
  gather_rows,
  scatter_add,
  topk_sum,
  spmv,
};

/// Stands where a reference has an operation's name, for a kernel of the user's own.
inline constexpr std::string_view kReferenceKernel = "kernel";
/// Stands there for a file of outputs that were recorded.
inline constexpr std::string_view kReferenceFile = "file";

/// A tensor that an operation reads or makes.
struct OperandRow {
  std::string_view name;
  std::size_t rank;  // how many dimensions; 0: any, but as many as the others with 0
  std::vector<DType> dtypes;
  std::string_view same_as = {};  // an input before this one that has the same dtype
  bool optional = false;          // an input that the contract may leave out
};

struct OptionRow {
  std::string_view name;
  OptionValue otherwise;  // when the contract gives none; what is given has its type
  bool later = false;     // the hashes of contracts that do not give it are older than it
};

/// An operation of the reference: `{name: {INPUT: tensor, .., OUTPUT: tensor, .., OPTION: true}}`.
/// A result is read by later operations as f32, whatever its buffer's dtype.
struct OperationRow {
  OperationId id;
  std::string_view name;
  std::vector<OperandRow> inputs;
  std::vector<OperandRow> outputs;
  std::vector<OptionRow> options = {};
};
const std::vector<OperationRow>& operations();

/// What inputs are filled with; support.cu mirrors the order.
enum class Generator : int {
  normal,
  uniform,
  zeros,
  ones,
  iota,
  permutation,
  routing,
  distinct,
  row_starts,
};

/// A generator of inputs: `{name: uniform, low: 0, high: 7}`.
struct GeneratorRow {
  enum class Makes { any, floating, integer };
  /// Real numbers, integers, or what the buffer holds.
  enum class Numbers { integer, real, as_dtype };
  struct Argument {
    std::string name;
    std::optional<std::int64_t> value;  // when the contract gives none; nothing: it must
    Numbers numbers = Numbers::integer;
    /// Where the contract gives none, its hash knows nothing of it: it came with a later version.
    bool late = false;
  };
  Generator id;
  std::string_view name;
  Makes makes;
  std::vector<Argument> arguments;
  bool ignores_seed = false;  // makes the same in each run
};
const std::vector<GeneratorRow>& generators();

/// What an input can be made of another one: `{starts: ids}`.
enum class Derivation { column, sorted, order, rows, counts, starts, inverse, quantise, scales };

struct DerivationRow {
  Derivation id;
  std::string_view name;
  bool copies = false;       // its elements are those of the other, so it has its dtype
  bool of_integers = false;  // the other holds indices
  std::size_t rank = 0;      // of the other; 0: any
  bool as_many = true;       // elements as the other has
  /// What is said beside the other: {column: {of: X, index: 0}}.
  std::vector<std::string_view> required = {}, optional = {};
};
const std::vector<DerivationRow>& derivations();
/// Whether the host makes it: all but what is copied or computed on the device, ahead of each
/// launch.
bool is_made_by_host(Derivation derivation);

/// Stand where a fill has a derivation's name, for a kernel of the user's own and for a file.
inline constexpr std::string_view kFillKernel = "kernel", kFillFile = "file";
/// Stands among the arguments of a kernel that fills an input, for a number that tells draws apart.
inline constexpr std::string_view kSeed = "seed";

/// The baseline that needs no steps: cuBLASLt, for a reference that is one `gemm`. It is also a
/// step of other baselines.
inline constexpr std::string_view kCublasLt = "cublaslt";
/// What the time of its first choice of an algorithm is called.
inline constexpr std::string_view kCublasLtFirst = "cublaslt_first";

/// What the steps of a baseline may be: the operations of references, but for the products, which
/// are NVIDIA's: `cublaslt`, of matrices or of stacks of them, `grouped_gemm` and `spmv`.
const std::vector<OperationRow>& baseline_operations();

/// What happens on the GPU before a sample.
///
///     cold       L2 is evicted by reading a buffer of twice its size. The GPU is idle between
///                samples, so that it runs at boost clocks.
///     hot        The same work runs once, untimed.
///     sustained  The same work runs back to back for a millisecond, then L2 is evicted. The GPU is
///                never idle, so power and clocks are those of a busy GPU.
///     graph      As cold, with eviction, events and work captured in one graph.
enum class Preparation { cold, hot, sustained, graph };

/// A protocol, a way of timing; times of different ones are never compared.
inline constexpr WordRow<Preparation> kProtocols[] = {{Preparation::cold, "cold"},
                                                      {Preparation::hot, "hot"},
                                                      {Preparation::sustained, "sustained"},
                                                      {Preparation::graph, "graph"}};

/// A property of the device that expressions read; DeviceInfo has the same names.
inline constexpr std::array<std::string_view, 4> kDeviceNames = {
    "device.cc", "device.sm_count", "device.smem_optin_bytes", "device.l2_bytes"};

/// The names of a table's rows, for messages.
template <typename Rows>
std::vector<std::string> names_of(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

/// The name of the row with this id.
template <typename Rows, typename Id>
std::string_view name_of(const Rows& rows, Id id) {
  for (const auto& row : rows) {
    if (row.id == id) return row.name;
  }
  return "";
}

/// The row called `name`. Throws UsageError listing the rows, which are "generator"s or whatever
/// `what` says, where there is none.
template <typename Rows>
const auto& row_of(const Rows& rows, std::string_view what, std::string_view name) {
  for (const auto& row : rows) {
    if (row.name == name) return row;
  }
  throw UsageError("no {} {}; there are {}", what, name, fmt::join(names_of(rows), ", "));
}

}  // namespace assay
