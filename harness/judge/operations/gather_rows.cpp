#include "judge/operations/gather.h"

namespace assay {

const Operation& operation::gather_rows() {
  static const GatherOperation gather_rows;
  return gather_rows;
}

}  // namespace assay
