// What h200_maps_test.cpp does not ask: an H200 tells no parts of a map.
#include "emulator/tensor_map.h"

#include <gtest/gtest.h>

#include <array>

namespace assay::emulator {
namespace {

TEST(TensorMap, KeepsWhatItIsMadeOf) {
  const cuuint64_t extents[] = {64, 32, 4}, strides[] = {256, 8192};
  const cuuint32_t box[] = {32, 8, 1}, steps[] = {2, 3, 1};  // the first is ignored
  CUtensorMap map;
  ASSERT_EQ(cuTensorMapEncodeTiled(
                &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, reinterpret_cast<void*>(4096), extents,
                strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_SUCCESS);
  const TensorMapView view = decode_tensor_map(&map).value();
  EXPECT_EQ(view.address, 4096u);
  EXPECT_EQ(view.rank, 3);
  EXPECT_EQ(view.extents[2], 4u);
  EXPECT_EQ(view.strides[0], 4u);
  EXPECT_EQ(view.strides[2], 8192u);
  EXPECT_EQ(view.swizzle_bytes, 128);
  EXPECT_EQ(view.element_strides[0], 1);
  EXPECT_EQ(view.box_bytes(), 32u * 3 * 4);
}

TEST(TensorMap, IsNotReadOutOfOtherBytes) {
  alignas(64) std::array<std::byte, 128> bytes{};
  EXPECT_FALSE(decode_tensor_map(bytes.data()).has_value());
}

}  // namespace
}  // namespace assay::emulator
