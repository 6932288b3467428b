#pragma once

// Tensor maps, which the copy engine reads: an encoding of our own in the 128 bytes of a
// CUtensorMap, and the boxes that it copies.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "emulator/program.h"

namespace assay::emulator {

/// What the 128 bytes hold that cuTensorMapEncodeTiled writes. Dimension 0 is the contiguous one.
struct TensorMapView {
  std::uint64_t mark = 0;
  std::uint64_t address = 0;
  std::array<std::uint64_t, 5> extents{};  // elements
  std::array<std::uint64_t, 5> strides{};  // bytes; strides[0] is an element's size
  std::array<std::uint16_t, 5> box{};      // elements
  std::array<std::uint8_t, 5> element_strides{};
  std::uint8_t type = 0;  // CUtensorMapDataType
  std::uint8_t rank = 1;
  std::uint8_t swizzle_bytes = 0;  // 0 (none), 32, 64, 128
  bool fill_nan = false;

  int element_bytes() const { return static_cast<int>(strides[0]); }
  /// What a load writes outside the tensor: zeros, or 0x7FF7 over and over, whatever the type.
  std::byte fill_at(std::uint32_t shared) const {
    return !fill_nan ? std::byte{0} : shared % 2 == 0 ? std::byte{0xF7} : std::byte{0x7F};
  }
  /// What a copy announces at a barrier: elements outside the tensor count, too.
  std::uint32_t box_bytes() const;
};
/// Nothing when the 128 bytes are no such map.
std::optional<TensorMapView> decode_tensor_map(const void* bytes);

/// Bytes that follow one another on both sides of a copy.
struct BoxPiece {
  std::uint64_t global = 0;  // of no meaning outside the tensor
  std::uint32_t shared = 0;  // an address of the shared window
  std::uint32_t bytes = 0;
  bool inside = false;  // else: a load fills with fill_word, a store leaves it out
};
/// The pieces of the box at `coordinates` (dimension 0 first), which lies at `shared`. Rows of a
/// swizzled box lie as far apart as the swizzle is long. A store (and a reduction) ends a row
/// inside at a multiple of 16 bytes, as an H200's does: what is between the tensor's extent and
/// there is overwritten.
std::vector<BoxPiece> box_pieces(const TensorMapView& map,
                                 std::span<const std::int32_t> coordinates, std::uint32_t shared,
                                 bool is_load = true);

/// Why a copy of a box ends the launch on an H200 (as an illegal instruction, or a misaligned
/// address); empty when nothing is wrong.
std::string_view copy_mistake(const TensorMapView& map, std::span<const std::int32_t> coordinates,
                              std::uint32_t shared, bool is_load);

/// Of a CUtensorMapDataType; tf32 counts as f32. None for what Hopper has not.
PtxType element_type(int type);

/// What swizzles permute, and addresses and rows of boxes are multiples of.
inline constexpr std::uint32_t kChunkBytes = 16;

/// An address of shared memory with the bits swapped as the swizzle has it.
std::uint32_t swizzled_address(std::uint32_t address, int swizzle_bytes);

}  // namespace assay::emulator
