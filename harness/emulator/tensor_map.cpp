#include "emulator/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace assay::emulator {
namespace {

/// A real map has no such first word, so that bytes that are no map are found out.
constexpr std::uint64_t kMark = 0x70616D2D79617361;
static_assert(sizeof(TensorMapView) <= sizeof(CUtensorMap));
static_assert(std::is_trivially_copyable_v<TensorMapView>);

/// By CUtensorMapDataType, without the packed types of 4 and 6 bits, which Hopper has not.
constexpr PtxType kElementTypes[] = {PtxType::u8,  PtxType::u16,  PtxType::u32, PtxType::s32,
                                     PtxType::u64, PtxType::s64,  PtxType::f16, PtxType::f32,
                                     PtxType::f64, PtxType::bf16, PtxType::f32, PtxType::f32,
                                     PtxType::f32};
static_assert(std::size(kElementTypes) == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ + 1);

/// Of an SM. The driver of an H200 takes boxes of 233,472 bytes, and none of 260,096.
constexpr std::uint64_t kLargestBoxBytes = 228 * 1024;

}  // namespace

/// The driver's function: the same arguments, the same refusals.
extern "C" CUresult cuTensorMapEncodeTiled(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
    const cuuint32_t* element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const int element_bytes = bytes_of(element_type(type));
  const std::uint32_t swizzle_bytes = swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : 16u << swizzle;
  if (map == nullptr || address == nullptr || extents == nullptr || box == nullptr ||
      element_strides == nullptr || promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B || rank < 1 ||
      rank > 5 || (rank > 1 && strides == nullptr) || element_bytes == 0 ||
      swizzle > CU_TENSOR_MAP_SWIZZLE_128B ||
      fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA ||
      reinterpret_cast<std::uintptr_t>(map) % 64 != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) {
    const bool valid = interleave <= CU_TENSOR_MAP_INTERLEAVE_32B && rank >= 3;
    return valid ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
  }
  const bool is_floating =
      type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
  const bool fills_nan = fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  if (fills_nan && !is_floating) return CUDA_ERROR_INVALID_VALUE;
  TensorMapView encoded;
  std::uint64_t box_bytes = element_bytes;
  encoded.mark = kMark;
  encoded.strides[0] = box_bytes;
  encoded.address = reinterpret_cast<std::uintptr_t>(address);
  if (encoded.address % kChunkBytes != 0) return CUDA_ERROR_INVALID_VALUE;
  for (cuuint32_t i = 0; i < rank; ++i) {
    if (extents[i] == 0 || extents[i] > 1ull << 32 || box[i] == 0 || box[i] > 256 ||
        element_strides[i] == 0 || element_strides[i] > 8) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    encoded.extents[i] = extents[i];
    encoded.box[i] = static_cast<std::uint16_t>(box[i]);
    // The contiguous dimension has no element stride: what is given for it is ignored.
    encoded.element_strides[i] = static_cast<std::uint8_t>(i == 0 ? 1 : element_strides[i]);
    box_bytes *= box[i];
    if (i == 0) continue;
    if (strides[i - 1] % kChunkBytes != 0 || strides[i - 1] >= 1ull << 40) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    encoded.strides[i] = strides[i - 1];
  }
  const std::uint32_t row_bytes = box[0] * element_bytes;
  if (row_bytes % kChunkBytes != 0 || box_bytes > kLargestBoxBytes ||
      (swizzle_bytes > 0 && row_bytes > swizzle_bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  encoded.type = static_cast<std::uint8_t>(type);
  encoded.rank = static_cast<std::uint8_t>(rank);
  encoded.swizzle_bytes = static_cast<std::uint8_t>(swizzle_bytes);
  encoded.fill_nan = fills_nan;
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &encoded, sizeof encoded);
  return CUDA_SUCCESS;
}

std::uint32_t TensorMapView::box_bytes() const {
  std::uint32_t bytes = element_bytes();
  for (int i = 0; i < rank; ++i) {
    bytes *= (box[i] + element_strides[i] - 1) / element_strides[i];
  }
  return bytes;
}

std::optional<TensorMapView> decode_tensor_map(const void* bytes) {
  TensorMapView map;
  std::memcpy(&map, bytes, sizeof map);
  return map.mark == kMark ? std::optional(map) : std::nullopt;
}

std::vector<BoxPiece> box_pieces(const TensorMapView& map,
                                 std::span<const std::int32_t> coordinates, std::uint32_t shared,
                                 bool is_load) {
  std::vector<BoxPiece> pieces;
  const std::uint32_t element_bytes = map.element_bytes();
  const std::uint32_t row_bytes = map.box[0] * element_bytes;
  const std::uint32_t pitch = map.swizzle_bytes == 0 ? row_bytes : map.swizzle_bytes;
  // What of a row is inside; a store goes on to the end of its last 16 bytes.
  const std::int64_t begin = std::int64_t{coordinates[0]} * element_bytes;
  std::uint64_t extent = map.extents[0] * element_bytes;
  if (!is_load) extent = (extent + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
  const auto clipped = [&](std::int64_t to) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(to - begin, 0, row_bytes));
  };
  const std::uint32_t first = clipped(0), end = clipped(static_cast<std::int64_t>(extent));

  std::array<std::uint32_t, 5> at{};
  for (std::uint32_t row_shared = shared;; row_shared += pitch) {
    bool inside = true;
    std::uint64_t row = map.address + begin;
    for (int i = 1; i < map.rank; ++i) {
      const std::int64_t coordinate = coordinates[i] + std::int64_t{at[i]} * map.element_strides[i];
      inside &= coordinate >= 0 && static_cast<std::uint64_t>(coordinate) < map.extents[i];
      row += static_cast<std::uint64_t>(coordinate) * map.strides[i];
    }
    const auto add = [&](std::uint32_t from, std::uint32_t to, bool is_inside) {
      while (from < to) {
        const std::uint32_t piece_end =
            map.swizzle_bytes == 0 ? to : std::min(to, (from / kChunkBytes + 1) * kChunkBytes);
        pieces.push_back({row + from, swizzled_address(row_shared + from, map.swizzle_bytes),
                          piece_end - from, is_inside});
        from = piece_end;
      }
    };
    add(0, inside ? first : row_bytes, false);
    if (inside) {
      add(first, end, true);
      add(end, row_bytes, false);
    }
    int dimension = 1;
    while (dimension < map.rank &&
           ++at[dimension] * map.element_strides[dimension] >= map.box[dimension]) {
      at[dimension++] = 0;
    }
    if (dimension >= map.rank) return pieces;
  }
}

std::string_view copy_mistake(const TensorMapView& map, std::span<const std::int32_t> coordinates,
                              std::uint32_t shared, bool is_load) {
  if (shared % 128 != 0) return "the shared address is no multiple of 128";
  if (std::int64_t{coordinates[0]} * map.element_bytes() % kChunkBytes != 0) {
    return "the box does not begin at a multiple of 16 bytes";
  }
  for (int i = 0; i < map.rank && !is_load; ++i) {
    if (coordinates[i] < 0) return "a store has a negative coordinate";
  }
  return "";
}

PtxType element_type(int type) {
  const bool is_known = type >= 0 && type < static_cast<int>(std::size(kElementTypes));
  return is_known ? kElementTypes[type] : PtxType::none;
}

std::uint32_t swizzled_address(std::uint32_t address, int swizzle_bytes) {
  if (swizzle_bytes == 0) return address;
  // As many of the bits that number 16-byte chunks as the swizzle has chunks.
  const std::uint32_t lines = address >> 7 & (static_cast<std::uint32_t>(swizzle_bytes) / 16 - 1);
  return address ^ lines << 4;
}

}  // namespace assay::emulator
