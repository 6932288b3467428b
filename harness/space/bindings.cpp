#include "space/bindings.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/find_named.h"

namespace assay {

Bindings::Bindings(const KernelSpec& kernel, const DeviceInfo& device)
    : symbols_(kernel.symbols),
      values_(kernel.symbols.size() + 1),  // one for `pass`
      unanswered_(values_.size()) {
  // A word's value is its own slot; all other names overwrite theirs.
  std::iota(values_.begin(), values_.end(), std::int64_t{0});
  // In the order of kDeviceNames, which stand ahead of the lets.
  const std::int64_t figures[] = {device.cc, device.sm_count, device.smem_optin_bytes,
                                  device.l2_bytes};
  static_assert(std::size(figures) == std::size(kDeviceNames));
  const std::size_t first_let = symbols_.size() - kernel.lets.size();
  for (std::size_t i = 0; i < std::size(figures); ++i) {
    const int slot = slot_of(symbols_, first_let - std::size(figures) + i, kDeviceNames[i]);
    if (slot >= 0) set(slot, figures[i]);
  }
  const std::size_t num_dims = kernel.dims.size();
  for (std::size_t i = 0; i < num_dims; ++i) leave_open(slot_of(symbols_, i, kernel.dims[i]));
  for (std::size_t i = 0; i < kernel.traits.size(); ++i) {
    leave_open(slot_of(symbols_, num_dims + i, kernel.traits[i].first));
  }
}

Bindings::Bindings(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device)
    : Bindings(kernel, device) {
  const auto value_of = [&](std::string_view what, const std::string& name) -> const Number& {
    if (const Number* const given = find_value(problem, name)) return *given;
    throw UsageError("kernel {} needs a value for {} {}; the problem is \"{}\"", kernel.name, what,
                     name, to_text(problem));
  };
  const std::size_t num_dims = kernel.dims.size();
  for (std::size_t i = 0; i < num_dims; ++i) {
    const std::string& dim = kernel.dims[i];
    const Number& value = value_of("dim", dim);
    const auto* size = std::get_if<std::int64_t>(&value);
    if (!size) {
      throw UsageError("kernel {} needs an integer for dim {}, found {}", kernel.name, dim,
                       to_text(value));
    }
    set(slot_of(symbols_, i, dim), *size);
  }
  for (std::size_t i = 0; i < kernel.traits.size(); ++i) {
    const std::string& trait = kernel.traits[i].first;
    set_real(slot_of(symbols_, num_dims + i, trait), to_real(value_of("trait", trait)));
  }
  std::ranges::fill(unanswered_, std::uint8_t{0});
  num_unanswered_ = 0;
}

void Bindings::leave_open(int slot) {
  unanswered_[static_cast<std::size_t>(slot)] = 1;
  ++num_unanswered_;
}

void Bindings::set_let(int slot, const Expr& expr) {
  std::uint8_t& unanswered = unanswered_[static_cast<std::size_t>(slot)];
  num_unanswered_ -= unanswered;
  unanswered = 0;
  try {
    set(slot, eval(expr));
  } catch (const EvalError&) {
    leave_open(slot);
  }
}

void Bindings::check_answered(const Expr& expr) const {
  if (num_unanswered_ == 0) return;
  for (const int slot : expr.slots()) {
    if (unanswered_[static_cast<std::size_t>(slot)] == 0) continue;
    throw EvalError("\"{}\" reads {}, which has no value", expr.text(), symbols_.name(slot));
  }
}

std::int64_t Bindings::eval(const Expr& expr) const {
  check_answered(expr);
  return expr.eval(values_);
}

bool Bindings::may_hold(const Expr& expr, std::span<const std::size_t> levels,
                        std::size_t level) const {
  return num_unanswered_ > 0 || expr.may_hold(values_, levels, level);
}

double Bindings::eval_real(const Expr& expr) const {
  check_answered(expr);
  return expr.eval_real(values_);
}

int slot_of(const Symbols& symbols, std::size_t guess, std::string_view name) {
  const auto slot = static_cast<int>(guess);
  return guess < symbols.size() && symbols.name(slot) == name ? slot : symbols.find(name);
}

std::int64_t slot_value(const KernelSpec& kernel, const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const std::string& word = std::get<std::string>(value);
  const int slot = kernel.symbols.find(word);
  if (slot < 0) throw UsageError("kernel {} knows no word {}", kernel.name, word);
  return slot;
}

}  // namespace assay
