#pragma once

#include <exception>
#include <span>
#include <vector>

#include "tuner/tuner.h"

namespace assay {

/// How the part of one GPU in a sweep ended.
struct FleetEnd {
  std::exception_ptr failure;  // null when it did its part
  bool work_is_left = false;   // problems of the GPU's model that no other has done
};

/// Runs a sweep on several GPUs at once, a thread for each. `tuners` are of one sweep, and each has
/// a device and a store of its own. GPUs of one model share the problems, and what a GPU that fails
/// leaves goes to the others of its model. A GPU goes on with the problems that it has trials of.
/// Returns how each ended, in the order of `tuners`.
std::vector<FleetEnd> run_side_by_side(std::span<Tuner* const> tuners);

}  // namespace assay
