#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/terminal.h"
#include "base/trial.h"
#include "messages/requests.h"

namespace assay {

enum class Fitness {
  ok,
  note,        // neither good nor bad
  missing,     // something does not work without it
  suspicious,  // times measured here could mislead
};

std::string_view to_text(Fitness fitness);

struct Finding {
  std::string topic;  // "NVRTC", "GPU 0 flush"
  std::string found;  // "13.0, /usr/local/cuda/lib64/libnvrtc.so.13"
  Fitness fitness = Fitness::ok;
  std::string advice = {};  // what to do; empty where nothing is

  void mark(Fitness as, std::string what_to_do) {
    fitness = as;
    advice = std::move(what_to_do);
  }
};

struct SelfMeasurement : SelfTest {
  std::int64_t l2_bytes = 0;
  std::int64_t read_bytes = 0;  // what the cold and the hot read move
  Ceilings ceilings = {};
  bool mps = false;       // see Vitals
  bool is_slice = false;  // see DeviceInfo
};

/// Whether the clock, the flush and the noise of a GPU can be trusted; topics start with `name`.
std::vector<Finding> assess(const std::string& name, const SelfMeasurement& measured);

/// Who may count what the hardware does, by what the driver says of its options in
/// /proc/driver/nvidia/params.
Finding judge_counters(std::string_view driver_params, bool is_administrator);

struct ComparedGpu {
  std::string name;   // "GPU 0"
  std::string model;  // "NVIDIA H200"
  Ceilings ceilings;
};

/// How far the GPUs of each model, where there are several, differ in what they reach.
std::vector<Finding> compare_gpus(const std::vector<ComparedGpu>& gpus);

/// A table of what was found, then what to do.
std::string doctor_text(const std::vector<Finding>& findings, const std::string& conclusion,
                        const Terminal& terminal = {});
/// {"findings": [...], "conclusion": "...", "is_fit": true}
std::string doctor_json(const std::vector<Finding>& findings, const std::string& conclusion,
                        bool fit);

}  // namespace assay
