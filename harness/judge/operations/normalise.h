#pragma once

#include "judge/operation.h"

namespace assay {

/// Divides each row of x by the root of its mean square, or, centred, by its standard deviation
/// after the mean was subtracted. Then weight and bias of the columns are applied, where there are
/// any: `{layer_norm: {x: A, weight: W, bias: B, epsilon: 0.00001, out: C}}`.
class NormaliseOperation : public Operation {
 public:
  NormaliseOperation(const char* name, bool centred) : name_(name), centred_(centred) {}

  std::vector<OutputShape> outputs(const OperationCall& call) const override;
  void compute(const OperationCall& call, OperationEngine& engine) const override;
  std::optional<ExactElement> exact(const OperationCall& call, std::size_t output,
                                    std::int64_t index, const ReadElements& read) const override;

 private:
  const char* name_;
  bool centred_;
};

}  // namespace assay
