#include "judge/operations/normalise.h"

namespace assay {

const Operation& operation::rms_norm() {
  static const NormaliseOperation rms_norm("rms_norm", false);
  return rms_norm;
}

}  // namespace assay
