#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/value.h"
#include "spec/yaml.h"

namespace assay {

/// What the problems of a sweep consist of.
struct ProblemNames {
  std::vector<std::string> dims;
  std::vector<std::pair<std::string, std::optional<Number>>> traits;  // with their defaults, if any
};

/// The problems of a sweep. Each item maps every dim to an integer or a list of integers, and
/// traits to numbers or lists of them. Lists expand, with the first dim slowest. Throws SpecError,
/// also for a problem that is given twice.
std::vector<Problem> read_problems(const YamlNode& node, const ProblemNames& names);

}  // namespace assay
