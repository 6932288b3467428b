#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "base/file.h"
#include "compile/nvrtc_compiler.h"
#include "temp_folder.h"

namespace assay {

inline constexpr char kGood[] = R"(
extern "C" __global__ void good(float* x) {
  __shared__ float shared[THREADS];
  shared[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = shared[THREADS - 1 - threadIdx.x];
}
)";

// Takes seconds in the optimiser, or minutes: it unrolls 128 steps, and gives up on 1024.
inline constexpr char kSlow[] = R"(
extern "C" __global__ void slow(const float* a, float* c) {
  float x[32];
#pragma unroll
  for (int i = 0; i < 32; ++i) x[i] = a[i];
#pragma unroll
  for (int step = 0; step < 8 * THREADS; ++step) {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      x[i] = x[i] * x[(i + step + 1) % 32] + a[step * 32 + i];
      if (x[i] > 1.0f) x[(i * 7 + step) % 32] -= __sinf(x[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < 32; ++i) c[i] = x[i];
}
)";

// Takes hours in the front end.
inline constexpr char kEndless[] = R"(
template <int N, int S>
struct Tree { static constexpr int value = Tree<N - 1, 2 * S>::value + Tree<N - 1, 2 * S + 1>::value; };
template <int S>
struct Tree<0, S> { static constexpr int value = S; };
extern "C" __global__ void endless(int* out) { *out = Tree<30, 1>::value; }
)";

/// Machine code of that size, which only ptxas sees: the optimiser takes minutes for it.
inline std::string large_kernel(std::int64_t num_bytes) {
  return "extern \"C\" __global__ void k(long long* x) {\n"
         "  asm volatile(\"{.global .b8 large[" +
         std::to_string(num_bytes) +
         "] = {1}; mov.u64 %0, large;}\" : \"=l\"(*x));\n"
         "}\n";
}

class NvrtcCompilerTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::filesystem::path& name, const std::string& text) {
    return folder_.write(name, text);
  }
  CompileJob job(const std::string& text, std::int64_t threads = 128, const char* name = "x.cu") {
    return {write(name, text), {folder_.path() / "include"}, {{"THREADS", threads}}, "80"};
  }
  /// Compiles with a compiler of its own, as a process would.
  CompileResult compile(CompileJob job) {
    return NvrtcCompiler(options_).submit(std::move(job)).get();
  }

  TempFolder folder_;
  CompilerOptions options_{.cache_directory = folder_.path() / "cache", .num_threads = 2};
};

}  // namespace assay
