#include "spec/draft.h"

#include "matchers.h"
#include "message_of.h"
#include "spec/cuda_source.h"
#include "spec/kernel_spec.h"
#include "spec/spec_files.h"
#include "temp_folder.h"

namespace assay {
namespace {

constexpr const char* kSaxpy = R"cu(// saxpy: `__global__ void no(int* x)` in a comment.
#include <cuda/std/cstdint>
#define LIMIT 7
#ifndef BLOCK
#define BLOCK 128  // threads
#endif
enum Order { ROW, COLUMN };
constexpr int kItems = ITEMS;
static const char* text = "NO_MACRO __global__ void no(int* x)";
__device__ float helper(int FIRST) { return FIRST + LIMIT + INT_MAX + ROW; }
extern "C" __global__ void __launch_bounds__(BLOCK)
    saxpy(const float* __restrict__ x, float* y, const float alpha, int n) {
#pragma unroll UNROLL
  for (int i = 0; i < kItems; ++i) y[i] += alpha * x[i];
}
)cu";

/// The draft for `source`, and what it says once its guesses are taken.
struct Drafted {
  explicit Drafted(const std::string& source, const std::string& name = "saxpy") {
    folder.write(name + "_reference.cu", "");
    text = draft_contract(folder.write(name + ".cu", source));
    EXPECT_THROW(load_kernel(folder.write(name + ".yaml", text)), SpecError);
    std::string filled = text;
    replace_all(filled, "#? ", "");
    kernel = load_kernel(folder.write(name + ".yaml", filled));
  }

