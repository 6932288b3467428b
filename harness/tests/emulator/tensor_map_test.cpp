#include "emulator/tensor_map.h"
#include "emulator/ops.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace assay::emulator {
namespace {

/// What cuTensorMapEncodeTiled gets.
struct MapArguments {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  cuuint32_t rank = 2;
  std::uint64_t address = 4096;
  std::array<cuuint64_t, 5> extents{64, 32, 4, 3, 2};
  std::array<cuuint64_t, 4> strides{256, 8192, 32768, 98304};
  std::array<cuuint32_t, 5> box{32, 8, 1, 1, 1};
  std::array<cuuint32_t, 5> steps{1, 1, 1, 1, 1};
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

  CUresult encode(CUtensorMap* map) const {
    return encode_tensor_map(map, type, rank, reinterpret_cast<void*>(address), extents.data(),
                             strides.data(), box.data(), steps.data(), interleave, swizzle,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, fill);
  }
  TensorMapView view() const {
    CUtensorMap map;
    EXPECT_EQ(encode(&map), CUDA_SUCCESS);
    const auto view = decode_tensor_map(&map);
    EXPECT_TRUE(view.has_value());
    return view.value_or(TensorMapView{});
  }
};

TEST(TensorMap, KeepsWhatItIsMadeOf) {
  MapArguments arguments;
  arguments.rank = 3;
  arguments.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  const TensorMapView view = arguments.view();
  EXPECT_EQ(view.address, 4096u);
  EXPECT_EQ(view.rank, 3);
  EXPECT_EQ(view.extents[2], 4u);
  EXPECT_EQ(view.strides[0], 4u);
  EXPECT_EQ(view.strides[2], 8192u);
  EXPECT_EQ(view.box[0], 32u);
  EXPECT_EQ(view.swizzle_bytes, 128);
  EXPECT_EQ(view.box_bytes(), 32u * 8 * 4);
}

TEST(TensorMap, IsNotReadOutOfOtherBytes) {
  alignas(64) std::array<std::byte, 128> bytes{};
  EXPECT_FALSE(decode_tensor_map(bytes.data()).has_value());
}

/// An element of the tensor, by its coordinates; nothing outside.
std::optional<std::uint64_t> address_of(const TensorMapView& map,
                                        const std::array<std::int64_t, 5>& at) {
  std::uint64_t address = map.address;
  for (int i = 0; i < map.rank; ++i) {
    if (at[i] < 0 || at[i] >= static_cast<std::int64_t>(map.extents[i])) return std::nullopt;
    address += static_cast<std::uint64_t>(at[i]) * map.strides[i];
  }
  return address;
}

/// Element by element: where each of a box lies on both sides. The oracle of the swizzle is the
/// layout that kernels have, chunk ^ line.
TEST(TensorMap, CopiesEachElementOfABoxOnce) {
  std::mt19937 random(3);
  const auto draw = [&](int count) { return static_cast<int>(random() % count); };
  for (int turn = 0; turn < 100; ++turn) {
    MapArguments arguments;
    arguments.type =
        turn % 2 == 0 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    const std::uint32_t size = turn % 2 == 0 ? 2 : 4;
    const int mode = draw(4);  // of the swizzle
    const std::uint32_t line_bytes = mode == 0 ? 64 : 16u << mode;
    arguments.rank = static_cast<cuuint32_t>(1 + draw(5));
    arguments.swizzle = static_cast<CUtensorMapSwizzle>(mode);
    arguments.box = {line_bytes / size, static_cast<cuuint32_t>(1 + draw(9)), 2, 1, 2};
    if (turn % 5 == 0) arguments.steps = {2, 3, 2, 1, 1};  // the first is ignored
    const TensorMapView map = arguments.view();
    std::array<std::int32_t, 5> corner{};
    for (int i = 0; i < map.rank; ++i) {
      corner[i] =
          draw(static_cast<int>(map.extents[i] + map.box[i])) - static_cast<int>(map.box[i]) / 2;
    }
    constexpr std::uint32_t kShared = 3072;
    std::vector<std::optional<std::uint64_t>> source(1 << 16);
    std::vector<int> times(1 << 16);
    for (const BoxPiece& piece : box_pieces(map, corner, kShared)) {
      ASSERT_EQ(piece.bytes % size, 0u);
      for (std::uint32_t i = 0; i < piece.bytes; ++i) {
        ++times[piece.shared + i];
        if (piece.inside) source[piece.shared + i] = piece.global + i;
      }
    }
    std::uint32_t linear = kShared;
    std::array<std::int64_t, 5> at{};
    const auto walk = [&](auto&& self, int dimension) -> void {
      if (dimension < 0) {
        const std::uint32_t line = linear / 128, chunk = linear / 16 % 8;
        const std::uint32_t permuted =
            mode == 0 ? linear : line * 128 + (chunk ^ line % (1u << mode)) * 16 + linear % 16;
        const auto expected = address_of(map, at);
        for (std::uint32_t i = 0; i < size; ++i, ++linear) {
          ASSERT_EQ(times[permuted + i], 1);
          ASSERT_EQ(source[permuted + i].has_value(), expected.has_value());
          if (expected.has_value()) {
            ASSERT_EQ(*source[permuted + i], *expected + i);
          }
        }
        return;
      }
      for (std::uint32_t i = 0; i < map.box[dimension]; i += map.element_strides[dimension]) {
        at[dimension] = corner[dimension] + static_cast<std::int64_t>(i);
        self(self, dimension - 1);
      }
    };
    walk(walk, map.rank - 1);
    EXPECT_EQ(linear - kShared, map.box_bytes());  // rows here are as long as the swizzle
  }
}

/// Rows that are shorter than the swizzle lie as far apart as it is long.
TEST(TensorMap, SpreadsShortRowsOfSwizzledBoxes) {
  MapArguments arguments;
  arguments.box = {8, 2, 1, 1, 1};
  arguments.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  const std::array<std::int32_t, 5> corner{};
  const std::vector<BoxPiece> pieces = box_pieces(arguments.view(), corner, 1024);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[1].shared, 1024u + 16);
  EXPECT_EQ(pieces[2].shared, 1024u + 128 + 16);  // chunk 0 of line 1 lies in place 1
  EXPECT_EQ(pieces[3].shared, 1024u + 128);
}

