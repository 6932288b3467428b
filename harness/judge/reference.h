#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "judge/operations.h"
#include "space/plan.h"
#include "support/inputs.h"

namespace assay {

/// The fp32 values that one output must have.
struct ReferenceOutput {
  DeviceMemory memory;
  Operand operand;
  std::int64_t sum_length = 0;  // over all the steps that lead to it
  double rms = 0;
  std::uint64_t hash = 0;
};

/// What a plan's outputs must be, by output name.
struct Reference {
  std::map<std::string, ReferenceOutput> outputs;
};

/// The inputs of a trial by argument name.
using InputMap = std::map<std::string, std::shared_ptr<const Input>>;

/// The operands of step `index` of the reference of `plan`. Those that an earlier step computed
/// come from `made`. Throws Failure `oracle` for a name that is neither an input nor in `made`.
OperationCall reference_call(const Plan& plan, std::size_t index, const InputMap& inputs,
                             const Reference& made);

/// Computes references and keeps them, since the trials of a problem share them.
class References {
 public:
  References(const Driver& driver, CUstream stream, const SupportKernels& support,
             OperationEngine& engine);

  /// Throws Failure `oracle` when an operation cannot be done or the result disagrees with the
  /// host's own computation of a sample of its elements.
  std::shared_ptr<const Reference> get(const Plan& plan, const InputMap& inputs);
  void clear() { kept_.clear(); }

 private:
  void verify(const Operation& operation, const OperationCall& call);

  const Driver* driver_;
  CUstream stream_;
  const SupportKernels* support_;
  OperationEngine* engine_;
  std::map<std::string, std::shared_ptr<const Reference>> kept_;
};

}  // namespace assay