  TempFolder folder;
  std::string text;
  KernelSpec kernel;
};

TEST(Draft, LoadsOnceItsGuessesAreTaken) {
  const KernelSpec kernel = Drafted(kSaxpy).kernel;
  EXPECT_EQ(kernel.name, "saxpy");
  EXPECT_THAT(kernel.dims, ElementsAre("n"));
  ASSERT_EQ(kernel.params.size(), 3u);
  EXPECT_EQ(kernel.params[0].name, "BLOCK");
  EXPECT_THAT(kernel.params[0].values, ElementsAre(Value(128)));  // what the source says
  EXPECT_EQ(kernel.params[1].name, "ITEMS");
  EXPECT_EQ(kernel.params[2].name, "UNROLL");
  ASSERT_EQ(kernel.args.size(), 4u);
  EXPECT_EQ(std::get<BufferSpec>(kernel.args[0].form).role, Role::in);
  EXPECT_EQ(std::get<BufferSpec>(kernel.args[1].form).role, Role::out);
  EXPECT_EQ(std::get<ScalarSpec>(kernel.args[2].form).dtype, DType::f32);
  EXPECT_EQ(std::get<ScalarSpec>(kernel.args[3].form).value.expr.text(), "n");
  EXPECT_EQ(kernel.launches[0].entry, "saxpy");
  EXPECT_EQ(kernel.launches[0].grid[0].expr.text(), "cdiv(n, BLOCK)");
}

TEST(Draft, NamesATemplateAsCppDoes) {
  const KernelSpec kernel =
      Drafted(
          "namespace a::b {\nnamespace {\nstruct S { int x; };\n"
          "template <typename T, int N = (4), bool FAST = true, class... More>\n"
          "__global__ void saxpy(T const* in, T* out, unsigned long long N_, unsigned short);\n"
          "template <typename T, int N, bool FAST>\n"
          "__global__ void saxpy(T const* in, T* out, unsigned long long N_, unsigned short) {}\n"
          "__global__ void other() { extern __shared__ int x[]; }\n}}\n")
          .kernel;
  EXPECT_EQ(kernel.launches[0].entry, "a::b::saxpy<float, N, FAST, float>");
  EXPECT_TRUE(kernel.launches[0].smem_bytes);
  EXPECT_THAT(kernel.dims, ElementsAre("N_", "arg3"));
  ASSERT_EQ(kernel.params.size(), 2u);
  EXPECT_THAT(kernel.params[1].values, ElementsAre(Value(0), Value(1)));
  EXPECT_EQ(std::get<ScalarSpec>(kernel.args[2].form).dtype, DType::u64);
  EXPECT_EQ(std::get<ScalarSpec>(kernel.args[3].form).dtype, DType::u16);
}

TEST(Draft, KnowsTypesAndNamesThatAreTaken) {
  const KernelSpec kernel =
      Drafted(
          "__global__ void k(const __grid_constant__ CUtensorMap map, const int32_t idx[], "
          "std::uint8_t* min, Own* own) { x[0] = M_TILE; }\n")
          .kernel;
  EXPECT_THAT(kernel.dims, ElementsAre("N"));
  EXPECT_EQ(std::get<TensorMapSpec>(kernel.args[0].form).of, "idx");
  EXPECT_EQ(std::get<BufferSpec>(kernel.args[1].form).fill.generator, "uniform");
  EXPECT_EQ(kernel.args[2].name, "min_");
  EXPECT_EQ(std::get<BufferSpec>(kernel.args[2].form).dtype, DType::u8);
  EXPECT_EQ(kernel.params[0].name, "M_TILE");
  const KernelSpec reads_texture =
      Drafted("__global__ void k(cudaTextureObject_t image, float* out) { out[0] = 0; }\n").kernel;
  EXPECT_EQ(std::get<BufferSpec>(reads_texture.args[0].form).texture, TextureSpec());
  const KernelSpec takes_numbers =
      Drafted("__global__ void k(float* y, const uint n, ptrdiff_t stride) { y[0] = n; }\n").kernel;
  EXPECT_THAT(takes_numbers.dims, ElementsAre("n", "stride"));
  EXPECT_EQ(std::get<ScalarSpec>(takes_numbers.args[1].form).dtype, DType::u32);
  EXPECT_EQ(std::get<ScalarSpec>(takes_numbers.args[2].form).dtype, DType::i64);
}

TEST(Draft, OfOurOwnKernelLoads) {
  const KernelSpec kernel = Drafted(R"(constexpr int kBlock = BLOCK;
extern "C" __global__ void saxpy(float* c, int n) { c[0] = kBlock + VECTOR * 1'000 + '"'; }
)")
                                .kernel;
  ASSERT_EQ(kernel.params.size(), 2u);
  EXPECT_EQ(kernel.params[1].name, "VECTOR");
}

// Of 64 kernels of public tuners those with such names lost all of their parameters.
TEST(Draft, KnowsMacrosInSmallLetters) {
  const KernelSpec kernel =
      Drafted(
          "#ifndef block_size_x\n#define block_size_x 128\n#endif\n"
          "#ifndef my_factor\n#define my_factor 3\n#endif\n"
          "__global__ void saxpy(const float* x, float* y, int n) {\n"
          "  for (int t = 0; t < tile_size_x; ++t) y[t * block_size_x] = my_factor * x[t];\n}\n")
          .kernel;
  ASSERT_EQ(kernel.params.size(), 3u);
  EXPECT_EQ(kernel.params[0].name, "block_size_x");
  EXPECT_EQ(kernel.params[1].name, "my_factor");
  EXPECT_THAT(kernel.params[1].values, ElementsAre(Value(3)));
  EXPECT_EQ(kernel.params[2].name, "tile_size_x");
  EXPECT_EQ(kernel.launches[0].block[0].expr.text(), "block_size_x");
}

TEST(Draft, KnowsSwitches) {
  const KernelSpec kernel =
      Drafted(
          "#ifndef USE_PADDING\n#define USE_PADDING 0\n#endif\n#ifndef STAGES\n#define STAGES 1\n"
          "#endif\n#if CACHED\n#elif !READ_ONLY\n#endif\n#if MODE == 1\n#endif\n#if LEVELS > 1\n"
          "#endif\n__global__ void saxpy(float* y) { y[0] = USE_PADDING + STAGES; }\n")
          .kernel;
  std::vector<std::string> switches, others;
  for (const ParamSpec& param : kernel.params) {
    const bool is_switch = param.values == std::vector<Value>{Value(0), Value(1)};
    (is_switch ? switches : others).push_back(param.name);
  }
  EXPECT_THAT(switches, ElementsAre("USE_PADDING", "CACHED", "READ_ONLY", "MODE"));
  EXPECT_THAT(others, ElementsAre("STAGES", "LEVELS"));
}

TEST(Draft, ADirectiveMayStandAheadOfTheName) {
  const KernelSpec kernel =
      Drafted(
          "__global__\n#if BLOCKS_PER_SM > 0\n__launch_bounds__(BLOCK, BLOCKS_PER_SM)\n#endif\n"
          "void saxpy(const float* x, float* y, int n) { y[BLOCK] = x[n]; }\n")
          .kernel;
  EXPECT_EQ(kernel.launches[0].entry, "saxpy");
  EXPECT_EQ(kernel.args.size(), 3u);
}

TEST(Draft, KnowsTheTypesThatTheFileNames) {
  const KernelSpec kernel =
      Drafted(
          "typedef unsigned int uint;\nusing real = double;\nusing number = real;\n"
          "typedef struct { int x; } Own;\nusing namespace std;\n"
          "__global__ void saxpy(const number* x, real* y, const uint n) { y[n] = x[n]; }\n")
          .kernel;
  EXPECT_EQ(std::get<BufferSpec>(kernel.args[0].form).dtype, DType::f64);
  EXPECT_EQ(std::get<BufferSpec>(kernel.args[1].form).dtype, DType::f64);
  EXPECT_EQ(std::get<ScalarSpec>(kernel.args[2].form).dtype, DType::u32);
}

// Which of two types it is an #if decides, often by a macro of the contract.
TEST(CudaSource, ANameOfTwoTypesIsOfNone) {
  TempFolder folder;
  const CudaSource source = read_cuda_source(folder.write(
      "x.cu",
      "#ifdef SMALL\ntypedef __half real;\n#else\ntypedef float real;\n#endif\n"
      "using same = int;\nusing same = int;\n__global__ void k(real* x, same n) {}\n"));
  ASSERT_EQ(source.kernels.size(), 1u);
  EXPECT_EQ(source.kernels[0].params[0].type, "real");
  EXPECT_EQ(source.kernels[0].params[1].type, "int");
}

TEST(Draft, NamesTheOtherEntries) {
  EXPECT_THAT(Drafted("__global__ void saxpy(float* y) {}\n__global__ void sum(float* y) {}\n"
                      "namespace a { __global__ void last(float* y) {} }\n")
                  .text,
              HasSubstr("may name by entry: sum, a::last"));
}

/// What is said of a source that has no draft.
std::string mistake(const std::string& source, const std::string& name = "saxpy.cu") {
  const TempFolder folder;
  std::string message = message_of<UsageError>([&] { draft_contract(folder.write(name, source)); });
  replace_all(message, folder.path().string() + "/", "");
  return message;
}

// A struct was called what no contract can pass.
TEST(Draft, WhatADraftCannotDescribeHasItsPlace) {
  EXPECT_EQ(mistake("int x;\n"), "saxpy.cu: expected a __global__ function, found none");
  EXPECT_EQ(
      mistake("__global__ void saxpy(float* x,\n                      Params p) {}\n"),
      "saxpy.cu:2:23: expected a pointer, a number, a texture or a CUtensorMap, found Params; "
      "what a struct holds no draft can tell: write the contract by hand, with `struct`\n"
      "                        Params p) {}\n                        ^");
  EXPECT_EQ(mistake("__global__ void saxpy(const float* x) {}\n"),
            "saxpy.cu:1:17: expected a parameter of saxpy that points to what is not const, its "
            "output, found none\n  __global__ void saxpy(const float* x) {}\n                  ^");
  EXPECT_THAT(mistake("", "my-kernel.cu"), HasSubstr("expected a file named by letters"));
}

// No kernel, but no crash either.
TEST(CudaSource, AnythingIsRead) {
  const TempFolder folder;
  const std::string text = kSaxpy;
  for (std::size_t size = 0; size < text.size(); ++size) {
    read_cuda_source(folder.write("x.cu", text.substr(0, size)));
    read_cuda_source(folder.write("x.cu", text.substr(size)));
  }
  for (const char* odd :
       {"#", "#define", "#ifndef\n#define", "template", "template <", "__global__", "__global__ k(",
        "__global__ k(,,", "enum {", "enum {,,}", "}}}", "R\"", "R\"(", "'", "\"\\", "/*",
        "namespace", "extern", "template <,> __global__"}) {
    EXPECT_THAT(read_cuda_source(folder.write("x.cu", odd)).macros, IsEmpty()) << odd;
  }
}

}  // namespace
}  // namespace assay
