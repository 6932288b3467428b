#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "emulator/addressing.h"
#include "emulator/lane_loops.h"
#include "emulator/mbarrier.h"
#include "emulator/tensor_map.h"

// Copies that go on beside the warps: cp.async, bulk and tensor copies, st.async. When each is
// carried out is drawn: at once, at any moment, or only when somebody waits for it.

namespace assay::emulator {
namespace {

/// Begins something that completes at once, or later. `number`: of the warp's copies.
void begin(Warp& warp, std::uint32_t lanes, PendingWork::Kind kind, std::uint32_t number,
           std::function<void()> complete) {
  ClusterState& cluster = *warp.block->cluster;
  warp.progress();
  if (below(cluster.random, 4) == 0) {
    complete();
    return;
  }
  cluster.pending.push_back({&warp, lanes, kind, number, std::move(complete)});
}

/// Work goes on for a warp that does something else by now: findings name where it began.
class AsBegun {
 public:
  AsBegun(Warp& warp, const Op* op, const Actor& actor)
      : warp_(warp), op_(std::exchange(warp.op, op)), actor_(std::exchange(warp.actor, &actor)) {}
  ~AsBegun() {
    warp_.op = op_;
    warp_.actor = actor_;
  }
  AsBegun(const AsBegun&) = delete;
  AsBegun& operator=(const AsBegun&) = delete;

