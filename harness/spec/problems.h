#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "spec/yaml.h"

namespace assay {

/// The problems of a sweep: each item maps every one of `dims` to an integer or a list of them, and
/// lists expand with the first dim slowest. Throws SpecError; a problem given twice is one.
std::vector<Problem> read_problems(const YamlNode& node, const std::vector<std::string>& dims);

}  // namespace assay
