#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "emulator/lane_loops.h"
#include "emulator/pending.h"

// cp.async of 4 to 16 bytes, and what all copies have in common.

namespace assay::emulator {

void begin_work(Warp& warp, const Actor& actor, std::function<void()> complete) {
  ClusterState& cluster = *warp.block->cluster;
  warp.progress();
  if (below(cluster.random, 4) == 0) {
    complete();
    return;
  }
  cluster.pending.push_back({actor.index, actor.event, std::move(complete)});
}

void complete_work(Warp& warp, std::uint32_t actor, std::uint32_t number) {
  warp.block->cluster->complete(
      [&](const PendingWork& work) { return work.actor == actor && work.number <= number; });
}

Actor own_actor(Warp& warp, std::size_t which) {
  const std::uint32_t number = ++warp.num_copies[which];
  return {which == 0 ? copies_of(warp) : bulk_stores_of(warp), number, which == 1, order_now(warp)};
}

Actor signal_actor(Warp& warp, std::uint32_t mbarrier) {
  ClusterState& cluster = *warp.block->cluster;
  const std::uint32_t index = signals_of(cluster, mbarrier);
  return {index, ++cluster.signal_events[index], true, order_now(warp)};
}

Mbarrier* mbarrier_at(Warp& warp, Window window, int lane, std::uint64_t address,
                      std::string_view verb) {
  auto* const barrier =
      reinterpret_cast<Mbarrier*>(resolve(warp, window, lane, address, 8, Access::sync, 8));
  if (barrier == nullptr || barrier->is_valid()) return barrier;
  warp.report(FindingKind::misuse, fmt::format("{} an mbarrier that is not initialised", verb),
              lane);
  return nullptr;
}

void signal_mbarrier(Warp& warp, int lane, std::uint32_t address, std::int32_t bytes) {
  Mbarrier* const barrier = mbarrier_at(warp, Window::cluster, lane, address, "signals");
  if (barrier == nullptr) return;
  ClusterState& cluster = *warp.block->cluster;
  SyncPoint& point = cluster.points[address];
  Clock now(num_actors(cluster));
  now.raise(warp.actor->index, warp.actor->event);
  point.arriving.join({now, now});
  const std::uint32_t parity = barrier->parity();
  barrier->expect(-std::int64_t{bytes});
  if (barrier->parity() != parity) complete_phase(point);
}

namespace {

// cp.async: op.bytes from op.from to op.at; op.c: bytes that are read, the rest is 0. The lanes of
// an instruction are one piece of work.
void copy_small(Warp& warp, const Op& op, std::uint32_t lanes) {
  struct Piece {
    std::uint64_t to, from;
    std::uint32_t bytes;
    int lane;
  };
  std::vector<Piece> pieces;
  for (const int lane : Lanes(lanes)) {
    std::uint32_t bytes = op.c == kNoSlot ? op.bytes : warp.in(op.c)[lane];
    if (op.d != kNoSlot && (warp.predicate(op.d) >> lane & 1) != 0) bytes = 0;
    if (bytes > op.bytes) {
      warp.report(FindingKind::misuse,
                  fmt::format("cp.async of {} bytes reads {}", op.bytes, bytes), lane);
      bytes = op.bytes;
    }
    pieces.push_back({address_of(warp, op.at, lane), address_of(warp, op.from, lane), bytes, lane});
  }
  const Actor actor = own_actor(warp, 0);
  begin_work(warp, actor, [&warp, &op, actor, pieces] {
    const AsBegun as(warp, &op, actor);
    for (const auto& [to, from, bytes, lane] : pieces) {
      std::array<std::byte, 16> moved{};
      if (bytes > 0) {
        const std::byte* const source =
            resolve(warp, Window::global, lane, from, bytes, Access::read, op.bytes);
        if (source != nullptr) std::memcpy(moved.data(), source, bytes);
      }
      std::byte* const target =
          resolve(warp, Window::shared, lane, to, op.bytes, Access::write, op.bytes);
      if (target != nullptr) std::memcpy(target, moved.data(), op.bytes);
    }
  });
}

/// cp.async.mbarrier.arrive: an arrival once all copies of the warp ahead of it are complete.
void arrive_after_copies(Warp& warp, const Op& op, std::uint32_t lanes) {
  const Actor actor{copies_of(warp), warp.num_copies[0], false, order_now(warp)};
  std::vector<std::uint32_t> addresses;
  for (const int lane : Lanes(lanes)) {
    addresses.push_back(own_address(warp, address_of(warp, op.at, lane)));
    if (op.mode != 0) continue;  // .noinc; else the phase expects it
    Mbarrier* const barrier = mbarrier_at(warp, Window::cluster, lane, addresses.back());
    if (barrier != nullptr) *barrier = Mbarrier::of(barrier->bits() + 1);
  }
  begin_work(warp, {}, [&warp, &op, actor, addresses] {
    const AsBegun as(warp, &op, actor);
    complete_work(warp, actor.index, actor.event);
    for (const std::uint32_t address : addresses) {
      signal_mbarrier(warp, 0, address, 0);
      Mbarrier* const barrier = mbarrier_at(warp, Window::cluster, 0, address);
      if (barrier == nullptr) continue;
      const std::uint32_t parity = barrier->parity();
      if (!barrier->arrive(1)) {
        warp.report(FindingKind::misuse, "arrives at an mbarrier that expects nobody more");
      }
      if (barrier->parity() != parity) complete_phase(warp.block->cluster->points[address]);
    }
  });
}

void decode_small_copy(Form& form) {
  Op& op = form.op;
  op.at = form.address(form.operand(0));
  op.from = form.address(form.operand(1));
  op.bytes = form.number(2);
  // Alignment is to the size.
  if (op.bytes != 4 && op.bytes != 8 && op.bytes != 16) throw UnknownForm();
  if (form.num_operands() > 3) {
    const PtxOperand& fourth = form.operand(3);
    if (form.bits(fourth) == 1) {
      op.d = form.in(fourth, PtxType::pred);
    } else if (form.bits(fourth) != 64) {  // else a cache policy
      op.c = form.in(fourth, PtxType::u32);
    }
  }
  op.run = copy_small;
}

}  // namespace

std::vector<Rule> small_copy_rules() {
  return {{"cp async commit_group", "", commit_copies<0>},
          {"cp async wait_group", "#", wait_for_copies<0>},
          {"cp async wait_all", "", wait_for_copies<0>, kUncommitted},
          {"cp async mbarrier arrive noinc *", "-@", arrive_after_copies, 1},
          {"cp async mbarrier arrive *", "-@", arrive_after_copies},
          {"cp async *", decode_small_copy}};
}

}  // namespace assay::emulator
