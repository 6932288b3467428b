#include "cli/reference_check.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "judge/reference_shapes.h"
#include "space/plan.h"
#include "space/space.h"

namespace assay {

void check_reference_shapes(const KernelSpec& kernel, const Problem& problem,
                            const DeviceInfo& device) {
  constexpr std::uint64_t kMostSteps = 100'000;
  std::optional<ShapeMistake> mistake;
  try {
    const Space space(kernel, problem, device);
    space.for_each(
        [&](const std::vector<int>& point) {
          mistake = find_shape_mistake(make_plan(kernel, problem, space.config(point), device));
          return false;
        },
        kMostSteps);
  } catch (const UsageError&) {
    return;  // none is found soon
  } catch (const PlanError&) {
    return;  // a trial says so
  }
  if (!mistake) return;
  throw SpecError(kernel.reference[mistake->step].where,
                  fmt::format("{}; the problem is {}", mistake->message, to_text(problem)));
}

void check_reference_shapes(const SweepSpec& sweep, const DeviceInfo& device) {
  for (const KernelSpec& kernel : sweep.kernels) {
    for (const Problem& problem : sweep.problems) check_reference_shapes(kernel, problem, device);
  }
}

}  // namespace assay
