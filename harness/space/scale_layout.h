#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "space/plan.h"

namespace assay {

/// Where the scales of a stack of matrices stand. Each block of rows and columns has one; blocks at
/// the edges are smaller.
struct ScaleLayout {
  std::vector<std::int64_t> shape;  // of the values
  std::int64_t block_rows = 1, block_columns = 1;
  bool transpose = false;  // scales of one block of columns follow each other

  /// The matrices of the stack, and of each matrix the blocks down and across.
  std::int64_t batch() const;
  std::int64_t rows() const;
  std::int64_t columns() const;
  std::int64_t blocks_down() const;
  std::int64_t blocks_across() const;
  /// Whether scales of this shape are enough: their rows may be longer, for padding.
  bool fits(const std::vector<std::int64_t>& scales) const;
  /// "[8,64], or longer rows"
  std::string text() const;
};

/// Of `values`, which `quantise` made.
ScaleLayout scale_layout(const BufferPlan& values, bool transpose);

}  // namespace assay
