#pragma once

#include <vector>

#include "judge/operation.h"

namespace assay {

/// Compares a sample of what an operation made with what the host computes in fp64: of each output
/// of `made`, in the order of the row, the first and last element and others at random. Throws
/// Failure `oracle` naming the first element in which the two disagree. False when the operation
/// has no rule for that.
bool spot_check(const OperationRow& row, const Operation& operation, const OperationCall& call,
                const std::vector<OutputShape>& made, const ReadElements& read);

}  // namespace assay
