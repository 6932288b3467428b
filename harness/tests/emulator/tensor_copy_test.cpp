#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "emulator/tensor_map.h"
#include "run_ptx.h"

namespace assay::emulator {
namespace {

/// What is found when a box of 8 x 4 floats is stored at (x, y) of a tensor of 64 x 32.
std::string stored_at(int x, int y, int shared_offset = 0) {
  PtxRun run;
  const std::size_t maps = run.add(std::vector<std::byte>(192));
  const std::size_t tensor = run.add(std::vector<float>(64 * 32));
  const auto memory = reinterpret_cast<std::uint64_t>(run.buffers[maps].data());
  const std::uint64_t offset = (64 - memory % 64) % 64;
  void* const data = run.buffers[tensor].data();
  CUtensorMap map;
  const cuuint64_t extents[] = {64, 32}, strides[] = {256};
  const cuuint32_t box[] = {8, 4}, steps[] = {1, 1};
  EXPECT_EQ(
      cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, data, extents, strides, box,
                             steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                             CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      CUDA_SUCCESS);
  std::memcpy(run.buffers[maps].data() + offset, &map, sizeof map);
  run.shape.block = {32, 1, 1};
  run.run_body(
      "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, box;\nadd.u32 %r2, %r2, %r3;\n"
      "mov.f32 %f1, 0f3F800000;\nst.shared.f32 [%r2], %f1;\n"
      "fence.proxy.async.shared::cta;\nbar.warp.sync -1;\nsetp.ne.u32 %p1, %r1, 0;\n"
      "@%p1 bra done;\nadd.u64 %rd0, %rd0, " +
          std::to_string(offset) + ";\n" + "add.u32 %r3, %r3, " + std::to_string(shared_offset) +
          ";\nmov.u32 %r4, " + std::to_string(x) + ";\nmov.u32 %r5, " + std::to_string(y) +
          ";\ncp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd0, {%r4, %r5}], [%r3];\n"
          "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\ndone:\n",
      ".shared .align 128 .b8 box[256];\n");
  return run.findings();
}

/// An H200 ends these launches: as an illegal instruction, and the last for a misaligned address.
TEST(TensorCopy, ReportsWhatEndsALaunch) {
  EXPECT_EQ(stored_at(4, 3), "");
  EXPECT_EQ(stored_at(64, 32), "");
  EXPECT_THAT(stored_at(2, 0), HasSubstr("does not begin at a multiple of 16 bytes"));
  EXPECT_THAT(stored_at(0, -1), HasSubstr("a store has a negative coordinate"));
  EXPECT_THAT(stored_at(0, 0, 16), HasSubstr("no multiple of 128"));
}

TEST(TensorCopy, ReducesALineOfGlobalMemory) {
  const auto reduced = [](const std::string& operation) {
    PtxRun run;
    const std::size_t sums = run.add(std::vector<std::uint32_t>(32, 5));
    run.shape.block = {32, 1, 1};
    run.run_body(
        "mov.u32 %r1, %tid.x;\nmov.u32 %r3, line;\nmad.lo.u32 %r2, %r1, 4, %r3;\n"
        "st.shared.u32 [%r2], %r1;\nfence.proxy.async.shared::cta;\nbar.warp.sync -1;\n"
        "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra done;\n"
        "cp.reduce.async.bulk.global.shared::cta.bulk_group." +
            operation +
            " [%rd0], [%r3], 128;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group "
            "0;\ndone:\n",
        ".shared .align 128 .b8 line[128];\n");
    EXPECT_EQ(run.findings(), "");
    return run.get<std::uint32_t>(sums);
  };
  const std::vector<std::uint32_t> added = reduced("add.u32"), least = reduced("min.s32");
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(added[i], 5 + i);
    EXPECT_EQ(least[i], std::min(5u, i));
  }
}

// What h200_maps_test.cpp does not ask: an H200 tells no parts of a map.
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
