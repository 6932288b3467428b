// `assay sweep`, `profile` and `explain` of kernels that were each built to have one bottleneck:
// explain's first sentence names it.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/tool.h"
#include "gpu_fixture.h"
#include "matchers.h"

namespace assay {
namespace {

struct BottleneckCase {
  std::string name;
  testing::Matcher<std::string> sentence;  // explain's first
  // Of the contract. GRID and BLOCK are the launch's.
  std::string input;
  std::string grid, block;
  std::string body;  // of the kernel. i is the thread of the grid.
  std::string work = "{flops: 0, bytes: 8 * GRID * BLOCK}";
  std::string out = "[GRID * BLOCK]";
  std::string smem = "0";
  std::string reference = {};  // the body of a kernel; empty: the kernel itself
};

std::ostream& operator<<(std::ostream& stream, const BottleneckCase& each) {
  return stream << each.name;
}

/// Of as many elements, each between 0.25 and 0.5.
std::string floats(const std::string& count, const std::string& dtype = "f32") {
  return "{name: x, dtype: " + dtype + ", shape: [" + count +
         "], role: in, fill: {name: uniform, low: 0.25, high: 0.5}}";
}
const std::string kOnePerThread = floats("GRID * BLOCK");

const std::string kSms = "device.sm_count";
const std::string kHalfOfShared = "2 * device.smem_optin_bytes / 3";

/// Sums that wait for nothing but themselves.
std::string multiply_adds(int chains, int turns) {
  return "constexpr int kChains = " + std::to_string(chains) +
         ", kTurns = " + std::to_string(turns) + ";" + R"(
    const float c = x[i];
    float a[kChains], sum = 0;
    for (int j = 0; j < kChains; ++j) a[j] = c + j;
    #pragma unroll 8
    for (int k = 0; k < kTurns; ++k) {
      for (int j = 0; j < kChains; ++j) a[j] = a[j] * c + 0.5f;
    }
    for (int j = 0; j < kChains; ++j) sum += a[j];
    out[i] = sum;)";
}
const std::string kWorkOfMultiplyAdds =
    "{flops: GRID * BLOCK * 8 * 8192 * 2, bytes: 8 * GRID * BLOCK}";

std::vector<BottleneckCase> bottlenecks() {
  std::vector<BottleneckCase> all;
  all.push_back({"stream", StartsWith("memory-bound: "), floats("67108864"), "65536", "256", R"(
    float4 v = ((const float4*)x)[i];
    v.x *= 2; v.y *= 2; v.z *= 2; v.w *= 2;
    ((float4*)out)[i] = v;)"});
  all.back().work = "{flops: 67108864, bytes: 8 * 67108864}";
  all.back().out = "[67108864]";

  // 16 MB are read 64 times, in an order that no L1 could keep.
  all.push_back({"from_l2", StartsWith("L2-bound: "), floats("4194304"), "4096", "256", R"(
    float4 sum = {0, 0, 0, 0};
    #pragma unroll 8
    for (int r = 0; r < 64; ++r) {
      const float4 v = ((const float4*)x)[(i + r * 16448) & 1048575];
      sum.x += v.x; sum.y += v.y; sum.z += v.z; sum.w += v.w;
    }
    out[i] = sum.x + sum.y + sum.z + sum.w;)"});
  all.back().work = "{flops: 64 * 4194304, bytes: 5 * 4194304}";

  // A read of 4 bytes brings 32, and nobody uses the rest.
  all.push_back(
      {"uncoalesced",
       AllOf(StartsWith("memory-bound, by more than must be moved: "), HasSubstr("strided access")),
       floats("134217728"), "65536", "256", "out[i] = x[i * 8];"});

  all.push_back({"bank_conflicts",
                 AllOf(StartsWith("bound by shared memory: "), HasSubstr("bank conflicts")),
                 kOnePerThread, "4 * " + kSms, "256", R"(
    __shared__ float s[32 * 256];
    for (int j = 0; j < 32; ++j) s[threadIdx.x + j * 256] = x[i] + j;
    __syncthreads();
    float sum = 0;
    #pragma unroll 4
    for (int k = 0; k < 1024; ++k) {
      sum += s[threadIdx.x * 32 + ((k * 5) & 31)];
    }
    out[i] = sum;)"});

  all.push_back(
      {"chain_of_loads", AllOf(StartsWith("latency-bound: "), HasSubstr("dependent loads")),
       "{name: x, dtype: i32, shape: [33554432], role: in, fill: permutation}", kSms, "32",
       R"(
    int j = i * 97;
    #pragma unroll 1
    for (int k = 0; k < 1000; ++k) j = x[j];
    out[i] = (float)(j & 65535);)"});

  all.push_back({"multiply_adds", StartsWith("compute-bound: "), kOnePerThread, "8 * " + kSms,
                 "256", multiply_adds(8, 8192), kWorkOfMultiplyAdds});

  all.push_back(
      {"tensor", StartsWith("tensor-bound: "), floats("4096", "bf16"), "4 * " + kSms, "256", R"(
    const unsigned* a = (const unsigned*)x + (threadIdx.x & 31) * 4;
    const unsigned a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], b0 = a[512], b1 = a[513];
    float c[8][4] = {};
    for (int k = 0; k < 2048; ++k) {
      #pragma unroll
      for (int j = 0; j < 8; ++j) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
      }
    }
    #pragma unroll
    for (int j = 0; j < 32; ++j) out[i * 32 + j] = c[j / 4][j % 4];)"});
  all.back().work = "{flops: GRID * 8 * 8 * 2048 * 4096, bytes: 128 * GRID * BLOCK}";
  all.back().out = "[GRID * BLOCK * 32]";

  all.push_back({"special_functions", StartsWith("bound by special functions: "), kOnePerThread,
                 "8 * " + kSms, "256", R"(
    float a[4] = {x[i], x[i] + 1, x[i] + 2, x[i] + 3};
    #pragma unroll 4
    for (int k = 0; k < 2048; ++k) {
      for (int j = 0; j < 4; ++j) {
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(a[j]) : "f"(-a[j]));
      }
    }
    out[i] = a[0] + a[1] + a[2] + a[3];)"});

  all.push_back({"integers", StartsWith("bound by integers and logic: "), kOnePerThread,
                 "8 * " + kSms, "256", R"(
    const unsigned seed = __float_as_uint(x[i]);
    unsigned a[4] = {seed, seed + 1, seed + 2, seed + 3};
    #pragma unroll 4
    for (int k = 0; k < 4096; ++k) {
      for (int j = 0; j < 4; ++j) a[j] = __funnelshift_l(a[j], a[j], 5) ^ seed;
    }
    out[i] = (float)((a[0] ^ a[1] ^ a[2] ^ a[3]) & 65535);)"});

  all.push_back(
      {"tiny", StartsWith("launch-bound: "), kOnePerThread, "1", "32", "out[i] = x[i] + 1;"});

  // A block fills an SM, and there is one block more than there are SMs.
  all.push_back({"one_block_too_many", StartsWith("unevenly filled: "), kOnePerThread,
                 kSms + " + 1", "1024", multiply_adds(8, 8192), kWorkOfMultiplyAdds});
  all.back().smem = kHalfOfShared;

  all.push_back({"half_of_the_sms", StartsWith("too few blocks: "), kOnePerThread, kSms + " / 2",
                 "1024", multiply_adds(8, 8192), kWorkOfMultiplyAdds});

  all.push_back({"atomics", StartsWith("bound by atomics: "), kOnePerThread, "8 * " + kSms, "256",
                 R"(
    for (int k = 0; k < 8; ++k) atomicAdd(&out[k & 1], x[i] > 1 ? 2.0f : 1.0f);)"});
  all.back().out = "[32], init: zero";
  all.back().reference = "if (i < 32) out[i] = i < 2 ? 4.0f * gridDim.x * blockDim.x : 0.0f;";

  // One load is under way at a time, in two warps of an SM.
  all.push_back({"few_warps", AllOf(StartsWith("latency-bound: "), HasSubstr("low occupancy")),
                 floats("4000 * 64 * device.sm_count"), kSms, "64", R"(
    float sum = 0;
    #pragma unroll 1
    for (int k = 0; k < 4000; ++k) sum += x[i + k * gridDim.x * 64];
    out[i] = sum;)"});
  all.back().work = "{flops: 4000 * GRID * BLOCK, bytes: 4 * 4000 * GRID * BLOCK}";
  all.back().smem = kHalfOfShared;

  // With 1024 threads, two blocks of which are to fit, a thread has 32 registers.
  all.push_back({"spills", HasSubstr("spills"), kOnePerThread, "2 * " + kSms, "1024", R"(
    float a[64];
    #pragma unroll
    for (int j = 0; j < 64; ++j) a[j] = x[i] + j;
    const float c = x[i];
    #pragma unroll 1
    for (int k = 0; k < 256; ++k) {
      #pragma unroll
      for (int j = 0; j < 64; ++j) a[j] = (a[j] * c + a[(j * 7 + 1) & 63]) * 0.5f + 0.25f;
    }
    float sum = 0;
    #pragma unroll
    for (int j = 0; j < 64; ++j) sum += a[j];
    out[i] = sum;)"});

  // The warps take turns to compute, while all others wait.
  all.push_back({"barriers", StartsWith("bound by barriers: "), kOnePerThread, "2 * " + kSms,
                 "1024",
                 R"(
    float a = x[i];
    for (int k = 0; k < 1000; ++k) {
      if ((threadIdx.x >> 5) == (k & 31)) {
        #pragma unroll
        for (int j = 0; j < 64; ++j) a = a * 0.5f + 0.25f;
      }
      __syncthreads();
    }
    out[i] = a;)"});

  // Each instruction needs the one before, and each part of an SM has one warp. It lasts 180 us: of
  // 46 us a launch that does nothing, of 3 to 5 us, was a tenth, and nothing bound the rest.
  all.push_back({"chain_of_sums", StartsWith("bound by dependent instructions: "), kOnePerThread,
                 kSms, "128", multiply_adds(1, 65536)});
  return all;
}

/// Puts the launch's size where a text of the contract names it.
std::string filled(std::string text, const BottleneckCase& each) {
  for (const auto& [word, value] :
       {std::pair{std::string("GRID"), each.grid}, std::pair{std::string("BLOCK"), each.block}}) {
    for (std::size_t at; (at = text.find(word)) != std::string::npos;) {
      text.replace(at, word.size(), "(" + value + ")");
    }
  }
  return text;
}

/// Writes a sweep of all of them, as `assay sweep` wants it.
void write_kernels(const TempFolder& folder) {
  std::string sweep =
      "sweep: bottlenecks\nproblems: [{N: 1}]\nmeasure: {max_seconds_per_config: 0.5}\n"
      "rerank: {top: 1, rounds: 6}\nkernels:\n";
  for (const BottleneckCase& each : bottlenecks()) {
    const bool is_float = each.input.find("i32") == std::string::npos;
    const bool is_half = each.input.find("bf16") != std::string::npos;
    const auto source = [&](const std::string& body, const std::string& bounds) {
      return "extern \"C\" __global__ void " + bounds + each.name + "(const " +
             (is_half    ? "unsigned short"
              : is_float ? "float"
                         : "int") +
             "* x, float* out) {\n    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n    " +
             body + "\n}\n";
    };
    const std::string bounds = each.name == "spills" ? "__launch_bounds__(1024, 2) "
                                                     : "__launch_bounds__(" + each.block + ") ";
    folder.write("kernels/" + each.name + ".cu", source(each.body, bounds));
    const std::string reference = each.name + "_reference.cu";
    folder.write("kernels/" + reference,
                 source(each.reference.empty() ? each.body : each.reference, bounds));
    folder.write(
        "kernels/" + each.name + ".yaml",
        filled("kernel: " + each.name + "\nop: " + each.name +
                   "\nsummary: has one bottleneck\narch: [80, 86, 89, 90]\ndims: [N]\n"
                   "params: {ONE: [1]}\nargs:\n  - " +
                   each.input + "\n  - {name: out, dtype: f32, role: out, shape: " + each.out +
                   "}\nlaunches: [{grid: [GRID], block: [BLOCK], smem_bytes: " + each.smem +
                   "}]\nwork: " + each.work + "\nreference: [{kernel: {source: " + reference +
                   ", entry: " + each.name + ", args: [x, out], grid: [GRID], block: [BLOCK]}}]\n" +
                   "smoke: {N: 1}\n",
               each));
    sweep += "  - " + each.name + "\n";
  }
  folder.write("sweeps/bottlenecks.yaml", sweep);
}

class Bottlenecks : public test::GpuTest, public testing::WithParamInterface<BottleneckCase> {
 protected:
  void SetUp() override {
    if (test::needs_a_gpu("times")) return;
    GpuTest::SetUp();
    if (!IsSkipped() && !folder_) sweep();
  }
  static void TearDownTestSuite() { folder_.reset(); }

  /// All kernels at once, ahead of the first test.
  static void sweep() {
    folder_ = std::make_unique<TempFolder>();
    write_kernels(*folder_);
    const std::string output = assay("sweep sweeps/bottlenecks.yaml --db x.db");
    const auto trials = nlohmann::json::parse(assay("show --times --json --limit 100 --db x.db"));
    for (const auto& trial : trials.at("trials")) {
      ids_[trial.at("kernel")] = std::to_string(trial.at("trial").get<int>());
    }
    if (ids_.size() < bottlenecks().size()) {
      printf("%s%s%s\n", output.c_str(), assay("show --failures --db x.db").c_str(),
             read_file(*folder_ / "errors").c_str());
    }
  }

  /// What it prints to stdout. What it says beside goes into a file.
  static std::string assay(const std::string& words) {
    return run_tool("/bin/sh",
                    {"-c", "cd '" + folder_->path().string() + "' && '" +
                               test::worker_program().string() + "' " + words + " 2>>errors"},
                    600, std::size_t{1} << 24)
        .output;
  }

  static inline std::unique_ptr<TempFolder> folder_;
  static inline std::map<std::string, std::string> ids_;  // the trials, by kernel
};

TEST_P(Bottlenecks, AreNamed) {
  ASSERT_TRUE(ids_.contains(GetParam().name)) << "has no correct trial";
  const std::string trial = ids_[GetParam().name] + " --db x.db";
  const std::string counted = assay("profile " + trial);
  const std::string text = assay("explain " + trial);
  printf("%s\n%s\n", text.c_str(), counted.c_str());
  if (text.empty() || counted.empty()) printf("%s\n", read_file(*folder_ / "errors").c_str());
  const auto json = nlohmann::json::parse(assay("explain --json " + trial));
  EXPECT_THAT(json.at("headline").get<std::string>(), GetParam().sentence);
}

INSTANTIATE_TEST_SUITE_P(Of, Bottlenecks, testing::ValuesIn(bottlenecks()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace assay
