#include "space/bindings.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace assay {

Bindings::Bindings(const KernelSpec& kernel, const DeviceInfo& device)
    : symbols_(kernel.symbols),
      values_(kernel.symbols.size() + 1),  // one for `pass`
      unanswered_(values_.size()) {
  // A word's value is its own slot; all other names overwrite theirs.
  std::iota(values_.begin(), values_.end(), std::int64_t{0});
  const auto set_name = [&](std::string_view name, std::int64_t value) {
    if (const int slot = symbols_.find(name); slot >= 0) set(slot, value);
  };
  set_name("device.cc", device.cc);
  set_name("device.sm_count", device.sm_count);
  set_name("device.smem_optin_bytes", device.smem_optin_bytes);
  set_name("device.l2_bytes", device.l2_bytes);
  for (const std::string& dim : kernel.dims) leave_open(dim);
  for (const auto& [trait, otherwise] : kernel.traits) leave_open(trait);
}

Bindings::Bindings(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device)
    : Bindings(kernel, device) {
  const auto value_of = [&](std::string_view what, const std::string& name) -> const Number& {
    for (const auto& [given, value] : problem) {
      if (given == name) return value;
    }
    throw UsageError(fmt::format("kernel {} needs a value for {} {}; the problem is \"{}\"",
                                 kernel.name, what, name, to_text(problem)));
  };
  for (const std::string& dim : kernel.dims) {
    const Number& value = value_of("dim", dim);
    const auto* size = std::get_if<std::int64_t>(&value);
    if (!size) {
      throw UsageError(fmt::format("kernel {} needs an integer for dim {}, found {}", kernel.name,
                                   dim, to_text(value)));
    }
    set(answer(dim), *size);
  }
  for (const auto& [trait, otherwise] : kernel.traits) {
    set_real(answer(trait), to_real(value_of("trait", trait)));
  }
}

void Bindings::leave_open(std::string_view name) {
  unanswered_[static_cast<std::size_t>(symbols_.find(name))] = 1;
  ++num_unanswered_;
}

int Bindings::answer(std::string_view name) {
  const int slot = symbols_.find(name);
  unanswered_[static_cast<std::size_t>(slot)] = 0;
  --num_unanswered_;
  return slot;
}

void Bindings::set_let(int slot, const Expr& expr) {
  bool answered = true;
  try {
    set(slot, eval(expr));
  } catch (const EvalError&) {
    answered = false;
  }
  std::uint8_t& unanswered = unanswered_[static_cast<std::size_t>(slot)];
  num_unanswered_ += (answered ? 0 : 1) - unanswered;
  unanswered = answered ? 0 : 1;
}

void Bindings::check_answered(const Expr& expr) const {
  if (num_unanswered_ == 0) return;
  for (const int slot : expr.slots()) {
    if (unanswered_[static_cast<std::size_t>(slot)] == 0) continue;
    throw EvalError(
        fmt::format("\"{}\" reads {}, which has no value", expr.text(), symbols_.name(slot)));
  }
}

std::int64_t Bindings::eval(const Expr& expr) const {
  check_answered(expr);
  return expr.eval(values_);
}

double Bindings::eval_real(const Expr& expr) const {
  check_answered(expr);
  return expr.eval_real(values_);
}

std::int64_t slot_value(const KernelSpec& kernel, const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const std::string& word = std::get<std::string>(value);
  const int slot = kernel.symbols.find(word);
  if (slot < 0) throw UsageError(fmt::format("kernel {} knows no word {}", kernel.name, word));
  return slot;
}

}  // namespace assay
