#include <algorithm>
#include <array>

#include "emulator/ops.h"
#include "emulator/tensor_map.h"

// Copies that go on beside the warps: cp.async, bulk and tensor copies, st.async.

namespace assay::emulator {
namespace {

/// An actor begins something that completes at once, or later.
void begin_work(Warp& warp, const Actor& actor, std::function<void()> complete) {
  ClusterState& cluster = *warp.block->cluster;
  warp.progress();
  if (below(cluster.random, 4) == 0) return complete();
  cluster.pending.push_back({actor.index, actor.event, std::move(complete)});
}

/// Completes what an actor has begun, up to a number.
void complete_work(Warp& warp, std::uint32_t actor, std::uint32_t number) {
  warp.block->cluster->complete(
      [&](const PendingWork& work) { return work.actor == actor && work.number <= number; });
}

/// Copies of the warp that it waits for by groups.
Actor own_actor(Warp& warp, Beside beside) {
  const std::uint32_t number = ++warp.num_copies[beside];
  return {actor_of(warp, beside), number, beside == kBulkStores, order_now(warp)};
}

/// Copies that signal an mbarrier.
Actor signal_actor(Warp& warp, std::uint32_t mbarrier) {
  ClusterState& cluster = *warp.block->cluster;
  const std::uint32_t index = signals_of(cluster, mbarrier);
  return {index, ++cluster.signal_events[index], true, order_now(warp)};
}

/// An mbarrier at an address of the cluster's window gets bytes from an actor.
void signal_mbarrier(Warp& warp, int lane, std::uint32_t address, std::int32_t bytes) {
  Mbarrier* const barrier = mbarrier_at(warp, Window::cluster, lane, address, "signals");
  if (barrier == nullptr) return;
  ClusterState& cluster = *warp.block->cluster;
  SyncPoint& point = cluster.points[address];
  Clock now(num_actors(cluster));
  now.raise(warp.actor->index, warp.actor->event);
  point.arriving.join({now, now});
  barrier->expect(point, -std::int64_t{bytes});
}

template <Beside kBeside>
void commit_copies(Warp& warp, const Op&, std::uint32_t) {
  warp.copy_groups[kBeside].push_back(warp.num_copies[kBeside]);
}

constexpr std::uint32_t kUncommitted = ~0u;

/// All but the last op.mode groups complete, or also what is not committed. Groups are counted by
/// warp: lanes that commit apart complete more than they asked for.
template <Beside kBeside>
void wait_for_copies(Warp& warp, const Op& op, std::uint32_t) {
  const std::uint32_t actor = actor_of(warp, kBeside);
  const std::vector<std::uint32_t>& groups = warp.copy_groups[kBeside];
  std::uint32_t last = warp.num_copies[kBeside];
  if (op.mode != kUncommitted) {
    if (groups.size() <= op.mode) return;
    last = groups[groups.size() - 1 - op.mode];
  }
  complete_work(warp, actor, last);
  order_work(warp, actor, last);
}

// cp.async: op.bytes from op.from to op.at; op.c: bytes that are read, the rest is 0.
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
      warp.misuse(lane, "cp.async of {} bytes reads {}", op.bytes, bytes);
      bytes = op.bytes;
    }
    pieces.push_back({address_of(warp, op.at, lane), address_of(warp, op.from, lane), bytes, lane});
  }
  const Actor actor = own_actor(warp, kCopies);
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
  const Actor actor{actor_of(warp, kCopies), warp.num_copies[kCopies], false, order_now(warp)};
  std::vector<std::uint32_t> addresses;
  for (const int lane : Lanes(lanes)) {
    addresses.push_back(own_address(warp, address_of(warp, op.at, lane)));
    if (op.mode != 0) continue;  // .noinc; else the phase expects it
    Mbarrier* const barrier = mbarrier_at(warp, Window::cluster, lane, addresses.back());
    if (barrier != nullptr) barrier->pending = (barrier->pending + 1) & 0xfffff;
  }
  begin_work(warp, {}, [&warp, &op, actor, addresses] {
    const AsBegun as(warp, &op, actor);
    complete_work(warp, actor.index, actor.event);
    for (const std::uint32_t address : addresses) {
      signal_mbarrier(warp, 0, address, 0);
      Mbarrier* const barrier = mbarrier_at(warp, Window::cluster, 0, address);
      if (barrier != nullptr) barrier->arrive(warp, 0, warp.block->cluster->points[address], 1);
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

// Bulk copies to op.at in shared memory, or from there (op.mode: 1). op.from: the other side, or
// the map; op.c: bytes; op.barrier; op.bytes: 0, or 1 + the operation of a reduction of op.type.

/// A bulk copy that has begun: of a line of bytes, or of a box of a tensor.
struct BulkCopy {
  const Op* op = nullptr;
  int lane = 0;
  std::uint64_t far = 0;  // global memory, or the block's own if the copy goes to the cluster
  std::uint32_t bytes = 0;
  std::optional<TensorMapView> map = {};
  std::vector<std::int32_t> coordinates = {};
  std::uint32_t shared = 0;     // in the cluster's window
  std::uint32_t signalled = 0;  // an mbarrier
  Actor actor = {};
};

void carry_out(Warp& warp, const BulkCopy& copy) {
  const AsBegun as(warp, copy.op, copy.actor);
  const bool loads = copy.op->mode == 0;
  const std::uint32_t align = copy.map ? 1 : 16;
  const std::vector<BoxPiece> line{{copy.far, copy.shared, copy.bytes, true}};
  for (const BoxPiece& piece :
       copy.map ? box_pieces(*copy.map, copy.coordinates, copy.shared, loads) : line) {
    if (!loads && !piece.inside) continue;
    std::byte* const near = resolve(warp, Window::cluster, copy.lane, piece.shared, piece.bytes,
                                    loads ? Access::write : Access::read, align);
    if (near == nullptr) return;
    if (!piece.inside) {
      for (std::uint32_t i = 0; i < piece.bytes; ++i) near[i] = copy.map->fill_at(piece.shared + i);
      continue;
    }
    std::byte* const far = resolve(warp, copy.op->from.window, copy.lane, piece.global, piece.bytes,
                                   loads ? Access::read : Access::write, align,
                                   loads || copy.op->bytes > 0 ? nullptr : near);
    if (far == nullptr) return;
    const PtxType type = copy.map ? element_type(copy.map->type) : copy.op->type;
    const auto operation = static_cast<AtomicOperation>(copy.op->bytes - 1);
    if (copy.op->bytes == 0) {
      std::memmove(loads ? near : far, loads ? far : near, piece.bytes);
    } else if (!reduce_elements(operation, type, far, near, piece.bytes)) {
      return warp.misuse(copy.lane, "a reduction that elements of this type do not have");
    }
  }
  const std::uint32_t bytes = copy.map ? copy.map->box_bytes() : copy.bytes;
  if (loads) signal_mbarrier(warp, copy.lane, copy.signalled, bytes);
}

/// Where the bytes are, outside of the block's shared memory. False after a finding.
bool take_line(Warp& warp, BulkCopy& copy) {
  const Op& op = *copy.op;
  copy.far = address_of(warp, op.from, copy.lane);
  copy.bytes = warp.in(op.c)[copy.lane];
  if ((copy.far | copy.shared | copy.bytes) % 16 == 0) return true;
  const bool loads = op.mode == 0;
  const std::uint64_t from = loads ? copy.far : copy.shared, to = loads ? copy.shared : copy.far;
  warp.report(
      FindingKind::misaligned,
      fmt::format("a bulk copy of {} bytes from {:#x} to {:#x}: all must be multiples of 16",
                  copy.bytes, from, to),
      copy.lane);
  return false;
}

/// The coordinates are op.more; the map is at op.from.
bool take_box(Warp& warp, BulkCopy& copy) {
  const Op& op = *copy.op;
  const std::uint64_t at = address_of(warp, op.from, copy.lane);
  const std::byte* const bytes =
      resolve(warp, Window::generic, copy.lane, at, 128, Access::read, 64);
  if (bytes == nullptr) return false;
  copy.map = decode_tensor_map(bytes);
  if (!copy.map || copy.map->rank != op.more.size()) {
    warp.misuse(copy.lane, "a tensor copy with {} coordinates by {}", op.more.size(),
                !copy.map ? "what is no tensor map"
                          : fmt::format("a map of {} dimensions", copy.map->rank));
    return false;
  }
  for (const std::int32_t slot : op.more) {
    copy.coordinates.push_back(warp.in(slot)[copy.lane]);
  }
  const std::string_view mistake =
      copy_mistake(*copy.map, copy.coordinates, copy.shared, op.mode == 0);
  if (mistake.empty()) return true;
  warp.report(copy.shared % 128 != 0 ? FindingKind::misaligned : FindingKind::misuse,
              fmt::format("a tensor copy at {:#x} of shared memory and [{}]: {}", copy.shared,
                          fmt::join(copy.coordinates, ", "), mistake),
              copy.lane);
  return false;
}

template <bool (*kTake)(Warp&, BulkCopy&)>
void copy_bulk(Warp& warp, const Op& op, int lane) {
  BulkCopy copy{&op, lane};
  copy.shared = static_cast<std::uint32_t>(address_of(warp, op.at, lane));
  if (!kTake(warp, copy)) return;
  if (op.mode == 1) {
    copy.shared = own_address(warp, copy.shared);
    copy.actor = own_actor(warp, kBulkStores);
    begin_work(warp, copy.actor, [&warp, copy] { carry_out(warp, copy); });
    return;
  }
  const auto barrier = static_cast<std::uint32_t>(address_of(warp, op.barrier, lane));
  const std::uint32_t place = copy.shared;
  // A multicast goes to the same place in each block of op.list[0]'s mask, and signals there.
  const std::uint32_t ranks = op.list.empty() ? 1 : warp.in(op.list[0])[lane] & 0xffff;
  for (const int rank : Lanes(ranks)) {
    const auto target = [&](std::uint32_t address) {
      if (!op.list.empty()) return in_block(address, rank);
      return op.at.window == Window::shared ? own_address(warp, address) : address;
    };
    copy.shared = target(place);
    copy.signalled = target(barrier);
    copy.actor = signal_actor(warp, copy.signalled);
    begin_work(warp, copy.actor, [&warp, copy] { carry_out(warp, copy); });
  }
}

/// st.async: values into another block's shared memory, and bytes to its mbarrier.
void store_async(Warp& warp, const Op& op, int lane) {
  const auto to = static_cast<std::uint32_t>(address_of(warp, op.at, lane));
  const auto barrier = static_cast<std::uint32_t>(address_of(warp, op.barrier, lane));
  const auto bytes = static_cast<std::uint32_t>(op.list.size()) * op.bytes;
  std::array<std::byte, 32> values;
  for (std::size_t i = 0; i < op.list.size(); ++i) {
    const std::uint64_t value = warp.get(op.list[i], lane, op.bytes == 8);
    std::memcpy(values.data() + i * op.bytes, &value, op.bytes);
  }
  Actor actor = signal_actor(warp, barrier);
  actor.is_async = false;  // PTX has st.async in the generic proxy
  begin_work(warp, actor, [&warp, &op, actor, lane, to, barrier, bytes, values] {
    const AsBegun as(warp, &op, actor);
    std::byte* const place = resolve(warp, Window::cluster, lane, to, bytes, Access::write, bytes);
    if (place != nullptr) std::memcpy(place, values.data(), bytes);
    signal_mbarrier(warp, lane, barrier, bytes);
  });
}

void decode_async_store(Form& form) {
  Op& op = form.op;
  op.at = form.address(form.operand(0));
  const PtxType type = form.type();
  op.bytes = bytes_of(type);
  if (op.bytes < 4) throw UnknownForm();
  op.list = form.in_each(1, type);
  if (op.list.size() > 4) throw UnknownForm();
  op.barrier = form.address(form.operand(2));
  op.run = each<store_async>;
}

void decode_bulk_copy(Form& form) {
  Op& op = form.op;
  if (std::ranges::any_of(form.parts, [](std::string_view part) {
        return part.starts_with("im2col") || part.starts_with("tile::") ||
               part.starts_with("cta_group");
      })) {
    throw UnknownForm();
  }
  // cp.async.bulk{.tensor.2d}.TO.FROM...
  const auto is_space = [](std::string_view part) {
    return part == "global" || part.starts_with("shared::");
  };
  if (std::ranges::count_if(form.parts, is_space) != 2) throw UnknownForm();
  const std::string_view to = *std::ranges::find_if(form.parts, is_space);
  const bool is_tensor = form.has("tensor"), stores = to == "global";
  if (form.parts[1] == "reduce") {
    if (!stores) throw UnknownForm();
    op.bytes = 1 + static_cast<std::uint32_t>(operation_of(form));
    op.type = is_tensor ? PtxType::none : form.type();
  }
  op.mode = stores ? 1 : 0;
  op.at = form.address(form.operand(stores ? 1 : 0));
  op.at.window = to == "shared::cta" ? Window::shared : Window::cluster;
  const PtxOperand& far = form.operand(stores ? 0 : 1);
  op.from = form.address(far);
  op.from.window = form.has("global") ? Window::global : Window::shared;
  std::size_t at = 2;
  if (is_tensor) {
    if (far.parts.size() != 2 || far.parts[1].kind != PtxOperand::Kind::list) throw UnknownForm();
    for (const PtxOperand& coordinate : far.parts[1].parts) {
      op.more.push_back(form.in(coordinate, PtxType::b32));
    }
    op.run = each<copy_bulk<take_box>>;
  } else {
    op.c = form.in(at++, PtxType::u32);
    op.run = each<copy_bulk<take_line>>;
  }
  if (!stores) op.barrier = form.address(form.operand(at++));
  if (form.has("multicast::cluster")) op.list.push_back(form.in(at++, PtxType::b16));
}

}  // namespace

Mbarrier* mbarrier_at(Warp& warp, Window window, int lane, std::uint64_t address,
                      std::string_view verb) {
  auto* const barrier =
      reinterpret_cast<Mbarrier*>(resolve(warp, window, lane, address, 8, Access::sync, 8));
  if (barrier == nullptr || barrier->is_valid()) return barrier;
  warp.misuse(lane, "{} an mbarrier that is not initialised", verb);
  return nullptr;
}

void check_bulk_stores(Warp& warp) {
  if (warp.order.generic[actor_of(warp, kBulkStores)] < warp.num_copies[kBulkStores]) {
    warp.report(FindingKind::race,
                "ends while its bulk copy may still read shared memory; "
                "expected cp.async.bulk.wait_group ahead of it");
  }
}

std::vector<Rule> copy_rules() {
  return {{"st async *", "", decode_async_store},
          {"cp async bulk commit_group", "", commit_copies<kBulkStores>},
          {"cp async bulk wait_group *", "#", wait_for_copies<kBulkStores>},
          {"cp async bulk prefetch *", "", do_nothing},
          {"cp async bulk *", "", decode_bulk_copy},
          {"cp async commit_group", "", commit_copies<kCopies>},
          {"cp async wait_group", "#", wait_for_copies<kCopies>},
          {"cp async wait_all", "", wait_for_copies<kCopies>, kUncommitted},
          {"cp async mbarrier arrive noinc *", "-@", arrive_after_copies, 1},
          {"cp async mbarrier arrive *", "-@", arrive_after_copies},
          {"cp async *", "", decode_small_copy}};
}

}  // namespace assay::emulator
