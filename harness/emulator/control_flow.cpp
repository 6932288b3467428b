#include <algorithm>
#include <vector>

#include "emulator/program.h"

// Immediate post-dominators, by the iteration of Cooper, Harvey and Kennedy on the reversed graph
// of instructions. Lanes that part at a branch meet at the post-dominator of the branch.

namespace assay::emulator {

void find_joins(std::vector<Op>& ops) {
  const std::size_t exit = ops.size();  // beside the instructions
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::vector<std::size_t>> after(exit + 1), before(exit + 1);
  for (std::size_t at = 0; at < exit; ++at) {
    const Op& op = ops[at];
    const auto go = [&](std::int64_t to) {
      after[at].push_back(to >= 0 ? std::min(static_cast<std::size_t>(to), exit) : exit);
      before[after[at].back()].push_back(at);
    };
    const bool is_jump = op.control == Control::branch || op.control == Control::exit;
    if (is_jump) go(op.control == Control::branch ? op.target : -1);
    if (op.control == Control::table) std::for_each(op.list.begin(), op.list.end(), go);
    if (is_jump ? op.guard != kNoSlot : op.control != Control::table) {
      go(static_cast<std::int64_t>(at) + 1);
    }
  }
  // A post-order of the reversed graph, from the exit.
  std::vector<std::size_t> order, number(exit + 1, kNone);
  std::vector<std::pair<std::size_t, std::size_t>> path{{exit, 0}};
  std::vector<char> seen(exit + 1, 0);
  seen[exit] = 1;
  while (!path.empty()) {
    auto& [at, child] = path.back();
    if (child < before[at].size()) {
      const std::size_t to = before[at][child++];
      if (!std::exchange(seen[to], 1)) path.emplace_back(to, 0);
    } else {
      number[at] = order.size();
      order.push_back(at);
      path.pop_back();
    }
  }
  std::vector<std::size_t> join(exit + 1, kNone);
  join[exit] = exit;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto at = order.rbegin() + 1; at != order.rend(); ++at) {
      std::size_t found = kNone;
      for (std::size_t other : after[*at]) {
        if (join[other] == kNone) continue;
        if (found == kNone) found = other;
        while (found != other) {
          std::size_t& lower = number[found] < number[other] ? found : other;
          lower = join[lower];
        }
      }
      if (found != std::exchange(join[*at], found)) changed = true;
    }
  }
  for (std::size_t at = 0; at < exit; ++at) {
    Op& op = ops[at];
    if (op.control != Control::branch && op.control != Control::table) continue;
    if (join[at] >= exit) continue;
    // Lanes that end do not wait for others, who may wait for them at a barrier.
    const Op& there = ops[join[at]];
    if (there.control == Control::exit && there.guard == kNoSlot) continue;
    op.join = static_cast<std::int32_t>(join[at]);
  }
}

}  // namespace assay::emulator
