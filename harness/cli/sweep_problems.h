#pragma once

#include <string>

#include "spec/sweep_spec.h"

namespace assay {

/// `--problem`: keeps the problems that agree with every name in it. If it names all of them and
/// the sweep has no such problem, that problem is run instead. Throws UsageError.
void choose_problems(const std::string& text, SweepSpec& sweep);

/// `--sizes FILE`: the problems that programs with libassay logged for an op of the sweep's
/// kernels, instead of those that the sweep lists. Throws UsageError "FILE:LINE: ..." for a line
/// that is no such problem, and where the file has none of the op.
void choose_logged_problems(const std::string& file, SweepSpec& sweep);

/// `--shard 3/8`: every eighth problem, from the third on. Problems that lie beside each other in a
/// sweep are of like size, so that the shards are, too. Throws UsageError.
void choose_shard(const std::string& text, SweepSpec& sweep);

}  // namespace assay