/// A store writes whole 16 bytes: up to three floats behind the tensor's extent.
TEST(TensorMap, StoresWhole16Bytes) {
  MapArguments arguments;
  arguments.extents[0] = 61;
  const std::array<std::int32_t, 5> corner{32};
  const auto inside = [&](bool is_load) {
    std::uint32_t bytes = 0;
    for (const BoxPiece& piece : box_pieces(arguments.view(), corner, 1024, is_load)) {
      if (piece.inside) bytes += piece.bytes;
    }
    return bytes;
  };
  EXPECT_EQ(inside(true), 8u * 29 * 4);
  EXPECT_EQ(inside(false), 8u * 32 * 4);
}

TEST(TensorMap, SaysWhatEndsALaunch) {
  const TensorMapView map = MapArguments{}.view();
  const auto mistake = [&](std::int32_t x, std::int32_t y, std::uint32_t shared, bool is_load) {
    const std::array<std::int32_t, 5> corner{x, y};
    return copy_mistake(map, corner, shared, is_load);
  };
  EXPECT_EQ(mistake(-4, -1, 1024, true), "");
  EXPECT_EQ(mistake(2, 0, 1024, true), "the box does not begin at a multiple of 16 bytes");
  EXPECT_EQ(mistake(0, -1, 1024, false), "a store has a negative coordinate");
  EXPECT_EQ(mistake(0, 0, 1040, true), "the shared address is no multiple of 128");
}

TEST(TensorMap, FillsWithNanOnlyWhereTheMapSaysSo) {
  MapArguments arguments;
  EXPECT_EQ(fill_bytes(arguments.view()), (std::array<std::byte, 16>{}));
  arguments.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  float value = 0;
  std::memcpy(&value, fill_bytes(arguments.view()).data(), sizeof value);
  EXPECT_TRUE(std::isnan(value));
}

template <typename Number>
Number reduced(const char* operation, const char* type, Number a, Number b) {
  EXPECT_TRUE(reduce_elements(parse_atomic(operation).value(), ptx_type(type),
                              reinterpret_cast<std::byte*>(&a),
                              reinterpret_cast<const std::byte*>(&b), sizeof a));
  return a;
}

TEST(TensorMap, Reduces) {
  EXPECT_EQ(reduced<std::uint32_t>("add", "u32", 7, 5), 12u);
  EXPECT_EQ(reduced<std::int32_t>("min", "s32", -7, 5), -7);
  EXPECT_EQ(reduced<std::uint32_t>("min", "u32", 0xFFFFFFF9, 5), 5u);
  EXPECT_EQ(reduced<std::uint64_t>("xor", "b64", 12, 10), 6u);
  EXPECT_EQ(reduced<std::uint32_t>("inc", "u32", 5, 5), 0u);
  EXPECT_EQ(reduced<std::uint32_t>("dec", "u32", 0, 5), 5u);
  EXPECT_EQ(reduced<float>("add", "f32", 1.5f, 2.0f), 3.5f);
  EXPECT_EQ(reduced<std::uint16_t>("add", "f16", 0x3C00, 0x4000), 0x4200);
  EXPECT_EQ(reduced<std::uint16_t>("max", "bf16", 0x3F80, 0x4000), 0x4000);
  float value = 0;
  const auto bytes = reinterpret_cast<std::byte*>(&value);
  EXPECT_FALSE(reduce_elements(AtomicOperation::bit_xor, PtxType::f32, bytes, bytes, 4));
  EXPECT_FALSE(reduce_elements(AtomicOperation::add, PtxType::e4m3, bytes, bytes, 4));
}

}  // namespace
}  // namespace assay::emulator
