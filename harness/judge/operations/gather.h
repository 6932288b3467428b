#pragma once

#include "judge/operation.h"

namespace assay {

/// Makes each row of `out` of some rows of `x`: out[i] = sum of weight[i,t] * x[index[i,t]] over t.
/// Without an index the rows follow each other, without a weight they count as they are.
class GatherOperation : public Operation {
 public:
  std::vector<OutputShape> outputs(const OperationCall& call) const override;
  bool makes_terms(const OperationCall& call) const override;
  void compute(const OperationCall& call, OperationEngine& engine) const override;
  std::optional<ExactElement> exact(const OperationCall& call, std::size_t output,
                                    std::int64_t index, const ReadElements& read) const override;

 private:
  static Rows chosen(const OperationCall& call);
};

}  // namespace assay
