#include <fmt/format.h>

#include <algorithm>

#include "emulator/addressing.h"
#include "emulator/lane_loops.h"
#include "emulator/pending.h"

// Barriers of a block, of a cluster, and mbarriers.

namespace assay::emulator {
namespace {

// op.a: the barrier's number, op.b: how many threads, or none. op.mode: what is reduced.
enum class Reduces : std::uint32_t { nothing, popc, both, either };

std::uint32_t barrier_of(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t id = warp.in(op.a)[std::countr_zero(lanes)];
  if (id < 16) return id;
  warp.report(FindingKind::misuse, fmt::format("barrier {}; there are 0 to 15", id));
  throw StopLaunch();
}

void arrive_at(Warp& warp, const Op& op, std::uint32_t id, std::uint32_t lanes) {
  NamedBarrier& barrier = warp.block->barriers[id];
  const std::uint32_t all = warp.block->num_threads, most = (all + 31) / 32 * 32;
  std::uint32_t expected = 0;
  if (op.b != kNoSlot) {
    expected = warp.in(op.b)[std::countr_zero(lanes)];
    if (expected == 0 || expected % 32 != 0 || expected > most) {
      warp.report(FindingKind::misuse,
                  fmt::format("barrier {} of {} threads; expected a multiple of 32 up to {}", id,
                              expected, most));
      throw StopLaunch();
    }
  }
  const bool is_first =
      std::ranges::all_of(barrier.arrived, [](auto lanes_of) { return lanes_of == 0; });
  if (!is_first && barrier.expected != expected) {
    warp.report(FindingKind::misuse,
                fmt::format("barrier {} of {} threads, where others wait for one of {}", id,
                            expected == 0 ? all : expected,
                            barrier.expected == 0 ? all : barrier.expected));
  }
  barrier.expected = expected;
  if ((barrier.arrived[warp.index] & lanes) != 0) {
    warp.report(FindingKind::misuse,
                fmt::format("arrives at barrier {} twice before it completes", id));
  }
  barrier.arrived[warp.index] |= lanes;
  warp.progress();
  release(warp, barrier.point);
  warp.block->check_barrier(barrier);
}

bool sync_barrier(Warp& warp, Fragment& fragment, const Op& op, std::uint32_t lanes) {
  const std::uint32_t id = barrier_of(warp, op, lanes);
  NamedBarrier& barrier = warp.block->barriers[id];
  if (fragment.waiting.what != Waiting::For::barrier) {
    fragment.waiting = {Waiting::For::barrier, lanes, 0, id, 0, barrier.generation};
    if (op.mode != 0) {
      const std::uint32_t yes = warp.predicate(op.c) & lanes;
      barrier.reduced[0] += static_cast<std::uint32_t>(std::popcount(yes));
      if (yes != lanes) barrier.reduced[1] = 0;
      if (yes != 0) barrier.reduced[2] = 1;
    }
    arrive_at(warp, op, id, lanes);
  }
  if (barrier.generation == fragment.waiting.generation) return false;
  acquire(warp, barrier.point);
  if (op.mode != 0) {
    const std::uint32_t result = barrier.result[op.mode - 1];
    if (static_cast<Reduces>(op.mode) == Reduces::popc) {
      warp.put_all(op.out, lanes, result);
    } else {
      warp.set_predicate(op.out, lanes, result != 0 ? ~0u : 0);
    }
  }
  return true;
}

void arrive_barrier(Warp& warp, const Op& op, std::uint32_t lanes) {
  arrive_at(warp, op, barrier_of(warp, op, lanes), lanes);
}

void arrive_cluster(Warp& warp, const Op& op, std::uint32_t lanes) {
  ClusterState& cluster = *warp.block->cluster;
  if ((warp.cluster_arrived & lanes) != 0) {
    warp.report(FindingKind::misuse, "arrives at the cluster's barrier twice before it completes");
  }
  warp.cluster_arrived |= lanes;
  if (op.mode == 0) {
    release(warp, cluster.barrier_point);
  } else if (warp.fenced != nullptr) {  // .relaxed
    cluster.barrier_point.arriving.join(*warp.fenced);
  }
  warp.cluster_generation = cluster.barrier_generation;
  warp.progress();
  cluster.check_cluster_barrier();
}

bool wait_cluster(Warp& warp, Fragment& fragment, const Op&, std::uint32_t) {
  if (warp.block->cluster->barrier_generation > warp.cluster_generation) {
    acquire(warp, warp.block->cluster->barrier_point);
    return true;
  }
  fragment.waiting.what = Waiting::For::cluster;
  return false;
}

// mbarriers, at op.at.

/// init and inval: in any shared memory.
void set_mbarrier(Warp& warp, const Op& op, std::uint32_t lanes) {
  for (const int lane : Lanes(lanes)) {
    const std::uint32_t count = op.b == kNoSlot ? 0 : warp.in(op.b)[lane];
    if (op.b != kNoSlot && (count == 0 || count >= 1u << 20)) {
      warp.report(FindingKind::misuse, fmt::format("an mbarrier of {} arrivals", count), lane);
      continue;
    }
    const std::uint64_t address = address_of(warp, op.at, lane);
    std::byte* const at = resolve(warp, op.at.window, lane, address, 8, Access::write, 8);
    if (at != nullptr) {
      *reinterpret_cast<Mbarrier*>(at) = op.b == kNoSlot ? Mbarrier() : Mbarrier(count);
    }
  }
  warp.progress();
}

/// op.b: a count, or bytes that are expected; op.out: the state before. Bits 0 and 1 of op.mode: it
/// arrives, it expects bytes; 2: with a count.
void arrive(Warp& warp, const Op& op, std::uint32_t lanes) {
  warp.progress();
  for (const int lane : Lanes(lanes)) {
    Mbarrier* const barrier = mbarrier_at(warp, op.at.window, lane, address_of(warp, op.at, lane));
    if (barrier == nullptr) continue;
    SyncPoint& point = warp.block->cluster->points[cluster_address(warp, op, lane)];
    const std::uint32_t parity = barrier->parity();
    if ((op.mode & 1) != 0) release(warp, point);
    warp.put(op.out, lane, true, barrier->bits());
    const std::uint32_t value = op.b == kNoSlot ? 1 : warp.in(op.b)[lane];
    if ((op.mode & 2) != 0) barrier->expect(std::int64_t{value});
    if ((op.mode & 8) != 0) barrier->expect(-std::int64_t{value});
    if ((op.mode & 1) != 0 && !barrier->arrive((op.mode & 4) != 0 ? value : 1)) {
      warp.report(FindingKind::misuse, "arrives at an mbarrier that expects nobody more", lane);
    }
    if (barrier->parity() != parity) complete_phase(point);
  }
}

/// Whether a phase is over: op.out, of lanes; op.b: its parity (op.mode 1), or the state that
/// arriving gave.
std::uint32_t completed(Warp& warp, const Op& op, std::uint32_t lanes, std::uint32_t& waited) {
  std::uint32_t result = 0;
  for (const int lane : Lanes(lanes)) {
    const Mbarrier* const barrier =
        mbarrier_at(warp, op.at.window, lane, address_of(warp, op.at, lane));
    if (barrier == nullptr) {
      result |= 1u << lane;
      continue;
    }
    waited = op.mode == 1 ? warp.in(op.b)[lane] & 1
                          : Mbarrier::of(lanes_in<std::uint64_t>(warp, op.b)[lane]).parity();
    if (barrier->parity() == waited) continue;
    result |= 1u << lane;
    acquire(warp, warp.block->cluster->points[cluster_address(warp, op, lane)]);
  }
  return result;
}

void poll(Warp& warp) {
  warp.has_polled = true;
  warp.last_polled = warp.block->cluster->round;
}

bool test_phase(Warp& warp, Fragment& fragment, const Op& op, std::uint32_t lanes) {
  std::uint32_t waited = 0;
  const std::uint32_t done = completed(warp, op, lanes, waited);
  if (done != lanes) {
    poll(warp);
    // try_wait may wait, or say that it has waited long enough.
    if (op.bytes != 0 && below(warp.block->cluster->random, 8) != 0) {
      warp.has_polled = false;
      fragment.waiting = {
          Waiting::For::phase,
          lanes,
          0,
          static_cast<std::uint32_t>(address_of(warp, op.at, std::countr_zero(lanes & ~done))),
          waited,
          0};
      return false;
    }
  } else {
    warp.progress();
  }
  if (op.out != kNoSlot) {
    warp.set_predicate(op.out, lanes, done);
  }
  return true;
}

void count_pending(Warp& warp, const Op& op, std::uint32_t lanes) {
  for (const int lane : Lanes(lanes)) {
    warp.at(op.out)[lane] = Mbarrier::of(lanes_in<std::uint64_t>(warp, op.a)[lane]).pending();
  }
}

/// bar.warp.sync.
void decode_warp_barrier(Form& form) {
  form.op.control = Control::meet;
  form.op.meets_anywhere = true;
  form.op.d = form.in(0, PtxType::b32);
  form.op.run = [](Warp& warp, const Op&, std::uint32_t) { warp.progress(); };
}

}  // namespace

void decode_barrier(Form& form) {
  Op& op = form.op;
  if (form.has("warp")) return decode_warp_barrier(form);
  if (form.has("cluster")) {
    form.allow({"cluster", "arrive", "wait", "release", "relaxed", "acquire", "aligned"});
    if (form.has("arrive")) {
      op.mode = form.has("relaxed") ? 1 : 0;
      op.run = arrive_cluster;
    } else {
      op.control = Control::wait;
      op.wait = wait_cluster;
    }
    return;
  }
  form.allow({"cta", "sync", "arrive", "red", "popc", "and", "or", "aligned"});
  std::size_t at = 0;
  if (form.has("red")) {
    op.mode = static_cast<std::uint32_t>(form.has("popc")  ? Reduces::popc
                                         : form.has("and") ? Reduces::both
                                                           : Reduces::either);
    op.out = form.has("popc") ? form.out(0, PtxType::u32) : form.out(0, PtxType::pred);
    at = 1;
  }
  op.a = form.in(at++, PtxType::u32);
  const std::size_t behind = op.mode != 0 ? 1 : 0;
  if (form.num_operands() > at + behind) op.b = form.in(at++, PtxType::u32);
  if (op.mode != 0) op.c = form.in(at, PtxType::pred);
  if (form.has("arrive")) {
    if (op.b == kNoSlot) throw UnknownForm();
    op.run = arrive_barrier;
  } else {
    op.control = Control::wait;
    op.wait = sync_barrier;
  }
}

void decode_mbarrier(Form& form) {
  form.allow({"init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait",
              "try_wait", "parity", "pending_count", "noComplete", "shared", "shared::cta",
              "shared::cluster", "release", "acquire", "relaxed", "cta", "cluster"});
  Op& op = form.op;
  if (form.has("arrive_drop") || form.has("noComplete")) throw UnknownForm();
  if (form.has("pending_count")) {
    form.take("ux", PtxType::b64);
    op.run = count_pending;
    return;
  }
  const bool waits = form.has("test_wait") || form.has("try_wait");
  const bool arrives = form.has("arrive");
  std::size_t at = 0;
  if (waits) op.out = form.out(at++, PtxType::pred);
  if (arrives) {
    if (form.operand(0).kind != PtxOperand::Kind::address) {
      op.out = form.out(at++, PtxType::b64);
    }
  }
  op.at = form.address(form.operand(at++));
  if (waits) {
    op.mode = form.has("parity") ? 1 : 0;
    op.b = form.in(at++, form.has("parity") ? PtxType::b32 : PtxType::b64);
    op.bytes = form.has("try_wait") ? 1 : 0;
    op.control = Control::wait;
    op.wait = test_phase;
    return;
  }
  if (form.has("init") || form.has("inval")) {
    if (form.has("init")) op.b = form.in(at, PtxType::b32);
    op.run = set_mbarrier;
    return;
  }
  if (form.num_operands() > at) op.b = form.in(at, PtxType::b32);
  const bool expects = form.has("expect_tx");
  op.mode = (arrives ? 1u : 0u) | (expects ? 2u : 0u) |
            (arrives && !expects && op.b != kNoSlot ? 4u : 0u) |
            (form.has("complete_tx") ? 8u : 0u);
  if ((op.mode & 10) != 0 && op.b == kNoSlot) throw UnknownForm();
  op.run = arrive;
}

}  // namespace assay::emulator
