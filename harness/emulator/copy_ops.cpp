#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "emulator/addressing.h"
#include "emulator/lane_loops.h"
#include "emulator/mbarrier.h"
#include "emulator/pending.h"
#include "emulator/tensor_map.h"

// Copies that go on beside the warps: cp.async, bulk and tensor copies, st.async. When each is
// carried out is drawn: at once, at any moment, or only when somebody waits for it.

namespace assay::emulator {
namespace {

/// A shared address in a register of 32 or 64 bits; generic addresses have a window above.
std::uint32_t shared_of(const Warp& warp, std::int32_t slot, bool is_narrow, int lane) {
  return is_narrow ? warp.in(slot)[lane]
                   : static_cast<std::uint32_t>(lanes_in<std::uint64_t>(warp, slot)[lane]);
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

/// The mbarrier that a copy to `target` signals: a multicast signals one in each block that it
/// writes to.
std::uint32_t signalled_barrier(const Warp& warp, const Op& op, std::uint32_t barrier,
                                std::uint32_t target) {
  if (!op.list.empty()) {
    return (barrier & ((1u << kRankShift) - 1)) | (target >> kRankShift << kRankShift);
  }
  return op.window == Window::shared ? own_address(warp, barrier) : barrier;
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
      begin_work(warp, 1u << lane, PendingWork::Kind::bulk, actor.event,
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
      const std::uint32_t signalled = signalled_barrier(warp, op, barrier, target);
      const Actor actor = signal_actor(warp, signalled);
      begin_work(warp, 1u << lane, PendingWork::Kind::bulk, 0,
                 [&warp, &op, actor, lane, target, from, bytes, signalled, way] {
                   const AsBegun as(warp, &op, actor);
                   const Window window = way == Way::to_cluster ? Window::shared : Window::global;
                   const std::byte* const source =
                       resolve(warp, window, lane, from, bytes, Access::read, 16);
                   std::byte* const place =
                       resolve(warp, Window::cluster, lane, target, bytes, Access::write, 16);
                   if (source != nullptr && place != nullptr) std::memmove(place, source, bytes);
                   signal_mbarrier(warp, lane, signalled, static_cast<std::int32_t>(bytes));
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
    const std::string_view mistake = copy_mistake(*map, coordinates, shared, loads);
    if (!mistake.empty()) {
      warp.report(shared % 128 != 0 ? FindingKind::misaligned : FindingKind::misuse,
                  fmt::format("a tensor copy at {:#x} of shared memory and [{}]: {}", shared,
                              fmt::join(coordinates, ", "), mistake),
                  lane);
      continue;
    }
    if (!loads) {
      const Actor actor = own_actor(warp, 1);
      begin_work(warp, 1u << lane, PendingWork::Kind::bulk, actor.event,
                 [&warp, &op, actor, lane, map, coordinates, shared] {
                   const AsBegun as(warp, &op, actor);
                   for (const BoxPiece& piece :
                        box_pieces(*map, coordinates, own_address(warp, shared), false)) {
                     if (!piece.inside) continue;
                     const std::byte* const source = resolve(
                         warp, Window::shared, lane, piece.shared, piece.bytes, Access::read, 1);
                     std::byte* const target = resolve(warp, Window::global, lane, piece.global,
                                                       piece.bytes, Access::write, 1);
                     if (source == nullptr || target == nullptr) return;
                     std::memcpy(target, source, piece.bytes);
                   }
                 });
      continue;
    }
    const std::uint32_t barrier = shared_of(warp, op.d, op.is_narrow_barrier, lane);
    const std::uint32_t first = op.window == Window::shared ? own_address(warp, shared) : shared;
    for (const std::uint32_t target : targets_of(warp, op, lane, first)) {
      const std::uint32_t signalled = signalled_barrier(warp, op, barrier, target);
      const Actor actor = signal_actor(warp, signalled);
      begin_work(
          warp, 1u << lane, PendingWork::Kind::bulk, 0,
          [&warp, &op, actor, lane, map, coordinates, target, signalled] {
            const AsBegun as(warp, &op, actor);
            const std::array<std::byte, 16> fill = fill_bytes(*map);
            for (const BoxPiece& piece : box_pieces(*map, coordinates, target)) {
              std::byte* const place =
                  resolve(warp, Window::cluster, lane, piece.shared, piece.bytes, Access::write, 1);
              if (place == nullptr) return;
              if (piece.inside) {
                const std::byte* const source =
                    resolve(warp, Window::global, lane, piece.global, piece.bytes, Access::read, 1);
                if (source == nullptr) return;
                std::memcpy(place, source, piece.bytes);
              } else {
                for (std::uint32_t i = 0; i < piece.bytes; ++i) {
                  place[i] = fill[(piece.shared + i) % 16];
                }
              }
            }
            signal_mbarrier(warp, lane, signalled, static_cast<std::int32_t>(map->box_bytes()));
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
    Actor actor = signal_actor(warp, barrier);
    actor.is_async = false;  // PTX has st.async in the generic proxy
    begin_work(warp, 1u << lane, PendingWork::Kind::other, 0,
               [&warp, &op, actor, lane, to, barrier, bytes, values] {
                 const AsBegun as(warp, &op, actor);
                 std::byte* const place =
                     resolve(warp, Window::cluster, lane, to, bytes, Access::write, bytes);
                 if (place != nullptr) std::memcpy(place, values.data(), bytes);
                 signal_mbarrier(warp, lane, barrier, static_cast<std::int32_t>(bytes));
               });
  }
}

std::int32_t barrier_slot(Form& form, const PtxOperand& operand) {
  std::uint64_t added = 0;
  bool is_narrow = false;
  const std::int32_t slot = second_address(form, operand, added, &is_narrow);
  if (added != 0) throw UnknownForm();
  form.op.is_narrow_barrier = is_narrow;
  return slot;
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
  if (!form.has("bulk")) return decode_small_copy(form);
  if (form.has("commit_group")) {
    op.run = commit_copies<1>;
    return;
  }
  if (form.has("wait_group")) {
    if (form.operand(0).kind != PtxOperand::Kind::integer) throw UnknownForm();
    op.mode =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(form.operand(0).value, 0, 1 << 20));
    op.run = wait_for_copies<1>;
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
