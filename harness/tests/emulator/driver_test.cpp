#include <cuda.h>
#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "emulator/errors.h"
#include "emulator/gpu.h"

namespace assay::emulator {
namespace {

using testing::Each;
using testing::ElementsAre;

/// scale(float* x, float by): block i multiplies x[i]. far(x) writes where nothing is. together(x):
/// block i sets x[i] to 1 when all blocks of a cooperative launch are at their barrier.
constexpr const char* kScale = R"(
.version 8.0
.target sm_90a
.address_size 64

.const .align 4 .b8 factor[4] = {0, 0, 0, 64};
.global .align 4 .u32 launches;

.visible .entry scale(.param .u64 data, .param .f32 by)
.maxntid 64, 1, 1
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  .reg .f32 %f<4>;
  ld.param.u64 %rd1, [data];
  ld.param.f32 %f1, [by];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd2, %rd2, %rd3;
  ld.global.f32 %f2, [%rd2];
  mul.f32 %f3, %f1, %f2;
  st.global.f32 [%rd2], %f3;
  ret;
}

.visible .entry far(.param .u64 data)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [data];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 1;
  st.global.u32 [%rd2+1048576], %r1;
  ret;
}

.visible .entry together(.param .u64 data)
{
  .reg .b64 %rd<5>;
  .reg .b32 %r<8>;
  .reg .pred %p;
  mov.u32 %r1, %envreg1;
  mov.u32 %r2, %envreg2;
  mov.b64 %rd1, {%r2, %r1};
  atom.add.release.gpu.u32 %r3, [%rd1+4], 1;
  mov.u32 %r4, %nctaid.x;
WAIT:
  ld.acquire.gpu.u32 %r5, [%rd1+4];
  setp.lt.u32 %p, %r5, %r4;
  @%p bra WAIT;
  ld.param.u64 %rd2, [data];
  mov.u32 %r6, %ctaid.x;
  mul.wide.u32 %rd3, %r6, 4;
  add.s64 %rd4, %rd2, %rd3;
  mov.u32 %r7, 0f3F800000;
  st.global.u32 [%rd4], %r7;
  ret;
}
)";

void check(CUresult result) { ASSERT_EQ(result, CUDA_SUCCESS); }

class EmulatedDriver : public testing::Test {
 protected:
  void SetUp() override {
    check(cuInit(0));
    check(cuStreamCreate(&stream, 0));
    check(cuModuleLoadData(&module, kScale));
    check(cuMemAlloc(&data, sizeof(float) * values.size()));
    check(cuMemcpyHtoDAsync(data, values.data(), sizeof values, stream));
  }
  void TearDown() override {
    if (cuCtxSynchronize() != CUDA_SUCCESS) return;
    check(cuMemFree(data));
    check(cuModuleUnload(module));
    check(cuStreamDestroy(stream));
  }
  CUfunction function(const char* name) {
    CUfunction found = nullptr;
    check(cuModuleGetFunction(&found, module, name));
    return found;
  }
  CUresult scale(float by, unsigned threads = 1) {
    void* arguments[] = {&data, &by};
    return cuLaunchKernel(function("scale"), 4, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr);
  }
  std::array<float, 4> read() {
    std::array<float, 4> found{};
    check(cuMemcpyDtoHAsync(found.data(), data, sizeof found, stream));
    check(cuStreamSynchronize(stream));
    return found;
  }

  CUstream stream = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr data = 0;
  std::array<float, 4> values = {1, 2, 3, 4};
};

TEST_F(EmulatedDriver, RunsKernelsInTheOrderOfTheStream) {
  check(scale(2));
  check(scale(10));
  EXPECT_THAT(read(), ElementsAre(20, 40, 60, 80));
}

