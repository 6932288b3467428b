#include "space/features.h"

#include <algorithm>
#include <limits>
#include <string>

namespace assay {

Features::Features(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device)
    : kernel_(kernel), bindings_(kernel, problem, device) {
  const auto add = [&](const std::string& name) {
    const auto given = std::find_if(problem.begin(), problem.end(),
                                    [&](const auto& each) { return each.first == name; });
    of_problem_.push_back(static_cast<float>(to_real(given->second)));
  };
  for (const std::string& dim : kernel.dims) add(dim);
  for (const auto& [trait, otherwise] : kernel.traits) add(trait);
  for (const ParamSpec& param : kernel.params) {
    param_slots_.push_back(kernel.symbols.find(param.name));
  }
  for (const LetSpec& let : kernel.lets) let_slots_.push_back(kernel.symbols.find(let.name));
}

std::size_t Features::count() const {
  return of_problem_.size() + param_slots_.size() + let_slots_.size();
}

bool Features::append(const Config& config, std::vector<float>& to) {
  if (config.size() != kernel_.params.size()) return false;
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < config.size(); ++i) {
    const auto& [name, value] = config[i];
    const auto* word = std::get_if<std::string>(&value);
    if (name != kernel_.params[i].name || (word && kernel_.symbols.find(*word) < 0)) return false;
    values.push_back(slot_value(kernel_, value));
  }
  to.insert(to.end(), of_problem_.begin(), of_problem_.end());
  for (std::size_t i = 0; i < values.size(); ++i) {
    bindings_.set(param_slots_[i], values[i]);
    to.push_back(static_cast<float>(values[i]));
  }
  for (std::size_t i = 0; i < let_slots_.size(); ++i) {
    bindings_.set_let(let_slots_[i], kernel_.lets[i].value.expr);
    const std::optional<std::int64_t> let = bindings_.let(let_slots_[i]);
    to.push_back(let ? static_cast<float>(*let) : std::numeric_limits<float>::lowest());
  }
  return true;
}

}  // namespace assay
