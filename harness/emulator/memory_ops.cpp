#include <fmt/format.h>

#include "emulator/addressing.h"
#include "emulator/lane_loops.h"

// ld and st.

namespace assay::emulator {
namespace {

std::string_view word(Access access) {
  return access == Access::read || access == Access::sync ? "reads"
         : access == Access::write                        ? "writes"
                                                          : "updates";
}

std::string in_block_text(const Warp& warp, std::uint32_t rank) {
  return rank == warp.block->rank ? std::string()
                                  : fmt::format(" of block {} of the cluster", rank);
}

std::byte* resolve_shared(Warp& warp, int lane, std::uint32_t address, std::uint32_t bytes,
                          Access access, bool own) {
  const std::uint32_t rank = own ? warp.block->rank : address >> kRankShift;
  const std::uint32_t at = address & ((1u << kRankShift) - 1);
  const auto& blocks = warp.block->cluster->blocks;
  if (rank < blocks.size()) {
    std::vector<std::byte>& shared = blocks[rank]->shared;
    const std::size_t offset = at - std::size_t{kSharedBegin};
    if (at >= kSharedBegin && offset < shared.size() && bytes <= shared.size() - offset) {
      if (rank != warp.block->rank && blocks[rank]->has_ended()) {
        warp.report(FindingKind::misuse,
                    fmt::format("{} shared memory of block {} of the cluster, which has ended",
                                word(access), rank),
                    lane);
      }
      if (!blocks[rank]->shadow.empty()) {
        note_access(warp, *blocks[rank], lane, offset, bytes, access);
      }
      return shared.data() + offset;
    }
  }
  const std::size_t size = rank < blocks.size() ? blocks[rank]->shared.size() : 0;
  warp.report(
      FindingKind::out_of_bounds,
      at < kSharedBegin
          ? fmt::format("{} {} bytes at address {:#x} of shared memory{}, which begins at {:#x}",
                        word(access), bytes, at, in_block_text(warp, rank), kSharedBegin)
          : fmt::format("{} {} bytes at byte {} of shared memory{}, which has {} bytes",
                        word(access), bytes, at - kSharedBegin, in_block_text(warp, rank), size),
      lane);
  return nullptr;
}

std::byte* resolve_global(Warp& warp, int lane, std::uint64_t address, std::uint32_t bytes,
                          Access access) {
  const MemoryRange* const known = warp.range;
  if (known != nullptr && address >= known->begin && address < known->end &&
      bytes <= known->end - address &&
      (access == Access::read || access == Access::sync ? known->readable : known->writable)) {
    return reinterpret_cast<std::byte*>(address);
  }
  const Memory& memory = warp.block->cluster->launch.memory;
  const MemoryRange* const range = memory.find(
      address, bytes,
      access == Access::read || access == Access::sync ? MemoryAccess::read : MemoryAccess::write);
  if (range != nullptr) {
    warp.range = range;
    return reinterpret_cast<std::byte*>(address);
  }
  warp.report(FindingKind::out_of_bounds,
              fmt::format("{} {} bytes at {:#x}: {}", word(access), bytes, address,
                          memory.describe(address)),
              lane);
  return nullptr;
}

}  // namespace

std::byte* resolve(Warp& warp, Window window, int lane, std::uint64_t address, std::uint32_t bytes,
                   Access access, std::uint32_t align) {
  if ((address & (align - 1)) != 0) {
    warp.report(FindingKind::misaligned,
                fmt::format("{} {} bytes at {:#x}, which is no multiple of {}", word(access), bytes,
                            address, align),
                lane);
    return nullptr;
  }
  if (window == Window::generic) {
    const std::uint64_t low = address & 0xffff'ffff;
    switch (address >> 56) {
      case kSharedWindow >> 56:
        window = Window::cluster;
        break;
      case kLocalWindow >> 56:
        window = Window::local;
        break;
      case kParamWindow >> 56:
        window = Window::param;
        break;
      default:
        return resolve_global(warp, lane, address, bytes, access);
    }
    if ((address & 0x00ff'ffff'0000'0000) != 0) {
      warp.report(
          FindingKind::out_of_bounds,
          fmt::format("{} {} bytes at {:#x}, where no memory is", word(access), bytes, address),
          lane);
      return nullptr;
    }
    address = low;
  }
  switch (window) {
    case Window::shared:
    case Window::cluster:
      return resolve_shared(warp, lane, static_cast<std::uint32_t>(address), bytes, access,
                            window == Window::shared);
    case Window::local:
    case Window::param: {
      const LaunchState& launch = warp.block->cluster->launch;
      const bool is_local = window == Window::local;
      const std::size_t size = is_local ? launch.program.local_bytes : launch.parameters.size();
      if ((is_local || access == Access::read) && address < size && bytes <= size - address) {
        return is_local ? warp.local + static_cast<std::size_t>(lane) * size + address
                        : const_cast<std::byte*>(launch.parameters.data()) + address;
      }
      warp.report(
          FindingKind::out_of_bounds,
          fmt::format("{} {} bytes at byte {} of {} {} bytes", word(access), bytes, address,
                      is_local ? "local memory, which has" : "the parameters, which have", size),
          lane);
      return nullptr;
    }
    default:
      return resolve_global(warp, lane, address, bytes, access);
  }
}

void order_strong(Warp& warp, std::uint64_t address, bool releases, bool acquires) {
  std::map<std::uint64_t, SyncPoint>& points = warp.block->cluster->points;
  const auto point = points.find(address);
  if (acquires && point != points.end()) acquire(warp, point->second);
  if (acquires || (!releases && warp.fenced == nullptr)) return;
  SyncPoint& to = points[address];
  if (releases) {
    release(warp, to);
  } else {
    to.arriving.join(*warp.fenced);
  }
  complete_phase(to);
}

Window window_of(const Form& form) {
  for (auto part = form.parts.begin() + 1; part != form.parts.end(); ++part) {
    if (*part == "shared" || *part == "shared::cta") return Window::shared;
    if (*part == "shared::cluster") return Window::cluster;
    if (*part == "local") return Window::local;
    if (*part == "global" || *part == "const") return Window::global;
    if (part->starts_with("param")) {
      return form.op.to_window == Window::local ? Window::local : Window::param;
    }
  }
  return form.op.to_window;  // generic, or that of a variable
}

namespace {

/// op.list: a slot for each element; op.bytes: of an element.
template <class T, bool kIsWide>
void load_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  using R = std::conditional_t<kIsWide, std::uint64_t, std::uint32_t>;
  using Extended = std::conditional_t<std::is_signed_v<T>, std::make_signed_t<R>, R>;
  const std::size_t count = op.list.size();
  const auto bytes = static_cast<std::uint32_t>(count * sizeof(T));
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const std::uint64_t address = address_of(warp, op, lane);
    const std::byte* const from = resolve(warp, op.window, lane, address, bytes,
                                          op.mode != 0 ? Access::sync : Access::read, bytes);
    if (op.mode != 0) order_strong(warp, address, false, true);
    for (std::size_t i = 0; i < count; ++i) {
      T value = 0;
      if (from != nullptr) std::memcpy(&value, from + i * sizeof(T), sizeof(T));
      if (op.list[i] == kNoSlot) continue;
      lanes_out<R>(warp, op.list[i])[lane] = static_cast<R>(static_cast<Extended>(value));
    }
  }
}

template <class T, bool kIsWide>
void store_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  using R = std::conditional_t<kIsWide, std::uint64_t, std::uint32_t>;
  const std::size_t count = op.list.size();
  const auto bytes = static_cast<std::uint32_t>(count * sizeof(T));
  warp.progress();
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const std::uint64_t address = address_of(warp, op, lane);
    std::byte* const to = resolve(warp, op.window, lane, address, bytes,
                                  op.mode != 0 ? Access::update : Access::write, bytes);
    if (to == nullptr) continue;
    if (op.mode != 0) order_strong(warp, address, op.mode == 2, false);
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<T>(lanes_in<R>(warp, op.list[i])[lane]);
      std::memcpy(to + i * sizeof(T), &value, sizeof(T));
    }
  }
}

