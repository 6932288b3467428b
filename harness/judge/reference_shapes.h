#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "judge/operation.h"
#include "space/plan.h"

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

}  // namespace assay
