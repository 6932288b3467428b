#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The entry points of a cubin, each with the size in bytes of every parameter. Nothing in what is
/// no cubin. The driver does not tell how many arguments a launch needs: one too few is read from
/// behind the array.
std::map<std::string, std::vector<std::int64_t>> entries_of(std::string_view cubin);

/// The variables that come with a cubin, that its kernels can write, and that outlive a launch, as
/// the driver knows them. Constants of the source are among them, for they lie in the same memory;
/// `__constant__` variables are not.
std::vector<std::string> variables_of(std::string_view cubin);

/// Whether a cubin's kernels allocate memory from the device's heap, which outlives a launch.
bool uses_heap(std::string_view cubin);

/// The `__constant__` variables of a cubin, each with its size in bytes.
std::map<std::string, std::int64_t> constants_of(std::string_view cubin);

}  // namespace assay
