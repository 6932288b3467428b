#pragma once

#include <cstring>
#include <string>

#include "machine.h"

namespace fake {

inline constexpr double kLaunchNs = 1000;

template <typename T>
T argument(void** arguments, int index) {
  T value;
  std::memcpy(&value, arguments[index], sizeof value);
  return value;
}

/// The kernels that the tests run, by their entry's name. Null when there is none of that name.
Kernel find_tested_kernel(const std::string& entry);

}  // namespace fake