 private:
  Warp& warp_;
  const Op* op_;
  const Actor* actor_;
};

/// Copies of the warp that it waits for by groups: cp.async (0) or bulk stores (1).
Actor own_actor(Warp& warp, std::size_t which) {
  const std::uint32_t number = ++warp.num_copies[which];
  return {which == 0 ? copies_of(warp) : bulk_stores_of(warp), number, which == 1, order_now(warp)};
}
/// Copies that signal an mbarrier.
Actor signal_actor(Warp& warp, std::uint32_t mbarrier) {
  ClusterState& cluster = *warp.block->cluster;
  const std::uint32_t index = signals_of(cluster, mbarrier);
  return {index, ++cluster.signal_events[index], true, order_now(warp)};
}

/// The mbarrier at an address of the cluster's window gets bytes from an actor.
void signal(Warp& warp, int lane, std::uint32_t address, std::int32_t bytes) {
  auto* const barrier = reinterpret_cast<Mbarrier*>(
      resolve(warp, Window::cluster, lane, address, 8, Access::sync, 8));
  if (barrier == nullptr) return;
  if (!barrier->is_valid()) {
    warp.report(FindingKind::misuse, "signals an mbarrier that is not initialised", lane);
    return;
  }
  ClusterState& cluster = *warp.block->cluster;
  SyncPoint& point = cluster.points[address];
  Clock now(num_actors(cluster));
  now.raise(warp.actor->index, warp.actor->event);
  point.arriving.join({now, now});
  const std::uint32_t parity = barrier->parity();
  barrier->expect(-bytes);
  if (barrier->parity() != parity) complete_phase(point);
}

/// A shared address in a register of 32 or 64 bits; generic addresses have a window above.
std::uint32_t shared_of(const Warp& warp, std::int32_t slot, bool is_narrow, int lane) {
  return is_narrow ? warp.in(slot)[lane]
                   : static_cast<std::uint32_t>(lanes_in<std::uint64_t>(warp, slot)[lane]);
}

// cp.async: op.a shared, op.b global, op.bytes; op.c: bytes that are read, the rest is 0. The lanes
// of an instruction are one piece of work.
void copy_small(Warp& warp, const Op& op, std::uint32_t lanes) {
  struct Piece {
    std::uint64_t to, from;
    std::uint32_t bytes;
    int lane;
  };
  std::vector<Piece> pieces;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::uint32_t bytes = op.c == kNoSlot ? op.bytes : warp.in(op.c)[lane];
    if (op.d != kNoSlot && (warp.predicate(op.d, op.is_negated) >> lane & 1) != 0) bytes = 0;
    if (bytes > op.bytes) {
      warp.report(FindingKind::misuse,
                  fmt::format("cp.async of {} bytes reads {}", op.bytes, bytes), lane);
      bytes = op.bytes;
    }
    pieces.push_back({address_of(warp, op, lane),
                      lanes_in<std::uint64_t>(warp, op.b)[lane] + op.mask, bytes, lane});
  }
  const Actor actor = own_actor(warp, 0);
  begin(warp, lanes, PendingWork::Kind::copy, actor.event, [&warp, &op, actor, pieces] {
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

template <int kWhich>
void commit_group(Warp& warp, const Op&, std::uint32_t) {
  warp.copy_groups[kWhich].push_back(warp.num_copies[kWhich]);
}

/// All but the last op.mode groups complete; with op.bytes also what is not committed. Groups are
/// counted by warp: lanes that commit apart complete more than they asked for.
template <int kWhich>
void wait_group(Warp& warp, const Op& op, std::uint32_t) {
  const PendingWork::Kind kind = kWhich == 0 ? PendingWork::Kind::copy : PendingWork::Kind::bulk;
  const std::vector<std::uint32_t>& groups = warp.copy_groups[kWhich];
  std::uint32_t last = warp.num_copies[kWhich];
  if (op.bytes == 0) {
    if (groups.size() <= op.mode) return;
    last = groups[groups.size() - 1 - op.mode];
  }
  warp.block->cluster->complete([&](const PendingWork& work) {
    return work.warp == &warp && work.kind == kind && work.number != 0 && work.number <= last;
  });
  order_work(warp, kWhich == 0 ? copies_of(warp) : bulk_stores_of(warp), last);
}

/// cp.async.mbarrier.arrive: an arrival once all copies of the warp ahead of it are complete.
void arrive_after_copies(Warp& warp, const Op& op, std::uint32_t lanes) {
  const Actor actor{copies_of(warp), warp.num_copies[0], false, order_now(warp)};
  std::vector<std::uint32_t> addresses;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    addresses.push_back(own_address(warp, address_of(warp, op, lane)));
    if (op.mode != 0) continue;  // .noinc; else the phase expects it
    auto* const barrier = reinterpret_cast<Mbarrier*>(
        resolve(warp, Window::cluster, lane, addresses.back(), 8, Access::sync, 8));
    if (barrier != nullptr) *barrier = Mbarrier::of(barrier->bits() + 1);
  }
  begin(warp, lanes, PendingWork::Kind::other, 0, [&warp, &op, actor, addresses] {
    const AsBegun as(warp, &op, actor);
    warp.block->cluster->complete([&](const PendingWork& work) {
      return work.warp == &warp && work.kind == PendingWork::Kind::copy &&
             work.number <= actor.event;
    });
    for (const std::uint32_t address : addresses) {
      signal(warp, 0, address, 0);
      auto* const barrier = reinterpret_cast<Mbarrier*>(
          resolve(warp, Window::cluster, 0, address, 8, Access::sync, 8));
      if (barrier == nullptr || !barrier->is_valid()) continue;
      const std::uint32_t parity = barrier->parity();
      if (!barrier->arrive(1)) {
        warp.report(FindingKind::misuse, "arrives at an mbarrier that expects nobody more");
      }
      if (barrier->parity() != parity) complete_phase(warp.block->cluster->points[address]);
    }
  });
}

// Bulk copies. op.mode: which way. op.a: to; op.b: from; op.c: bytes; op.d: the mbarrier.
enum class Way : std::uint32_t { to_shared, to_global, to_cluster };

/// A multicast goes to the same place in each block of op.list[0]'s mask.
std::vector<std::uint32_t> targets_of(const Warp& warp, const Op& op, int lane,
                                      std::uint32_t address) {
  if (op.list.empty()) return {address};
  std::vector<std::uint32_t> targets;
  const std::uint32_t mask = warp.in(op.list[0])[lane] & 0xffff;
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    if ((mask >> rank & 1) != 0) {
      targets.push_back((address & ((1u << kRankShift) - 1)) | rank << kRankShift);
    }
  }
  return targets;
}

bool check_bulk(Warp& warp, int lane, std::uint64_t to, std::uint64_t from, std::uint32_t bytes) {
  if ((to | from | bytes) % 16 == 0) return true;
  warp.report(
      FindingKind::misaligned,
      fmt::format("a bulk copy of {} bytes from {:#x} to {:#x}: all must be multiples of 16", bytes,
                  from, to),
      lane);
  return false;
}

void copy_bulk(Warp& warp, const Op& op, std::uint32_t lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const auto value = [&](std::int32_t slot, bool is_narrow) {
      return is_narrow ? warp.in(slot)[lane] : lanes_in<std::uint64_t>(warp, slot)[lane];
    };
    const std::uint64_t to = value(op.a, op.is_narrow) + static_cast<std::uint64_t>(op.offset);
    const std::uint64_t from = value(op.b, op.is_narrow_source) + op.mask;
    const std::uint32_t bytes = warp.in(op.c)[lane];
    if (!check_bulk(warp, lane, to, from, bytes)) continue;
    const auto way = static_cast<Way>(op.mode);
    if (way == Way::to_global) {
      const Actor actor = own_actor(warp, 1);
      begin(warp, 1u << lane, PendingWork::Kind::bulk, actor.event,
            [&warp, &op, actor, lane, to, from, bytes] {
              const AsBegun as(warp, &op, actor);
              const std::byte* const source =
                  resolve(warp, Window::shared, lane, from, bytes, Access::read, 16);
              std::byte* const target =
                  resolve(warp, Window::global, lane, to, bytes, Access::write, 16);
              if (source != nullptr && target != nullptr) std::memmove(target, source, bytes);
            });
      continue;
    }
    const std::uint32_t barrier = shared_of(warp, op.d, op.is_narrow_barrier, lane);
    const auto address = static_cast<std::uint32_t>(to);
    const std::uint32_t first = op.window == Window::shared ? own_address(warp, address) : address;
    for (const std::uint32_t target : targets_of(warp, op, lane, first)) {
      const std::uint32_t signalled =
          op.list.empty()
              ? (op.window == Window::shared ? own_address(warp, barrier) : barrier)
              : (barrier & ((1u << kRankShift) - 1)) | (target >> kRankShift << kRankShift);
      const Actor actor = signal_actor(warp, signalled);
      begin(warp, 1u << lane, PendingWork::Kind::bulk, 0,
            [&warp, &op, actor, lane, target, from, bytes, signalled, way] {
              const AsBegun as(warp, &op, actor);
              const Window window = way == Way::to_cluster ? Window::shared : Window::global;
              const std::byte* const source =
                  resolve(warp, window, lane, from, bytes, Access::read, 16);
              std::byte* const place =
                  resolve(warp, Window::cluster, lane, target, bytes, Access::write, 16);
              if (source != nullptr && place != nullptr) std::memmove(place, source, bytes);
              signal(warp, lane, signalled, static_cast<std::int32_t>(bytes));
            });
    }
  }
}

/// The coordinates are op.more; the map is at op.b, the shared memory at op.a.
void copy_tensor(Warp& warp, const Op& op, std::uint32_t lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const bool loads = static_cast<Way>(op.mode) == Way::to_shared;
    const std::uint64_t map_address = lanes_in<std::uint64_t>(warp, op.b)[lane] + op.mask;
    const std::byte* const bytes =
        resolve(warp, Window::generic, lane, map_address, 128, Access::read, 64);
    if (bytes == nullptr) continue;
    const std::optional<TensorMapView> map = decode_tensor_map(bytes);
    if (!map) {
      warp.report(FindingKind::misuse, "a tensor copy by what is no tensor map", lane);
      continue;
    }
    if (static_cast<std::size_t>(map->rank) != op.more.size()) {
      warp.report(FindingKind::misuse,
                  fmt::format("a tensor copy with {} coordinates by a map of {} dimensions",
                              op.more.size(), map->rank),
                  lane);
      continue;
    }
    std::vector<std::int32_t> coordinates;
    for (const std::int32_t slot : op.more) {
      coordinates.push_back(static_cast<std::int32_t>(warp.in(slot)[lane]));
    }
    const std::uint32_t shared = static_cast<std::uint32_t>(
        shared_of(warp, op.a, op.is_narrow, lane) + static_cast<std::uint64_t>(op.offset));
    const std::uint32_t align = map->swizzle_bytes == 0 ? 16 : 128;
    if (shared % align != 0) {
      warp.report(FindingKind::misaligned,
                  fmt::format("a tensor copy at {:#x} of shared memory, which is no multiple of {}",
                              shared, align),
                  lane);
      continue;
    }
    if (!loads) {
      const Actor actor = own_actor(warp, 1);
      begin(
          warp, 1u << lane, PendingWork::Kind::bulk, actor.event,
          [&warp, &op, actor, lane, map, coordinates, shared] {
            const AsBegun as(warp, &op, actor);
            for (const BoxPiece& piece : box_pieces(*map, coordinates, own_address(warp, shared))) {
              if (!piece.inside) continue;
              const std::byte* const source =
                  resolve(warp, Window::shared, lane, piece.shared, piece.bytes, Access::read, 1);
              std::byte* const target =
                  resolve(warp, Window::global, lane, piece.global, piece.bytes, Access::write, 1);
              if (source == nullptr || target == nullptr) return;
              std::memcpy(target, source, piece.bytes);
            }
          });
      continue;
    }
    const std::uint32_t barrier = shared_of(warp, op.d, op.is_narrow_barrier, lane);
    const std::uint32_t first = op.window == Window::shared ? own_address(warp, shared) : shared;
    for (const std::uint32_t target : targets_of(warp, op, lane, first)) {
      const std::uint32_t signalled =
          op.list.empty()
              ? (op.window == Window::shared ? own_address(warp, barrier) : barrier)
              : (barrier & ((1u << kRankShift) - 1)) | (target >> kRankShift << kRankShift);
      const Actor actor = signal_actor(warp, signalled);
      begin(warp, 1u << lane, PendingWork::Kind::bulk, 0,
            [&warp, &op, actor, lane, map, coordinates, target, signalled] {
              const AsBegun as(warp, &op, actor);
              const std::array<std::byte, 16> fill = fill_bytes(*map);
              for (const BoxPiece& piece : box_pieces(*map, coordinates, target)) {
                std::byte* const place = resolve(warp, Window::cluster, lane, piece.shared,
                                                 piece.bytes, Access::write, 1);
                if (place == nullptr) return;
                if (piece.inside) {
                  const std::byte* const source = resolve(warp, Window::global, lane, piece.global,
                                                          piece.bytes, Access::read, 1);
                  if (source == nullptr) return;
                  std::memcpy(place, source, piece.bytes);
                } else {
                  for (std::uint32_t i = 0; i < piece.bytes; ++i) {
                    place[i] = fill[(piece.shared + i) % 16];
                  }
                }
              }
              signal(warp, lane, signalled, static_cast<std::int32_t>(map->box_bytes()));
            });
    }
  }
}

