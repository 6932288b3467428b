#pragma once

#include <cstring>
#include <string_view>

#include "emulator/decode.h"
#include "emulator/warp.h"

// Where an address leads. Accesses that lead nowhere are findings; reads give 0, writes vanish.

namespace assay::emulator {

/// How an address is accessed, for the words of a finding.
/// `sync`: an mbarrier or a strong load, which do not race with their like.
enum class Access : std::uint8_t { read, write, update, sync };

/// The bytes behind an address, or null after a finding.
std::byte* resolve(Warp& warp, Window window, int lane, std::uint64_t address, std::uint32_t bytes,
                   Access access, std::uint32_t align);

/// The address of an operand [x + n] in a lane.
inline std::uint64_t address_of(const Warp& warp, const Address& at, int lane) {
  return warp.get(at.slot, lane, !at.is_narrow) + static_cast<std::uint64_t>(at.offset);
}

/// A strong access or an atomic: it may order what warps of a cluster do.
void order_strong(Warp& warp, std::uint64_t address, bool releases, bool acquires);

/// An offset in shared memory, of the block of a rank.
inline std::uint32_t in_block(std::uint64_t address, std::uint32_t rank) {
  return (static_cast<std::uint32_t>(address) & kOffsetMask) | rank << kRankShift;
}
/// An address of the block's own shared memory, in the cluster's window.
inline std::uint32_t own_address(const Warp& warp, std::uint64_t address) {
  return in_block(address, warp.block->rank);
}

/// The address in the cluster's window of an operand that is shared::cta or shared::cluster.
inline std::uint32_t cluster_address(const Warp& warp, const Op& op, int lane) {
  const std::uint64_t address = address_of(warp, op.at, lane);
  return op.at.window == Window::shared ? own_address(warp, address)
                                        : static_cast<std::uint32_t>(address);
}

}  // namespace assay::emulator
