#include "judge/operations/normalise.h"

namespace assay {

const Operation& operation::layer_norm() {
  static const NormaliseOperation layer_norm("layer_norm", true);
  return layer_norm;
}

}  // namespace assay
