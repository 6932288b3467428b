// A kernel's YAML file: loaded, and its smoke problem's first configuration planned.

#include "base/error.h"
#include "fuzz_target.h"
#include "space/plan.h"
#include "space/space.h"

namespace assay {

void fuzz_kernel_file(std::string_view text) {
  static const InputFile file("fuzz.yaml");
  static const auto source = file.folder().write("fuzz.cu", "");
  static const DeviceInfo device = nominal_device("90a");
  constexpr std::uint64_t kMaxSteps = 10'000;  // each may throw: 0.2 ms under sanitizers
  try {
    const KernelSpec kernel = load_kernel(file.with(text));
    const Space space(kernel, kernel.smoke, device);
    space.for_each(
        [&](const std::vector<int>& point) {
          make_plan(kernel, kernel.smoke, space.config(point), device);
          return false;
        },
        kMaxSteps);
  } catch (const UsageError&) {
  } catch (const PlanError&) {
  }
}

}  // namespace assay
