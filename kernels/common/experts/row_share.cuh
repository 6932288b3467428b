#pragma once

// How blocks share rows that all take equally long. Compiled by the host too: the tests deal them.

#include "common/types.cuh"

/// Which rows a block has.
///   turns:  every so-maniest, so that all blocks read neighbouring rows at a time
///   shares: neighbours
enum class Deal { turns, shares };

/// `count` rows, `step` apart.
struct RowShare {
  int first;
  int step;
  int count;
};

/// Of `rows` rows, those of block `block` of `blocks`. No block has two more than another.
template <Deal kDeal>
ASSAY_HD constexpr RowShare row_share(int rows, int block, int blocks) {
  const int each = rows / blocks, more = rows % blocks;
  const int count = each + (block < more ? 1 : 0);
  if (kDeal == Deal::turns) return {block, blocks, count};
  return {block * each + smaller(block, more), 1, count};
}
