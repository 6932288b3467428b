#pragma once

#include <cstring>
#include <string_view>

#include "emulator/decode.h"
#include "emulator/warp.h"

// Where an address leads. Accesses that lead nowhere are findings; reads give 0, writes vanish.

namespace assay::emulator {

/// How an address is accessed, for the words of a finding.
enum class Access : std::uint8_t { read, write, update };

/// The bytes behind an address, or null after a finding.
std::byte* resolve(Warp& warp, Window window, int lane, std::uint64_t address, std::uint32_t bytes,
                   Access access, std::uint32_t align);

/// The address of an operand [a + offset] in a lane.
inline std::uint64_t address_of(const Warp& warp, const Op& op, int lane) {
  const std::uint64_t base =
      op.is_narrow ? warp.in(op.a)[lane] : lanes_in<std::uint64_t>(warp, op.a)[lane];
  return base + static_cast<std::uint64_t>(op.offset);
}

/// Where the instruction says that its address lies.
Window window_of(const Form& form);

/// A shared address of the block itself, out of one in a register.
inline std::uint32_t shared_address(std::uint64_t address) {
  return static_cast<std::uint32_t>(address);
}

}  // namespace assay::emulator
