#pragma once

#include <string>
#include <string_view>

#include "report/judged_kernel.h"

namespace assay {

/// The Traces of flashinfer-bench for a judged kernel, an object in JSON on each line: of a correct
/// one for each public problem, of a wrong one for the problem that shows it. What Assay does not
/// measure, the largest errors of an element, is "NaN". `time` is ISO 8601.
std::string trace_lines(const JudgedKernel& judged, std::string_view time);

}  // namespace assay
