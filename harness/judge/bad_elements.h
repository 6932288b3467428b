#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

/// Where the wrong elements of an output are: "wrong are the last 8 columns (from 56 on)". The last
/// dimension of `shape` has the columns, the others together have the rows. `bad` has the places of
/// the wrong elements in rising order, at least one.
std::string pattern_of(const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& bad);

}  // namespace assay
