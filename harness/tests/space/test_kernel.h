#pragma once

#include <string>
#include <vector>

#include "base/device_info.h"
#include "space/space.h"
#include "spec/kernel_spec.h"

namespace assay {

/// A contract built by hand, without YAML. Every name used must have been added before.
class TestKernel {
 public:
  explicit TestKernel(std::vector<std::string> dims = {}) {
    spec.name = "test_kernel";
    spec.dims = std::move(dims);
    for (const std::string& dim : spec.dims) spec.symbols.add(dim);
    for (const std::string_view name : kDeviceNames) spec.symbols.add(std::string(name));
    spec.flops = spec.bytes = expr("0");
  }

  ExprSpec expr(const std::string& text) const { return {Expr::parse(text, spec.symbols), {}}; }

  std::vector<ExprSpec> exprs(const std::vector<std::string>& texts) const {
    std::vector<ExprSpec> result;
    for (const std::string& text : texts) result.push_back(expr(text));
    return result;
  }

  TestKernel& param(const std::string& name, std::vector<Value> values) {
    spec.symbols.add(name);
    for (const Value& value : values) {
      if (const auto* word = std::get_if<std::string>(&value)) spec.symbols.add(*word);
    }
    spec.params.push_back({name, std::move(values), {}});
    return *this;
  }

  /// A parameter with the values first, first + 1, ..., last.
  TestKernel& range(const std::string& name, std::int64_t first, std::int64_t last) {
    std::vector<Value> values;
    for (std::int64_t value = first; value <= last; ++value) values.emplace_back(value);
    return param(name, std::move(values));
  }

  TestKernel& let(const std::string& name, const std::string& text) {
    const ExprSpec value = expr(text);
    spec.symbols.add(name);
    spec.lets.push_back({name, value});
    return *this;
  }

  TestKernel& constraint(const std::string& text) {
    spec.constraints.push_back(expr(text));
    return *this;
  }

  LaunchSpec launch(const std::string& entry = "entry") const {
    return {entry, {}, exprs({"1"}), exprs({"32"}), {}, {}};
  }

  BufferSpec buffer(DType dtype, const std::string& size, Role role) const {
    return {dtype, exprs({size}), role, {}, false};
  }

  KernelSpec spec;
};

inline DeviceInfo test_device() { return {"Test GPU", "", "", 90, 132, 232448, 50 << 20}; }

inline Space space_of(const TestKernel& kernel, const Problem& problem = {}) {
  return Space(kernel.spec, problem, test_device());
}

/// The configurations of a space, as texts.
inline std::vector<std::string> texts(const Space& space) {
  std::vector<std::string> result;
  space.for_each([&](const std::vector<int>& point) {
    result.push_back(to_text(space.config(point)));
    return true;
  });
  return result;
}

/// What all constraints removed.
inline std::uint64_t total_removed(const Space::Size& size) {
  std::uint64_t total = 0;
  for (const Removal& removal : size.removed) total += removal.points;
  return total;
}

}  // namespace assay
