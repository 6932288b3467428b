#include <algorithm>
#include <vector>

#include "emulator/program.h"

// Immediate post-dominators, by the iteration of Cooper, Harvey and Kennedy on the reversed graph
// of basic blocks. Lanes that part at a branch meet at the post-dominator of the branch.

namespace assay::emulator {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

bool ends_block(const Op& op) {
  return op.control == Control::branch || op.control == Control::table ||
         op.control == Control::exit;
}

}  // namespace

void find_joins(std::vector<Op>& ops) {
  const auto num_ops = static_cast<int>(ops.size());
  std::vector<char> is_leader(ops.size() + 1, 0);
  is_leader[0] = 1;
  const auto lead = [&](int to) {
    if (to >= 0 && to < num_ops) is_leader[at(to)] = 1;
  };
  for (int i = 0; i < num_ops; ++i) {
    const Op& op = ops[at(i)];
    if (!ends_block(op)) continue;
    lead(i + 1);
    if (op.control == Control::branch) lead(op.target);
    if (op.control == Control::table) std::for_each(op.list.begin(), op.list.end(), lead);
  }
  std::vector<int> first, block_of(ops.size());
  for (int i = 0; i < num_ops; ++i) {
    if (is_leader[at(i)]) first.push_back(i);
    block_of[at(i)] = static_cast<int>(first.size()) - 1;
  }
  const auto num_blocks = static_cast<int>(first.size());
  const int exit = num_blocks;  // beside the blocks
  std::vector<std::vector<int>> after(first.size() + 1), before(first.size() + 1);
  for (int block = 0; block < num_blocks; ++block) {
    const int last = (block + 1 < num_blocks ? first[at(block) + 1] : num_ops) - 1;
    const Op& op = ops[at(last)];
    std::vector<int>& next = after[at(block)];
    const auto go = [&](int to) {
      next.push_back(to >= 0 && to < num_ops ? block_of[at(to)] : exit);
    };
    if (op.control == Control::branch) go(op.target);
    if (op.control == Control::table) std::for_each(op.list.begin(), op.list.end(), go);
    if (op.control == Control::exit) go(-1);
    if (!ends_block(op) || (op.guard >= 0 && op.control != Control::table)) go(last + 1);
    for (const int to : next) before[at(to)].push_back(block);
  }
  // A post-order of the reversed graph, from the exit.
  std::vector<int> order, number(first.size() + 1, -1);
  std::vector<std::pair<int, std::size_t>> path{{exit, 0}};
  std::vector<char> seen(first.size() + 1, 0);
  seen[at(exit)] = 1;
  while (!path.empty()) {
    auto& [block, child] = path.back();
    const std::vector<int>& children = before[at(block)];
    if (child < children.size()) {
      const int to = children[child++];
      if (!std::exchange(seen[at(to)], 1)) path.emplace_back(to, 0);
    } else {
      number[at(block)] = static_cast<int>(order.size());
      order.push_back(block);
      path.pop_back();
    }
  }
  std::vector<int> join(first.size() + 1, -1);
  join[at(exit)] = exit;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto block = order.rbegin() + 1; block != order.rend(); ++block) {
      int found = -1;
      for (int other : after[at(*block)]) {
        if (join[at(other)] < 0) continue;
        if (found < 0) {
          found = other;
          continue;
        }
        while (found != other) {
          int& lower = number[at(found)] < number[at(other)] ? found : other;
          lower = join[at(lower)];
        }
      }
      if (found != std::exchange(join[at(*block)], found)) changed = true;
    }
  }
  for (int i = 0; i < num_ops; ++i) {
    Op& op = ops[at(i)];
    if (op.control != Control::branch && op.control != Control::table) continue;
    const int to = join[static_cast<std::size_t>(block_of[at(i)])];
    if (to < 0 || to == exit) continue;
    op.join = first[at(to)];
    // Lanes that end do not wait for others, who may wait for them at a barrier.
    const Op& there = ops[at(op.join)];
    if (there.control == Control::exit && there.guard < 0) op.join = -1;
  }
}

}  // namespace assay::emulator
