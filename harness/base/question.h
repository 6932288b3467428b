#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "base/device_info.h"
#include "base/value.h"

namespace assay {

/// What a result answers: which configuration is the best of an op for a problem, on a device and
/// under a protocol.
struct Question {
  std::string op;
  Problem problem;
  DeviceInfo device;
  std::string protocol;
  std::string provenance = {};  // "recorded on NVIDIA H200, 2026-11-21"; empty when measured here
};

/// What questions are put in order by: op, device, protocol, sizes, problem.
using QuestionOrder =
    std::tuple<std::string, std::string, std::string, std::vector<double>, std::string>;
QuestionOrder order_of(const Question& question);

/// op, problem, device and protocol as one text, the same for the same question in any run.
std::string question_text(const Question& question);
/// "gemm_bf16 on NVIDIA H200, protocol cold"
std::string heading_text(const Question& question);

}  // namespace assay
