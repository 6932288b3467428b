#include <algorithm>

#include "emulator/ops.h"

// Barriers of a block, of a cluster, and mbarriers.

namespace assay::emulator {
namespace {

// op.a: the barrier's number, op.b: how many threads, or none. op.mode: what is reduced.
constexpr std::uint32_t kPopc = 1, kAnd = 2;  // 3: or

std::uint32_t barrier_of(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t id = warp.in(op.a)[std::countr_zero(lanes)];
  if (id < 16) return id;
  warp.misuse(0, "barrier {}; there are 0 to 15", id);
  throw StopLaunch();
}

void arrive_at(Warp& warp, const Op& op, std::uint32_t id, std::uint32_t lanes) {
  NamedBarrier& barrier = warp.block->barriers[id];
  const std::uint32_t all = warp.block->num_threads, most = (all + 31) / 32 * 32;
  std::uint32_t expected = 0;
  if (op.b != kNoSlot) {
    expected = warp.in(op.b)[std::countr_zero(lanes)];
    if (expected == 0 || expected % 32 != 0 || expected > most) {
      warp.misuse(0, "barrier {} of {} threads; expected a multiple of 32 up to {}", id, expected,
                  most);
      throw StopLaunch();
    }
  }
  const bool is_first =
      std::ranges::all_of(barrier.arrived, [](auto lanes_of) { return lanes_of == 0; });
  if (!is_first && barrier.expected != expected) {
    warp.misuse(0, "barrier {} of {} threads, where others wait for one of {}", id,
                expected == 0 ? all : expected, barrier.expected == 0 ? all : barrier.expected);
  }
  barrier.expected = expected;
  if ((barrier.arrived[warp.index] & lanes) != 0) {
    warp.misuse(0, "arrives at barrier {} twice before it completes", id);
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
      barrier.reduced[0] += std::popcount(yes);
      if (yes != lanes) barrier.reduced[1] = 0;
      if (yes != 0) barrier.reduced[2] = 1;
    }
    arrive_at(warp, op, id, lanes);
  }
  if (barrier.generation == fragment.waiting.generation) return false;
  acquire(warp, barrier.point);
  if (op.mode != 0) {
    const std::uint32_t result = barrier.result[op.mode - 1];
    if (op.mode == kPopc) {
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
    warp.misuse(0, "arrives at the cluster's barrier twice before it completes");
  }
  warp.cluster_arrived |= lanes;
  release(warp, cluster.barrier_point, op.mode == 1);
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

/// The address in the cluster's window of an operand that is shared::cta or shared::cluster.
std::uint32_t cluster_address(const Warp& warp, const Op& op, int lane) {
  const std::uint64_t address = address_of(warp, op.at, lane);
  return op.at.window == Window::shared ? own_address(warp, address)
                                        : static_cast<std::uint32_t>(address);
}

/// init and inval: in any shared memory.
void set_mbarrier(Warp& warp, const Op& op, int lane) {
  warp.progress();
  const std::uint32_t count = op.a == kNoSlot ? 0 : warp.in(op.a)[lane];
  if (op.a != kNoSlot && (count == 0 || count >= 1u << 20)) {
    warp.misuse(lane, "an mbarrier of {} arrivals", count);
    return;
  }
  std::byte* const at = resolve(warp, op.at, lane, 8, Access::write);
  if (at == nullptr) return;
  *reinterpret_cast<Mbarrier*>(at) = op.a == kNoSlot ? Mbarrier() : Mbarrier(count);
}

constexpr std::uint32_t kArrives = 1, kExpects = 2, kCompletes = 4;

/// op.a: a count, or bytes that are expected or have come; op.out: the state before.
void arrive(Warp& warp, const Op& op, int lane) {
  warp.progress();
  Mbarrier* const barrier = mbarrier_at(warp, op.at.window, lane, address_of(warp, op.at, lane));
  if (barrier == nullptr) return;
  SyncPoint& point = warp.block->cluster->points[cluster_address(warp, op, lane)];
  if ((op.mode & kArrives) != 0) release(warp, point);
  warp.put(op.out, lane, true, std::bit_cast<std::uint64_t>(*barrier));
  const std::uint32_t value = op.a == kNoSlot ? 1 : warp.in(op.a)[lane];
  if ((op.mode & kExpects) != 0) barrier->expect(point, std::int64_t{value});
  if ((op.mode & kCompletes) != 0) barrier->expect(point, -std::int64_t{value});
  if ((op.mode & kArrives) != 0) {
    barrier->arrive(warp, lane, point, (op.mode & kExpects) == 0 ? value : 1);
  }
}

constexpr std::uint32_t kParity = 1, kTries = 2;

/// Whether a phase is over: op.out, of lanes; op.a: its parity, or the state that arriving gave.
bool test_phase(Warp& warp, Fragment& fragment, const Op& op, std::uint32_t lanes) {
  ClusterState& cluster = *warp.block->cluster;
  std::uint32_t waited = 0, done = 0;
  for (const int lane : Lanes(lanes)) {
    const std::uint64_t address = address_of(warp, op.at, lane);
    const Mbarrier* const barrier = mbarrier_at(warp, op.at.window, lane, address);
    if (barrier != nullptr) {
      waited = (op.mode & kParity) != 0
                   ? warp.in(op.a)[lane] & 1
                   : std::bit_cast<Mbarrier>(warp.get(op.a, lane, true)).parity;
      if (barrier->parity == waited) continue;
      acquire(warp, cluster.points[cluster_address(warp, op, lane)]);
    }
    done |= 1u << lane;
  }
  if (done == lanes) {
    warp.progress();
  } else {
    warp.last_polled = cluster.round;
    // try_wait may wait, or say that it has waited long enough.
    if ((op.mode & kTries) != 0 && below(cluster.random, 8) != 0) {
      const std::uint64_t address = address_of(warp, op.at, std::countr_zero(lanes & ~done));
      fragment.waiting = {Waiting::For::phase, lanes, 0, static_cast<std::uint32_t>(address),
                          waited};
      return false;
    }
    warp.has_polled = true;
  }
  if (op.out != kNoSlot) warp.set_predicate(op.out, lanes, done);
  return true;
}

void count_pending(Warp& warp, const Op& op, int lane) {
  warp.at(op.out)[lane] = std::bit_cast<Mbarrier>(warp.get(op.a, lane, true)).pending;
}

void decode_warp_barrier(Form& form) {
  form.take("-m", PtxType::b32);
  form.op.meets_anywhere = true;
  form.op.run = [](Warp& warp, const Op&, std::uint32_t) { warp.progress(); };
}

}  // namespace

std::vector<Rule> barrier_rules() {
  return {{"bar warp *", "", decode_warp_barrier},
          {"barrier cluster arrive relaxed", "", arrive_cluster, 1},
          {"barrier cluster arrive", "", arrive_cluster},
          {"barrier cluster wait", "", wait_cluster},
          {"bar|barrier sync", "-u?u", sync_barrier},
          {"bar|barrier red popc", "uu?up", sync_barrier, kPopc},
          {"bar|barrier red and|or", "pu?up", sync_barrier, kAnd},
          {"bar|barrier arrive", "-uu", arrive_barrier},
          {"mbarrier init", "-@u", each<set_mbarrier>},
          {"mbarrier inval", "-@", each<set_mbarrier>},
          {"mbarrier arrive expect_tx", "?x@u", each<arrive>, kArrives | kExpects},
          {"mbarrier arrive", "?x@?u", each<arrive>, kArrives},
          {"mbarrier expect_tx", "-@u", each<arrive>, kExpects},
          {"mbarrier complete_tx", "-@u", each<arrive>, kCompletes},
          {"mbarrier test_wait parity", "p@u", test_phase, kParity},
          {"mbarrier test_wait", "p@x", test_phase},
          {"mbarrier try_wait parity", "p@u", test_phase, kParity | kTries},
          {"mbarrier try_wait", "p@x", test_phase, kTries},
          {"mbarrier pending_count", "ux", each<count_pending>}};
}

}  // namespace assay::emulator
