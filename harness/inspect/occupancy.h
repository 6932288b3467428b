#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

/// How many blocks of a launch an SM holds at once, and what keeps it from more.
struct Occupancy {
  int blocks = 0;
  std::string_view limit;  // "registers", "shared memory", "threads" or "blocks"
  double ratio = 0;        // of the threads that an SM can hold
};

/// For compute capability `cc`, 90 for 9.0. `smem_bytes` is static and dynamic shared memory of a
/// block. Nothing for a cc whose limits are not in the table.
std::optional<Occupancy> occupancy_of(int cc, std::int64_t threads, int registers,
                                      std::int64_t smem_bytes);

/// How many threads an SM can hold. Nothing for such a cc.
std::optional<std::int64_t> sm_threads(int cc);

}  // namespace assay
