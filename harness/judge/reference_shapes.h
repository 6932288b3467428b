#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/device_info.h"
#include "judge/operation.h"
#include "space/plan.h"
#include "spec/sweep_spec.h"

namespace assay {

/// A step of a reference whose shapes do not fit.
struct ShapeMistake {
  std::size_t step = 0;  // its place in Plan::reference
  std::string message;
};

/// The first step whose operands do not fit each other, or whose result is not what the buffer that
/// takes it holds. It needs no GPU. What a kernel of the user's own reads and writes is not known.
std::optional<ShapeMistake> find_shape_mistake(const Plan& plan);

/// What a step with the operands of `call` makes. `call` gets the shapes of the buffers that take
/// it. Throws Failure `oracle` if a buffer has another shape.
std::vector<OutputShape> outputs_of(const Plan& plan, const ReferencePlan& step,
                                    OperationCall& call);

/// The shape of what a step of a baseline makes.
std::vector<std::int64_t> shape_made(const OperationRow& row, const OperationCall& call);

/// How much device memory a baseline needs: the bytes of the plan's buffers that its steps name,
/// and of what one step hands to another. The workspace of cuBLASLt and of cuSPARSE comes on top.
/// Throws Failure `oracle` where the shapes do not fit.
std::int64_t memory_bytes(const Plan& plan, const BaselinePlan& baseline);

/// Checks the shapes of a reference's steps for a problem, by the first configuration that is found
/// soon. Throws SpecError at a step whose shapes do not fit.
void check_reference_shapes(const KernelSpec& kernel, const Problem& problem,
                            const DeviceInfo& device);
/// The same for all kernels and problems of a sweep.
void check_reference_shapes(const SweepSpec& sweep, const DeviceInfo& device);

}  // namespace assay
