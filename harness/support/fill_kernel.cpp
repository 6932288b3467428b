#include "support/fill_kernel.h"

#include <fmt/format.h>

#include "base/file.h"

namespace assay {
namespace {

Plan plan_of(const ReferenceKernelPlan& kernel) {
  Plan plan;
  plan.args = kernel.args;
  plan.launches = {kernel.launch};
  return plan;
}

}  // namespace

FillKernel::FillKernel(const Driver& driver, const ReferenceKernelPlan& kernel,
                       const AddressOf& address_of)
    : text_(fmt::format("{} of {}", kernel.launch.entry, kernel.source)),
      launcher_(driver, plan_of(kernel), read_file(kernel.cubin_path), address_of) {
  for (std::size_t i = 0; i < kernel.args.size(); ++i) {
    const auto* scalar = std::get_if<ScalarPlan>(&kernel.args[i]);
    if (scalar && scalar->is_seed) seed_place_ = i;
  }
}

void FillKernel::enqueue(CUstream stream, std::uint64_t seed) {
  if (seed_place_) {
    launcher_.set({"seed", DType::u64, static_cast<std::int64_t>(seed)}, *seed_place_);
  }
  launcher_.enqueue(stream);
}

const ReferenceKernelPlan* find_fill(const Plan& plan, const std::string& name) {
  for (const ReferenceKernelPlan& kernel : plan.fills) {
    for (const ArgPlan& arg : kernel.args) {
      const auto* buffer = std::get_if<BufferPlan>(&arg);
      if (buffer && buffer->role == Role::out && buffer->name == name) return &kernel;
    }
  }
  return nullptr;
}

std::vector<std::string> fill_sources(const Plan& plan, const BufferPlan& buffer) {
  if (!buffer.made_of.empty()) return {buffer.made_of};
  std::vector<std::string> names;
  const ReferenceKernelPlan* const kernel = find_fill(plan, buffer.name);
  if (!kernel) return names;
  for (const ArgPlan& arg : kernel->args) {
    const auto* source = std::get_if<BufferPlan>(&arg);
    if (source && source->name != buffer.name) names.push_back(source->name);
  }
  return names;
}

}  // namespace assay
