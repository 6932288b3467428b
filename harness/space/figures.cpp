#include "space/figures.h"

#include <algorithm>

#include "base/counters.h"
#include "space/plan.h"
#include "space/plan_parts.h"

namespace assay {

NamedFigures figures_of(const Objective& objective, const KernelSpec& kernel,
                        const TrialRecord& trial, const DeviceInfo& device) {
  NamedFigures figures;
  if (objective.is_word()) return figures;
  const CompileReport& compile = trial.compile;
  const Evaluator evaluator(kernel, trial.problem, trial.config, device);
  const auto figure = [&](const std::string& name) -> Number {
    if (name == "flops") return evaluator.eval(kernel.flops, kAnyInteger, "{}", name);
    if (name == "bytes") return evaluator.eval(kernel.bytes, kAnyInteger, "{}", name);
    if (name == "registers") return std::int64_t{compile.registers};
    if (name == "spill_bytes") return std::int64_t{compile.spill_bytes};
    if (name == "smem_bytes") {
      return compile.static_smem_bytes +
             make_plan(kernel, trial.problem, trial.config, device).dynamic_smem_bytes();
    }
    if (name == "memory_bytes") {
      return memory_bytes(make_plan(kernel, trial.problem, trial.config, device));
    }
    return to_number(evaluator.eval_real({Expr::parse_real(name, kernel.symbols), {}}, "{}", name));
  };
  const std::vector<std::string>& measured = measured_names();
  for (const std::string& name : objective.names()) {
    if (std::ranges::find(measured, name) != measured.end()) continue;
    if (is_counter(name)) {
      for (const Measurement& counted : trial.measurements) {
        if (counted.name == name) figures.emplace_back(name, counted.value);
      }
      continue;
    }
    try {
      figures.emplace_back(name, figure(name));
    } catch (const PlanError&) {
    }
  }
  return figures;
}

}  // namespace assay