/// st.async: values into another block's shared memory, and bytes to its mbarrier.
void store_async(Warp& warp, const Op& op, std::uint32_t lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const auto to = static_cast<std::uint32_t>(address_of(warp, op, lane));
    const std::uint32_t barrier = shared_of(warp, op.d, op.is_narrow_barrier, lane);
    const auto bytes = static_cast<std::uint32_t>(op.list.size()) * op.bytes;
    std::array<std::byte, 32> values;
    for (std::size_t i = 0; i < op.list.size(); ++i) {
      const std::uint64_t value = op.bytes == 8 ? lanes_in<std::uint64_t>(warp, op.list[i])[lane]
                                                : warp.in(op.list[i])[lane];
      std::memcpy(values.data() + i * op.bytes, &value, op.bytes);
    }
    const Actor actor = signal_actor(warp, barrier);
    begin(warp, 1u << lane, PendingWork::Kind::other, 0,
          [&warp, &op, actor, lane, to, barrier, bytes, values] {
            const AsBegun as(warp, &op, actor);
            std::byte* const place =
                resolve(warp, Window::cluster, lane, to, bytes, Access::write, bytes);
            if (place != nullptr) std::memcpy(place, values.data(), bytes);
            signal(warp, lane, barrier, static_cast<std::int32_t>(bytes));
          });
  }
}

