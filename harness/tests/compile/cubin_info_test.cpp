#include "base/cubin_info.h"

#include "base/file.h"
#include "compile/nvrtc_compiler.h"
#include "matchers.h"
#include "temp_folder.h"

namespace assay {
namespace {

using testing::Pair;

constexpr char kEntries[] = R"(
__constant__ float filter[81];
__constant__ unsigned char unused[3];
struct Pair { double low, high; };
extern "C" __global__ void none() {}
extern "C" __global__ void some(const float* a, Pair pair, unsigned char c, int unused, float* b) {
  b[threadIdx.x] = a[threadIdx.x] * c + pair.low + pair.high + filter[threadIdx.x];
}
)";

// Only what a kernel can write counts.
constexpr char kVariables[] = R"(
__device__ int counter;
__device__ float table[3] = {1, 2, 3};
static __device__ double hidden[2];
__constant__ float factors[4];
namespace inner { const int sizes[] = {1, 2, 3}; }
extern "C" __global__ void k(float* x, int i) {
  __shared__ float shared[32];
  static __device__ int calls = 7;
  shared[threadIdx.x] = factors[i] + inner::sizes[i];
  __syncthreads();
  hidden[i] += table[i] + atomicAdd(&counter, 1) + calls++;
  x[i] = hidden[1 - i] + shared[i];
}
)";

std::string cubin_of(const std::string& arch, const char* source = kEntries) {
  const TempFolder folder;
  NvrtcCompiler compiler({.cache_directory = folder.path() / "cache"});
  const CompileResult result =
      compiler.submit({folder.write("x.cu", source), {folder.path()}, {}, arch}).get();
  EXPECT_TRUE(result.ok) << result.log;
  return read_file(result.cubin_path);
}

TEST(CubinInfo, KnowsEveryEntryAndTheSizesOfItsParameters) {
  for (const char* arch : {"80", "90a"}) {
    EXPECT_THAT(entries_of(cubin_of(arch)),
                ElementsAre(Pair("none", IsEmpty()), Pair("some", ElementsAre(8, 16, 1, 4, 8))))
        << arch;
  }
}

TEST(CubinInfo, KnowsTheVariablesThatKernelsCanWrite) {
  for (const char* arch : {"80", "90a"}) {
    EXPECT_THAT(variables_of(cubin_of(arch, kVariables)),
                UnorderedElementsAre("counter", "table", HasSubstr("hidden"), HasSubstr("calls"),
                                     HasSubstr("sizes")))
        << arch;
    EXPECT_THAT(variables_of(cubin_of(arch)), IsEmpty()) << arch;
  }
}

std::int64_t bytes_of(const std::string& cubin, std::string_view name) {
  const auto found = find_variable(cubin, name);
  return found ? found->bytes : 0;
}

TEST(CubinInfo, FindsVariablesByTheNamesThatCxxGivesThem) {
  constexpr char kNamed[] = R"(
__constant__ float filter[81];
__constant__ unsigned char unused[3];
__device__ double table[2];
namespace lib { __constant__ float filter[5]; namespace inner { __device__ int counts[7]; } }
extern "C" __global__ void k(float* x) { x[0] = filter[1] + table[1] + lib::filter[2] + lib::inner::counts[3]; }
)";
  for (const char* arch : {"80", "90a"}) {
    const std::string cubin = cubin_of(arch, kNamed);
    EXPECT_EQ(bytes_of(cubin, "filter"), 324) << arch;
    EXPECT_EQ(bytes_of(cubin, "::filter"), 324) << arch;
    EXPECT_EQ(bytes_of(cubin, "unused"), 3) << arch;
    EXPECT_EQ(bytes_of(cubin, "table"), 16) << arch;
    EXPECT_EQ(bytes_of(cubin, "lib::filter"), 20) << arch;
    EXPECT_EQ(bytes_of(cubin, "lib::inner::counts"), 28) << arch;
    EXPECT_EQ(bytes_of(cubin, "counts"), 0) << arch;
    EXPECT_EQ(find_variable(cubin, "lib::filter")->symbol, "_ZN3lib6filterE") << arch;
  }
}

TEST(CubinInfo, KnowsWhatALaunchMayAskFor) {
  constexpr char kLimited[] = R"(
extern "C" __global__ void __launch_bounds__(96, 2) k(float* x) {
  __shared__ float shared[100];
  shared[threadIdx.x] = x[0];
  __syncthreads();
  x[1] = shared[3];
}
)";
  for (const std::string arch : {"75", "80", "90a", "120a"}) {
    const auto limits = kernel_limits_of(cubin_of(arch, kLimited));
    ASSERT_TRUE(limits.contains("k")) << arch;
    EXPECT_EQ(limits.at("k").max_threads, 96) << arch;
    EXPECT_EQ(limits.at("k").smem_section_bytes, (arch == "75" || arch == "80" ? 400 : 1424))
        << arch;
  }
  EXPECT_THAT(kernel_limits_of(""), IsEmpty());
}

// ptxas reports the most registers of any entry. An entry that needs few was said not to fit an SM.
TEST(CubinInfo, KnowsTheRegistersOfEachEntry) {
  constexpr char kTwo[] = R"(
extern "C" __global__ void few(float* x) { x[0] = 0; }
extern "C" __global__ void many(float* x) {
  float v[40];
  for (int i = 0; i < 40; ++i) v[i] = x[i * threadIdx.x];
  __syncthreads();
  for (int i = 0; i < 40; ++i) x[i] = v[39 - i] * v[i];
}
)";
  for (const std::string arch : {"75", "80", "90a", "120a"}) {
    const auto limits = kernel_limits_of(cubin_of(arch, kTwo));
    ASSERT_TRUE(limits.contains("few") && limits.contains("many")) << arch;
    EXPECT_LT(limits.at("few").registers, 20) << arch;
    EXPECT_GE(limits.at("many").registers, 30) << arch;
  }
}

TEST(CubinInfo, NothingIsInWhatIsNoCubin) {
  const std::string cubin = cubin_of("80");
  EXPECT_THAT(entries_of(""), IsEmpty());
  EXPECT_THAT(variables_of(""), IsEmpty());
  EXPECT_THAT(entries_of("\x7f"
                         "ELF"),
              IsEmpty());
  EXPECT_THAT(entries_of(std::string(4096, 'x')), IsEmpty());
  // Wherever it is cut, or a byte of it is another, nothing beyond its end is read.
  for (std::size_t i = 0; i < cubin.size(); i += 7) {
    entries_of(cubin.substr(0, i));
    variables_of(cubin.substr(0, i));
    std::string damaged = cubin;
    damaged[i] = static_cast<char>(~damaged[i]);
    entries_of(damaged);
    variables_of(damaged);
    named_variables_of(damaged);
    constants_of(damaged);
    kernel_limits_of(damaged);
  }
}

}  // namespace
}  // namespace assay
