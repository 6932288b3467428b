#include "emulator/warp.h"

#include <algorithm>

// Lanes of a warp that parted are fragments, which take turns, so that a lane that spins never
// keeps others from what it waits for. At the post-dominator of the branch they are one again.

namespace assay::emulator {
namespace {

// Instructions of a warp for which lanes wait at a join.
constexpr std::uint64_t kPatience = 20'000;

std::int32_t new_join(Warp& warp, const Join& join) {
  const auto free = std::ranges::find(warp.joins, false, &Join::in_use);
  const auto index = static_cast<std::int32_t>(free - warp.joins.begin());
  if (free == warp.joins.end()) warp.joins.emplace_back();
  warp.joins[index] = join;
  return index;
}

void add_fragment(Warp& warp, Fragment fragment);

/// If all lanes that have not ended are there, they go on.
void check_join(Warp& warp, std::int32_t index) {
  Join& join = warp.joins[index];
  if (!join.in_use || ((join.expected & warp.alive) & ~join.arrived) != 0) return;
  join.in_use = false;
  const Fragment together{join.pc, join.arrived & warp.alive, join.parent};
  if (together.lanes != 0) add_fragment(warp, together);
}

void add_fragment(Warp& warp, Fragment fragment) {
  if (fragment.join < 0 || warp.joins[fragment.join].pc != fragment.pc) {
    warp.fragments.push_back(fragment);
    return;
  }
  warp.joins[fragment.join].arrived |= fragment.lanes;
  warp.last_meeting = warp.counts.instructions;
  check_join(warp, fragment.join);
}

/// The lanes of a fragment at a branch go two ways.
void part(Warp& warp, const Fragment& from, std::int32_t join_pc, std::int32_t pc,
          std::uint32_t lanes, std::int32_t other_pc) {
  std::int32_t join = from.join;
  if (std::find(warp.apart.begin(), warp.apart.end(), join_pc) != warp.apart.end()) join_pc = -1;
  if (join_pc >= 0 && (join < 0 || warp.joins[join].pc != join_pc)) {
    join = new_join(warp, {join_pc, join, from.lanes, 0, true});
  }
  add_fragment(warp, {pc, lanes, join});
  add_fragment(warp, {other_pc, from.lanes & ~lanes, join});
}

/// Whether two fragments that wait for lanes wait for each other.
bool meets(const Warp& warp, const Fragment& one, const Fragment& other) {
  if (other.waiting.what != Waiting::For::lanes) return false;
  if (one.pc == other.pc) return true;
  return warp.ops()[one.pc].meets_anywhere && warp.ops()[other.pc].meets_anywhere;
}

bool can_meet(const Warp& warp, const Fragment& fragment) {
  std::uint32_t there = 0;
  for (const Fragment& other : warp.fragments) {
    if (meets(warp, fragment, other)) there |= other.waiting.lanes;
  }
  return (fragment.waiting.members & warp.alive & ~there) == 0;
}

/// Carries out an instruction that does not wait.
void run_op(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (!warp.bad_values.empty()) follow_bad_values(warp, op, lanes);
  op.run(warp, op, lanes);
}

/// Lanes that met carry out an instruction, ordered with what they did before and do after.
void run_together(Warp& warp, const Op& op, std::uint32_t lanes) {
  order_lanes(warp);
  warp.last_run[&op - warp.ops().data()] = warp.event;
  run_op(warp, op, lanes);
  order_lanes(warp);
}

/// Lanes that met carry out their instruction, and go on, as one where they can.
void meet(Warp& warp, const Fragment& fragment) {
  const Op& op = warp.ops()[fragment.pc];
  warp.op = &op;
  std::uint32_t together = 0;
  std::vector<Fragment> met, others;
  for (const Fragment& other : warp.fragments) {
    const bool is_here = meets(warp, fragment, other);
    (is_here ? met : others).push_back(other);
    if (is_here) together |= other.waiting.lanes;
  }
  warp.fragments = std::move(others);
  run_together(warp, op, together);
  std::vector<Fragment> after;
  for (Fragment& each : met) {
    // A join that nobody else is expected at is none.
    while (each.join >= 0) {
      Join& join = warp.joins[each.join];
      if ((join.expected & warp.alive & ~each.lanes) != 0) break;
      join.in_use = false;
      each.join = join.parent;
    }
    const auto same = std::find_if(after.begin(), after.end(), [&](const Fragment& other) {
      return other.pc == each.pc + 1 && other.join == each.join;
    });
    if (same == after.end()) {
      after.push_back({each.pc + 1, each.lanes, each.join});
    } else {
      same->lanes |= each.lanes;
    }
  }
  for (const Fragment& each : after) add_fragment(warp, each);
}

/// Lanes that have waited long for others to meet them go on: the others may wait for them.
void go_apart(Warp& warp) {
  warp.last_meeting = warp.counts.instructions;
  for (std::size_t i = 0; i < warp.joins.size(); ++i) {
    const Join join = warp.joins[i];
    if (!join.in_use || join.arrived == 0) continue;
    warp.apart.push_back(join.pc);
    warp.joins[i].in_use = false;
    const auto leave = [&](std::int32_t& of) {
      if (of == static_cast<std::int32_t>(i)) of = join.parent;
    };
    for (Join& other : warp.joins) leave(other.parent);
    std::vector<Fragment> fragments = std::exchange(warp.fragments, {});
    for (Fragment& fragment : fragments) {
      leave(fragment.join);
      add_fragment(warp, fragment);
    }
    if ((join.arrived & warp.alive) != 0) {
      add_fragment(warp, {join.pc, join.arrived & warp.alive, join.parent});
    }
  }
}

std::uint32_t members_of(const Warp& warp, const Op& op, std::uint32_t lanes) {
  return op.d == kNoSlot ? warp.alive : warp.in(op.d)[std::countr_zero(lanes)];
}

/// Takes lanes out of the warp: they end.
void end_lanes(Warp& warp, std::uint32_t lanes) {
  warp.alive &= ~lanes;
  warp.progress();
  if (warp.alive == 0) check_bulk_stores(warp);
  for (std::size_t i = 0; i < warp.joins.size(); ++i) {
    check_join(warp, static_cast<std::int32_t>(i));
  }
  for (NamedBarrier& barrier : warp.block->barriers) warp.block->check_barrier(barrier);
  warp.block->cluster->check_cluster_barrier();
}

/// Runs one fragment until it waits, parts or has had its share.
int run_fragment(Warp& warp, std::size_t index, int budget) {
  const std::vector<Op>& ops = warp.ops();
  Fragment fragment = warp.fragments[index];
  warp.fragments.erase(warp.fragments.begin() + index);
  const std::int32_t join_pc = fragment.join >= 0 ? warp.joins[fragment.join].pc : -1;
  int done = 0;
  std::uint64_t lane_instructions = 0;
  const auto count = [&] {
    warp.counts.instructions += done;
    warp.counts.lane_instructions += lane_instructions;
    return done;
  };
  while (done < budget) {
    const Op& op = ops[fragment.pc];
    warp.op = &op;
    ++done;
    std::uint32_t lanes = fragment.lanes;
    if (op.guard != kNoSlot) lanes &= warp.predicate(op.guard);
    lane_instructions += std::popcount(lanes);
    if (lanes != 0) {
      warp.last_run[fragment.pc] = warp.event;
      if (op.touches_wgmma) check_wgmma_registers(warp, op);
    }
    switch (op.control) {
      case Control::none:
        if (lanes != 0) run_op(warp, op, lanes);
        ++fragment.pc;
        break;
      case Control::branch:
        if (!warp.bad_values.empty()) follow_bad_values(warp, op, fragment.lanes);
        if (lanes != 0 && lanes != fragment.lanes) {
          part(warp, fragment, op.join, op.target, lanes, fragment.pc + 1);
          return count();
        }
        fragment.pc = lanes != 0 ? op.target : fragment.pc + 1;
        break;
      case Control::table: {
        if (lanes != fragment.lanes) {
          part(warp, fragment, op.join, fragment.pc, lanes, fragment.pc + 1);
          return count();
        }
        const std::uint32_t* const chosen = warp.in(op.a);
        const std::uint32_t first = chosen[std::countr_zero(lanes)];
        const std::uint32_t alike =
            lanes & lanes_where([&](int lane) { return chosen[lane] == first; });
        if (first >= op.list.size()) {
          warp.misuse(std::countr_zero(lanes), "a jump beyond its table");
          throw StopLaunch();
        }
        if (alike != lanes) {
          part(warp, fragment, op.join, op.list[first], alike, fragment.pc);
          return count();
        }
        fragment.pc = op.list[first];
        break;
      }
      case Control::exit:
        if (lanes != 0) end_lanes(warp, lanes);
        if (lanes != fragment.lanes) {
          ++fragment.pc;
          fragment.lanes &= ~lanes;
          add_fragment(warp, fragment);
        }
        return count();
      case Control::meet: {
        if (lanes == 0) {
          ++fragment.pc;
          break;
        }
        const std::uint32_t members = members_of(warp, op, lanes);
        if ((members & warp.alive & ~lanes) == 0) {
          run_together(warp, op, lanes);
          ++fragment.pc;
          break;
        }
        fragment.waiting = {Waiting::For::lanes, lanes, members};
        warp.fragments.push_back(fragment);
        if (can_meet(warp, fragment)) meet(warp, Fragment(fragment));
        return count();
      }
      case Control::wait:
        if (lanes != 0 && lanes != fragment.lanes) {
          Fragment others = fragment;
          others.lanes &= ~lanes;
          ++others.pc;
          add_fragment(warp, others);
          fragment.lanes = lanes;
        }
        if (!warp.bad_values.empty()) follow_bad_values(warp, op, lanes);
        if (lanes != 0 && !op.wait(warp, fragment, op, lanes)) {
          warp.fragments.push_back(fragment);
          return count();
        }
        fragment.waiting = {};
        ++fragment.pc;
        if (std::exchange(warp.has_polled, false)) {
          add_fragment(warp, fragment);
          return count();
        }
        break;
    }
    if (fragment.pc == join_pc) break;
  }
  add_fragment(warp, fragment);
  return count();
}

}  // namespace

void Warp::report(FindingKind kind, const std::string& text, int lane) {
  block->cluster->launch.report(kind, text, op, block, first_thread() + lane);
}

void Warp::progress() { ++block->cluster->num_progress; }

bool run_warp(Warp& warp, int budget) {
  if (warp.counts.instructions - warp.last_meeting > kPatience) go_apart(warp);
  for (std::size_t tries = warp.fragments.size(); tries > 0; --tries) {
    const Fragment& fragment = warp.fragments.front();  // who ran is behind the others
    if (fragment.waiting.what == Waiting::For::lanes) {
      if (!can_meet(warp, fragment)) {
        std::rotate(warp.fragments.begin(), warp.fragments.begin() + 1, warp.fragments.end());
        continue;
      }
      meet(warp, Fragment(fragment));
      return true;
    }
    const bool waited = fragment.waiting.what != Waiting::For::nothing;
    // One instruction that found that it must still wait is nothing.
    if (run_fragment(warp, 0, budget) > 1 || !waited) return true;
  }
  return false;
}

void BlockState::check_barrier(NamedBarrier& barrier) {
  if (barrier.arrived.empty()) return;
  std::uint32_t complete = 0;
  bool has_waiter = false, all = true;
  for (const Warp& warp : warps) {
    const std::uint32_t there = barrier.arrived[warp.index];
    has_waiter = has_waiter || there != 0;
    // A warp counts as a whole, once those of its lanes are there that have not ended.
    if (there != 0 && (warp.alive & ~there) == 0) complete += 32;
    all = all && (warp.alive & ~there) == 0;
  }
  if (!has_waiter) return;
  if (barrier.expected == 0 ? !all : complete < barrier.expected) return;
  ++barrier.generation;
  ++cluster->num_progress;
  for (const Warp& warp : warps) {  // those that have ended count as there
    if (barrier.expected == 0 && warp.alive == 0) barrier.point.arriving.join(warp.order);
  }
  complete_phase(barrier.point);
  std::fill(barrier.arrived.begin(), barrier.arrived.end(), 0);
  barrier.result = std::exchange(barrier.reduced, NamedBarrier::kOfNone);
  barrier.expected = 0;
}

}  // namespace assay::emulator