/// The address of an operand [x + n] beside the form's first: its slot, and what is added.
std::int32_t second_address(Form& form, const PtxOperand& operand, std::uint64_t& added,
                            bool* is_narrow) {
  Op other;
  Op& op = form.op;
  std::swap(op, other);
  try {
    form.address(operand);
  } catch (const UnknownForm&) {
    std::swap(op, other);
    throw;
  }
  std::swap(op, other);
  added = static_cast<std::uint64_t>(other.offset);
  if (is_narrow != nullptr) {
    *is_narrow = other.is_narrow;
  } else if (other.is_narrow) {
    throw UnknownForm();
  }
  return other.a;
}

std::int32_t barrier_slot(Form& form, const PtxOperand& operand) {
  std::uint64_t added = 0;
  bool is_narrow = false;
  const std::int32_t slot = second_address(form, operand, added, &is_narrow);
  if (added != 0) throw UnknownForm();
  form.op.is_narrow_barrier = is_narrow;
  return slot;
}

void decode_small(Form& form) {
  Op& op = form.op;
  if (form.has("commit_group")) {
    op.run = commit_group<0>;
  } else if (form.has("wait_group") || form.has("wait_all")) {
    if (form.has("wait_group")) {
      if (form.operand(0).kind != PtxOperand::Kind::integer) throw UnknownForm();
      op.mode =
          static_cast<std::uint32_t>(std::clamp<std::int64_t>(form.operand(0).value, 0, 1 << 20));
    } else {
      op.bytes = 1;  // also what is not committed
    }
    op.run = wait_group<0>;
  } else if (form.has("mbarrier")) {
    form.address(form.operand(0));
    op.mode = form.has("noinc") ? 1 : 0;
    op.run = arrive_after_copies;
  } else {
    using OperandKind = PtxOperand::Kind;
    form.address(form.operand(0));
    op.b = second_address(form, form.operand(1), op.mask, nullptr);
    if (form.operand(2).kind != OperandKind::integer) throw UnknownForm();
    op.bytes = static_cast<std::uint32_t>(form.operand(2).value);
    // Alignment is to the size.
    if (op.bytes != 4 && op.bytes != 8 && op.bytes != 16) throw UnknownForm();
    if (form.num_operands() > 3) {
      const PtxOperand& fourth = form.operand(3);
      if (form.bits(fourth) == 1) {
        op.d = form.predicate(fourth);
        op.is_negated = fourth.is_negated;
      } else if (form.bits(fourth) != 64) {  // else a cache policy
        op.c = form.in(fourth, PtxType::u32);
      }
    }
    op.run = copy_small;
  }
}

}  // namespace