template <bool kIsLoad>
Handler access_handler(PtxType type, bool is_wide) {
  const auto pick = [&](auto value) -> Handler {
    using T = decltype(value);
    if constexpr (kIsLoad) {
      return is_wide ? load_lanes<T, true> : load_lanes<T, false>;
    } else {
      return is_wide ? store_lanes<T, true> : store_lanes<T, false>;
    }
  };
  switch (bits_of(type)) {
    case 8:
      return is_signed(type) ? pick(std::int8_t()) : pick(std::uint8_t());
    case 16:
      return is_signed(type) ? pick(std::int16_t()) : pick(std::uint16_t());
    case 32:
      return is_signed(type) ? pick(std::int32_t()) : pick(std::uint32_t());
    case 64:
      if (!is_wide) throw UnknownForm();
      return pick(std::uint64_t());
    default:
      throw UnknownForm();
  }
}

}  // namespace

void decode_load_store(Form& form) {
  const bool is_load = form.parts[0] != "st";
  if (form.has("async")) return decode_copy(form);
  Op& op = form.op;
  const PtxType type = form.type();
  const std::span<const PtxOperand> values = Form::elements(form.operand(is_load ? 0 : 1));
  const std::size_t count = form.has("v2") ? 2 : form.has("v4") ? 4 : form.has("v8") ? 8 : 1;
  if (values.size() != count) throw UnknownForm();
  form.address(form.operand(is_load ? 1 : 0));
  op.window = window_of(form);
  bool is_wide = bits_of(type) == 64;
  for (const PtxOperand& element : values) is_wide = is_wide || form.bits(element) == 64;
  for (const PtxOperand& element : values) {
    const PtxType reg = is_wide ? PtxType::b64 : PtxType::b32;
    op.list.push_back(is_load
                          ? form.out(element, reg)
                          : form.in(element, is_float(type) && bits_of(type) >= 32 ? type : reg));
  }
  // Strong ones do not race with each other, and may carry order from warp to warp.
  op.mode = form.has("release") || form.has("acquire")    ? 2
            : form.has("volatile") || form.has("relaxed") ? 1
                                                          : 0;
  op.run = is_load ? access_handler<true>(type, is_wide) : access_handler<false>(type, is_wide);
}

}  // namespace assay::emulator
