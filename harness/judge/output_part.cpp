#include "judge/output_part.h"

#include <fmt/format.h>

namespace assay {
namespace {

/// What elements are sorted or added as.
DType widest(DType dtype) {
  if (is_floating(dtype)) return DType::f64;
  const bool is_unsigned =
      dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64;
  return is_unsigned ? DType::u64 : DType::i64;
}

constexpr std::size_t kWidestBytes = 8;

}  // namespace

OutputPart part_of(const BufferPlan& output) {
  return {output.checked, output.check_sorted, output.check_sum};
}

std::int64_t compared_elements(const OutputPart& part, std::int64_t elements) {
  return part.sum ? 1 : part.first > 0 ? part.first : elements;
}

std::string coordinate_text(const std::string& name, const std::vector<std::int64_t>& shape,
                            std::uint64_t index) {
  std::string inner;
  for (auto extent = shape.rbegin(); extent != shape.rend(); ++extent) {
    const auto size = static_cast<std::uint64_t>(*extent);
    inner = fmt::format("{}{}{}", index % size, inner.empty() ? "" : ",", inner);
    index /= size;
  }
  return fmt::format("{}[{}]", name, inner);
}

std::string part_text(const OutputPart& part, const std::string& name,
                      const std::vector<std::int64_t>& shape, std::uint64_t index) {
  if (part.sum) return "the sum of " + name;
  if (part.sorted) return fmt::format("sorted {}[{}]", name, index);
  return coordinate_text(name, shape, index);
}

Operand take_part(const SupportKernels& support, const OutputPart& part, const Operand& whole,
                  DeviceMemory& memory) {
  const std::int64_t elements = part.first > 0 ? part.first : whole.elements();
  Operand made{whole.data, whole.dtype, {compared_elements(part, elements)}};
  if (part.sorted) {
    const auto places = static_cast<std::size_t>(SupportKernels::sort_places(elements));
    memory = allocate(support.driver(), places * kWidestBytes);
    support.sort(whole.dtype, whole.data, elements, memory.get());
  } else if (part.sum) {
    memory = allocate(support.driver(), kWidestBytes);
    support.driver().cuMemsetD8Async(memory.get(), 0, kWidestBytes, support.stream());
    support.sum(whole.dtype, whole.data, elements, memory.get());
  } else {
    return made;
  }
  made.data = memory.get();
  made.dtype = widest(whole.dtype);
  return made;
}

Tolerance part_tolerance(const OutputPart& part, const Tolerance& whole, double rms,
                         std::int64_t elements) {
  if (!part.sum || whole.relative_limit == 0) return whole;
  const auto terms = static_cast<double>(part.first > 0 ? part.first : elements);
  const double of_one = std::max(whole.relative_limit * rms, whole.element.at(0));
  return {kNoLimit, kNoLimit, {.floor = of_one * terms}};
}

}  // namespace assay
