#include <fmt/format.h>

#include "emulator/addressing.h"
#include "emulator/lane_loops.h"

// ld and st.

namespace assay::emulator {
namespace {

MemoryAccess right_for(Access access) {
  return access == Access::read || access == Access::sync ? MemoryAccess::read
                                                          : MemoryAccess::write;
}

std::string_view word(Access access) {
  return right_for(access) == MemoryAccess::read ? "reads"
         : access == Access::write               ? "writes"
                                                 : "updates";
}

std::string in_block_text(const Warp& warp, std::uint32_t rank) {
  return rank == warp.block->rank ? std::string()
                                  : fmt::format(" of block {} of the cluster", rank);
}

/// Reports what leads nowhere.
std::nullptr_t refuse(Warp& warp, int lane, const std::string& text) {
  warp.report(FindingKind::out_of_bounds, text, lane);
  return nullptr;
}

std::byte* resolve_shared(Warp& warp, int lane, std::uint32_t address, std::uint32_t bytes,
                          Access access, bool own) {
  const std::uint32_t rank = own ? warp.block->rank : address >> kRankShift;
  const std::uint32_t at = address & kOffsetMask;
  const auto& blocks = warp.block->cluster->blocks;
  const std::size_t size = rank < blocks.size() ? blocks[rank]->shared.size() : 0;
  const std::size_t offset = at - std::size_t{kSharedBegin};
  if (at < kSharedBegin) {
    return refuse(
        warp, lane,
        fmt::format("{} {} bytes at address {:#x} of shared memory{}, which begins at {:#x}",
                    word(access), bytes, at, in_block_text(warp, rank), kSharedBegin));
  }
  if (offset >= size || bytes > size - offset) {
    return refuse(warp, lane,
                  fmt::format("{} {} bytes at byte {} of shared memory{}, which has {} bytes",
                              word(access), bytes, offset, in_block_text(warp, rank), size));
  }
  BlockState& block = *blocks[rank];
  if (rank != warp.block->rank && block.has_ended()) {
    warp.report(FindingKind::misuse,
                fmt::format("{} shared memory of block {} of the cluster, which has ended",
                            word(access), rank),
                lane);
  }
  if (!block.shadow.empty()) note_access(warp, block, lane, offset, bytes, access);
  return block.shared.data() + offset;
}

std::byte* resolve_global(Warp& warp, int lane, std::uint64_t address, std::uint32_t bytes,
                          Access access) {
  const MemoryRange* const known = warp.range;
  const MemoryAccess right = right_for(access);
  if (known != nullptr && address >= known->begin && address < known->end &&
      bytes <= known->end - address &&
      (right == MemoryAccess::read ? known->readable : known->writable)) {
    return reinterpret_cast<std::byte*>(address);
  }
  const Memory& memory = warp.block->cluster->launch.memory;
  if (const MemoryRange* const range = memory.find(address, bytes, right)) {
    warp.range = range;
    return reinterpret_cast<std::byte*>(address);
  }
  return refuse(warp, lane,
                fmt::format("{} {} bytes at {:#x}: {}", word(access), bytes, address,
                            memory.describe(address)));
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
    const std::uint64_t high = address & ~std::uint64_t{0xffff'ffff}, top = high >> 56 << 56;
    if (high == kSharedWindow) {
      window = Window::cluster;
    } else if (high == kLocalWindow) {
      window = Window::local;
    } else if (high == kParamWindow) {
      window = Window::param;
    } else if (top == kSharedWindow || top == kLocalWindow || top == kParamWindow) {
      return refuse(
          warp, lane,
          fmt::format("{} {} bytes at {:#x}, where no memory is", word(access), bytes, address));
    }
    if (window != Window::generic) address -= high;
  }
  if (window == Window::shared || window == Window::cluster) {
    return resolve_shared(warp, lane, static_cast<std::uint32_t>(address), bytes, access,
                          window == Window::shared);
  }
  if (window != Window::local && window != Window::param) {
    return resolve_global(warp, lane, address, bytes, access);
  }
  const LaunchState& launch = warp.block->cluster->launch;
  const bool is_local = window == Window::local;
  const std::size_t size = is_local ? launch.program.local_bytes : launch.parameters.size();
  if ((is_local || access == Access::read) && address < size && bytes <= size - address) {
    return is_local ? warp.local + static_cast<std::size_t>(lane) * size + address
                    : const_cast<std::byte*>(launch.parameters.data()) + address;
  }
  return refuse(
      warp, lane,
      fmt::format("{} {} bytes at byte {} of {} {} bytes", word(access), bytes, address,
                  is_local ? "local memory, which has" : "the parameters, which have", size));
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

namespace {

/// op.list: a slot for each element; op.target: the bits above a
/// signed element.
template <std::size_t kBytes>
void load_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto bytes = static_cast<std::uint32_t>(op.list.size() * kBytes);
  const Access access = op.mode != 0 ? Access::sync : Access::read;
  for (const int lane : Lanes(lanes)) {
    const std::uint64_t address = address_of(warp, op.at, lane);
    const std::byte* from = resolve(warp, op.at.window, lane, address, bytes, access, bytes);
    if (op.mode != 0) order_strong(warp, address, false, true);
    for (const std::int32_t slot : op.list) {
      std::int64_t value = 0;
      if (from != nullptr) {
        std::memcpy(&value, from, kBytes);
        from += kBytes;
      }
      value =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << op.target) >> op.target;
      warp.put(slot, lane, op.is_wide, static_cast<std::uint64_t>(value));
    }
  }
}

template <std::size_t kBytes>
void store_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto bytes = static_cast<std::uint32_t>(op.list.size() * kBytes);
  const Access access = op.mode != 0 ? Access::update : Access::write;
  warp.progress();
  for (const int lane : Lanes(lanes)) {
    const std::uint64_t address = address_of(warp, op.at, lane);
    std::byte* to = resolve(warp, op.at.window, lane, address, bytes, access, bytes);
    if (to == nullptr) continue;
    if (op.mode != 0) order_strong(warp, address, op.mode == 2, false);
    for (const std::int32_t slot : op.list) {
      const std::uint64_t value = warp.get(slot, lane, op.is_wide);
      std::memcpy(to, &value, kBytes);
      to += kBytes;
    }
  }
}

/// By the binary logarithm of an element's bytes.
constexpr Handler kLoads[] = {load_lanes<1>, load_lanes<2>, load_lanes<4>, load_lanes<8>};
constexpr Handler kStores[] = {store_lanes<1>, store_lanes<2>, store_lanes<4>, store_lanes<8>};

void decode_load_store(Form& form) {
  const bool is_load = form.parts[0] != "st";
  Op& op = form.op;
  const PtxType type = form.type();
  const std::span<const PtxOperand> values = Form::elements(form.operand(is_load ? 0 : 1));
  const std::size_t count = form.has("v2") ? 2 : form.has("v4") ? 4 : form.has("v8") ? 8 : 1;
  if (values.size() != count) throw UnknownForm();
  op.at = form.address(form.operand(is_load ? 1 : 0));
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
  const auto bytes = static_cast<std::uint32_t>(bytes_of(type));
  if (!std::has_single_bit(bytes) || bytes > 8) throw UnknownForm();
  op.is_wide = is_wide;
  op.target = is_signed(type) ? 64 - bits_of(type) : 0;
  op.run = (is_load ? kLoads : kStores)[std::countr_zero(bytes)];
}

}  // namespace

std::vector<Rule> memory_rules() { return {{"ld|ldu|st *", decode_load_store}}; }

}  // namespace assay::emulator
