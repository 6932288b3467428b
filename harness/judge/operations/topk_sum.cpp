#include "judge/operations/gather.h"

namespace assay {

const Operation& operation::topk_sum() {
  static const GatherOperation topk_sum;
  return topk_sum;
}

}  // namespace assay
