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

}  // namespace assay
