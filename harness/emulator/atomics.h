#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "emulator/decode.h"

namespace assay::emulator {

/// What atom, red and cp.reduce do to a place.
enum class AtomicOperation : std::uint32_t {
  add,
  min,
  max,
  inc,
  dec,
  bit_and,
  bit_or,
  bit_xor,
  exch,
  cas,
};

/// PTX's word; nothing for another word.
std::optional<AtomicOperation> parse_atomic(std::string_view word);

/// The one that a part of the opcode names. Refuses a form without one.
AtomicOperation operation_of(const Form& form);

/// The new value of a place, of the bits that are there and those of the operands.
std::uint64_t updated(AtomicOperation operation, PtxType type, std::uint64_t old, std::uint64_t b,
                      std::uint64_t c = 0);

/// destination = destination op source, for each element of a type, atomically. False when there is
/// no such pair.
bool reduce_elements(AtomicOperation operation, PtxType type, std::byte* destination,
                     const std::byte* source, std::size_t bytes);

}  // namespace assay::emulator