void check_bulk_stores(Warp& warp) {
  if (warp.order.generic[bulk_stores_of(warp)] < warp.num_copies[1]) {
    warp.report(FindingKind::race,
                "ends while its bulk copy may still read shared memory; "
                "expected cp.async.bulk.wait_group ahead of it");
  }
}

void decode_copy(Form& form) {
  Op& op = form.op;
  if (form.parts[0] == "st") {  // st.async
    form.address(form.operand(0));
    const PtxOperand& value = form.operand(1);
    const std::vector<PtxOperand> one{value};
    const PtxType type = form.type();
    op.bytes = static_cast<std::uint32_t>(bits_of(type)) / 8;
    if (op.bytes < 4) throw UnknownForm();
    for (const PtxOperand& part : value.kind == PtxOperand::Kind::list ? value.parts : one) {
      op.list.push_back(form.in(part, type));
    }
    if (op.list.size() > 4) throw UnknownForm();
    op.d = barrier_slot(form, form.operand(2));
    op.run = store_async;
    return;
  }
  if (form.parts[0] != "cp" || !form.has("async")) throw UnknownForm();
  if (!form.has("bulk")) return decode_small(form);
  if (form.has("commit_group")) {
    op.run = commit_group<1>;
    return;
  }
  if (form.has("wait_group")) {
    if (form.operand(0).kind != PtxOperand::Kind::integer) throw UnknownForm();
    op.mode =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(form.operand(0).value, 0, 1 << 20));
    op.run = wait_group<1>;
    return;
  }
  if (form.has("prefetch")) return decode_nothing(form);
  for (auto part = form.parts.begin() + 1; part != form.parts.end(); ++part) {
    if (part->starts_with("im2col") || part->starts_with("tile::") || *part == "cta_group" ||
        part->starts_with("cta_group::")) {
      throw UnknownForm();
    }
  }
  const bool is_reduction = form.parts.size() > 1 && form.parts[1] == "reduce";
  if (is_reduction) throw UnknownForm();
  const bool is_tensor = form.has("tensor");
  // cp.async.bulk{.tensor.2d}.TO.FROM...
  std::vector<std::string_view> spaces;
  for (const std::string_view part : form.parts) {
    if (part == "global" || part == "shared::cta" || part == "shared::cluster") {
      spaces.push_back(part);
    }
  }
  if (spaces.size() != 2) throw UnknownForm();
  const Way way = spaces[0] == "global"   ? Way::to_global
                  : spaces[1] == "global" ? Way::to_shared
                                          : Way::to_cluster;
  op.mode = static_cast<std::uint32_t>(way);
  op.window = spaces[0] == "shared::cta" ? Window::shared : Window::cluster;
  const bool has_barrier = way != Way::to_global;
  const bool is_multicast = form.has("multicast::cluster");
  std::size_t at = 0;
  if (is_tensor) {
    const std::size_t shared_at = way == Way::to_global ? 1 : 0;
    const PtxOperand& tensor = form.operand(1 - shared_at);
    if (tensor.kind != PtxOperand::Kind::address || tensor.parts.size() != 2 ||
        tensor.parts[1].kind != PtxOperand::Kind::list) {
      throw UnknownForm();
    }
    form.address(form.operand(shared_at));
    op.b = second_address(form, tensor, op.mask, nullptr);
    for (const PtxOperand& coordinate : tensor.parts[1].parts) {
      op.more.push_back(form.in(coordinate, PtxType::b32));
    }
    at = 2;
    op.run = copy_tensor;
  } else {
    form.address(form.operand(0));
    op.b = second_address(form, form.operand(1), op.mask, &op.is_narrow_source);
    op.c = form.in(2, PtxType::u32);
    at = 3;
    op.run = copy_bulk;
  }
  if (has_barrier) op.d = barrier_slot(form, form.operand(at++));
  if (is_multicast) op.list.push_back(form.in(at++, PtxType::b16));
}

}  // namespace assay::emulator
