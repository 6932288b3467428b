#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// How many bytes of the text that begins here are a cubin, which does not say so itself; 0: there
/// is none.
std::size_t cubin_bytes(const char* text);

/// The entry points of a cubin, each with the size in bytes of every parameter. Nothing in what is
/// no cubin. The driver does not tell how many arguments a launch needs: one too few is read from
/// behind the array.
std::map<std::string, std::vector<std::int64_t>> entries_of(std::string_view cubin);

/// The variables that come with a cubin, that its kernels can write, and that outlive a launch, as
/// the driver knows them. Constants of the source are among them, for they lie in the same memory;
/// `__constant__` variables are not.
std::vector<std::string> variables_of(std::string_view cubin);

/// The `__constant__` variables of a cubin, as the driver knows them.
std::vector<std::string> constants_of(std::string_view cubin);

/// Whether a cubin's kernels allocate memory from the device's heap, which outlives a launch.
bool uses_heap(std::string_view cubin);

/// What the kernel of this symbol is to the device: a hash of its instructions, and of all else in
/// the cubin that they may call or read. Names are no part of it.
std::string code_hash_of(std::string_view cubin, std::string_view symbol);

/// A symbol of a cubin as C++ writes it: `ns::scale(float*, int)`. What is no symbol of C++ stays.
std::string demangled(const std::string& symbol);

/// A variable of the source that outlives a launch.
struct Variable {
  std::string symbol;  // its name in the cubin
  std::string name;    // as C++ names it: `filter`, `ns::filter`
  std::int64_t bytes = 0;
};

/// The `__constant__` and `__device__` variables of a cubin.
std::vector<Variable> named_variables_of(std::string_view cubin);
/// The one that C++, or the cubin, names so.
std::optional<Variable> find_variable(std::string_view cubin, std::string_view name);

/// What machine code says of the launches that it can take.
struct KernelLimits {
  std::int64_t smem_section_bytes = 0;  // static; from 90 on with the 1 KiB that CUDA reserves
  std::int64_t max_threads = 0;         // of __launch_bounds__; 0: it has none
  int registers = 0;                    // of a thread
};

/// The static shared memory that the source declares, for compute capability `cc`, 90 for 9.0.
inline std::int64_t static_smem_bytes(const KernelLimits& of, int cc) {
  constexpr std::int64_t kReservedBytes = 1024;
  return std::max<std::int64_t>(of.smem_section_bytes - (cc >= 90 ? kReservedBytes : 0), 0);
}

/// Of the entry points of a cubin. Nothing in what is no cubin.
std::map<std::string, KernelLimits> kernel_limits_of(std::string_view cubin);

}  // namespace assay
