#pragma once

#include <cstdint>
#include <string>

#include "judge/operation.h"

namespace assay {

/// What of an output must be right. It is compared with the same part of the reference.
struct OutputPart {
  std::int64_t first = 0;  // so many elements from the start; 0: all
  bool sorted = false;     // in any order
  bool sum = false;        // the sum alone
};

OutputPart part_of(const BufferPlan& output);

/// How many elements of an output of `elements` are compared.
std::int64_t compared_elements(const OutputPart& part, std::int64_t elements);

/// "C[3,17]", "sorted C[5]" or "the sum of C": what element `index` of the part is.
std::string part_text(const OutputPart& part, const std::string& name,
                      const std::vector<std::int64_t>& shape, std::uint64_t index);

/// The part of `whole`. What has to be made for it is enqueued, and lies in `memory`.
Operand take_part(const SupportKernels& support, const OutputPart& part, const Operand& whole,
                  DeviceMemory& memory);

/// The tolerance of a part, from that of the whole, whose reference has the root mean square `rms`.
/// The errors of a sum are those of its terms, and may all have one sign.
Tolerance part_tolerance(const OutputPart& part, const Tolerance& whole, double rms,
                         std::int64_t elements);

/// "C[3,17]": the coordinate of element `index` of a row-major tensor.
std::string coordinate_text(const std::string& name, const std::vector<std::int64_t>& shape,
                            std::uint64_t index);

}  // namespace assay