TEST_F(EmulatedDriver, KnowsNoTimes) {
  float ms = 0;
  EXPECT_EQ(cuEventElapsedTime(&ms, nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(EmulatedDriver, RefusesALaunchThatNoGpuTakes) {
  EXPECT_EQ(scale(2, 65), CUDA_ERROR_INVALID_VALUE) << "its bounds are 64 threads";
  EXPECT_EQ(scale(2, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(function("scale"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               232449),
            CUDA_ERROR_INVALID_VALUE);
  float by = 1;
  void* arguments[] = {&data, &by};
  EXPECT_EQ(cuLaunchKernel(function("scale"), 4, 1, 1, 1, 1, 1, 49153, stream, arguments, nullptr),
            CUDA_ERROR_INVALID_VALUE)
      << "more than 48 KiB are to be asked for";
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {3, 1, 1};
  const CUlaunchConfig config{4, 1, 1, 1, 1, 1, 0, stream, &cluster, 1};
  EXPECT_EQ(cuLaunchKernelEx(&config, function("scale"), arguments, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(read(), ElementsAre(1, 2, 3, 4));
}

TEST_F(EmulatedDriver, KnowsVariablesAndLetsTheHostWriteConstants) {
  CUdeviceptr variable = 0;
  std::size_t bytes = 0;
  check(cuModuleGetGlobal(&variable, &bytes, module, "factor"));
  EXPECT_EQ(bytes, 4u);
  float factor = 0;
  check(cuMemcpyDtoHAsync(&factor, variable, sizeof factor, stream));
  EXPECT_EQ(factor, 2);
  check(cuMemcpyDtoDAsync(variable, data, sizeof factor, stream));
  check(cuMemcpyDtoHAsync(&factor, variable, sizeof factor, stream));
  EXPECT_EQ(factor, 1);
  EXPECT_EQ(cuModuleGetGlobal(&variable, &bytes, module, "none"), CUDA_ERROR_NOT_FOUND);
  CUfunction none = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&none, module, "none"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(EmulatedDriver, RefusesCopiesThatLeaveTheirMemory) {
  EXPECT_EQ(cuMemcpyHtoDAsync(data + 4, values.data(), sizeof values, stream),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32Async(data, 0, 5, stream), CUDA_ERROR_INVALID_VALUE);
  check(cuMemsetD32Async(data, 0, 4, stream));
  EXPECT_THAT(read(), Each(0));
}

TEST_F(EmulatedDriver, TakesPtxBehindMachineCode) {
  // An ELF file with one section of 16 bytes behind its headers, and then the PTX.
  std::string image(
      "\x7f"
      "ELF");
  image.resize(64 + 64 + 16);
  const std::uint64_t sections_at = 64, section_at = 128, section_bytes = 16;
  const std::uint16_t count = 1;
  std::memcpy(image.data() + 0x28, &sections_at, 8);
  std::memcpy(image.data() + 0x3c, &count, 2);
  const std::uint32_t type = 1;
  std::memcpy(image.data() + 64 + 4, &type, 4);
  std::memcpy(image.data() + 64 + 24, &section_at, 8);
  std::memcpy(image.data() + 64 + 32, &section_bytes, 8);
  EXPECT_EQ(machine_code_of(image.c_str()).size(), image.size());
  EXPECT_EQ(ptx_of(image.c_str()), "");
  image += kScale;
  EXPECT_EQ(ptx_of(image.c_str()), kScale);
  EXPECT_EQ(ptx_of(kScale), kScale);
}

// The blocks of a cooperative launch trapped at the grid's barrier: they had no workspace.
TEST_F(EmulatedDriver, BlocksOfACooperativeLaunchWaitForEachOther) {
  constexpr unsigned kMostBlocks = 132 * 32;
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  CUdeviceptr flags = 0;
  check(cuMemAlloc(&flags, kMostBlocks * sizeof(float)));
  void* arguments[] = {&flags};
  CUlaunchConfig config{kMostBlocks + 1, 1, 1, 1, 1, 1, 0, stream, &cooperative, 1};
  EXPECT_EQ(cuLaunchKernelEx(&config, function("together"), arguments, nullptr),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  config.gridDimX = kMostBlocks / 16;
  for (int i = 0; i < 2; ++i) {
    check(cuMemsetD32Async(flags, 0, config.gridDimX, stream));
    check(cuLaunchKernelEx(&config, function("together"), arguments, nullptr));
    std::vector<float> found(config.gridDimX);
    check(cuMemcpyDtoHAsync(found.data(), flags, found.size() * sizeof(float), stream));
    check(cuStreamSynchronize(stream));
    EXPECT_THAT(found, Each(1));
  }
  check(cuMemFree(flags));
}

TEST_F(EmulatedDriver, AnErrorGoesWithTheLastContext) {
  CUcontext context = nullptr;
  check(cuDevicePrimaryCtxRetain(&context, 0));
  Gpu::get().fail(CUDA_ERROR_LAUNCH_FAILED, "a finding");
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

// A fault stays, as on a GPU: so this runs in a process of its own.
TEST_F(EmulatedDriver, AFaultIsWhatLaterCallsReturnAndSaysWhereItWas) {
  const auto fault = [&] {
    void* arguments[] = {&data};
    check(cuLaunchKernel(function("far"), 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
    const CUresult result = cuStreamSynchronize(stream);
    const char *name = nullptr, *text = nullptr;
    check(cuGetErrorName(result, &name));
    check(cuGetErrorString(result, &text));
    CUdeviceptr more = 0;
    std::fprintf(stderr, "%s: %s; then %d\n", name, text, cuMemAlloc(&more, 1) == result);
    std::_Exit(0);
  };
  EXPECT_EXIT(fault(), testing::ExitedWithCode(0),
              "CUDA_ERROR_ILLEGAL_ADDRESS: kernel far.*; then 1");
}

}  // namespace
}  // namespace assay::emulator
