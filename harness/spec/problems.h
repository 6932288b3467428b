#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "spec/yaml.h"

namespace assay {

/// The problems of a sweep. Each item maps every one of `dims` to an integer or a list of integers.
/// Lists expand, with the first dim slowest. Throws SpecError, also for a problem that is given
/// twice.
std::vector<Problem> read_problems(const YamlNode& node, const std::vector<std::string>& dims);

}  // namespace assay
