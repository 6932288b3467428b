#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <regex>
#include <sstream>

#include "base/file.h"
#include "compile/nvrtc.h"
#include "emulator/machine.h"
#include "emulator/tensor_map.h"

// A shipped kernel, compiled by NVRTC and run on the emulator as it is and with faults. Inputs are
// small integers, so that every order of sums gives the same result, to the bit. Right kernels of
// each kind are checked in e2e/emulator_test.sh.

namespace assay::emulator {
namespace {

using Defines = std::vector<std::pair<std::string, std::string>>;

/// PTX of a kernel's source.
std::string compile(const std::string& file, const Defines& defines) {
  const std::string folder = ASSAY_SOURCE_DIR "/kernels";
  Nvrtc::Unit unit;
  unit.name = file;
  unit.text = read_file(folder + "/" + file);
  unit.options = {"--gpu-architecture=compute_90a", "-std=c++17", "-lineinfo", "-I" + folder,
                  "-default-device"};
  for (const auto& [name, value] : defines) unit.options.push_back("-D" + name + "=" + value);
  unit.wants_ptx = true;
  const Nvrtc::Output output = Nvrtc().compile(unit);
  EXPECT_TRUE(output.ok) << output.log;
  return output.ptx;
}

/// Parameters of a launch, laid out as C++ does.
class Arguments {
 public:
  template <class T>
  void add(const T& value, std::size_t align = alignof(T)) {
    bytes_.resize((bytes_.size() + align - 1) / align * align);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

std::uint16_t to_bf16(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}
float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// A product of matrices of small integers: what is multiplied, and the sums.
struct Product {
  int m, n, k;
  std::vector<float> a, b, c;  // a: [m][k], b: [n][k], c: [m][n]

  Product(int rows, int columns, int depth) : m(rows), n(columns), k(depth) {
    std::mt19937 random(7);
    const auto fill = [&](std::vector<float>& values, int count) {
      for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(random() % 3) - 1);
    };
    fill(a, m * k);
    fill(b, n * k);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int x = 0; x < k; ++x) sum += a[at(i, x, k)] * b[at(j, x, k)];
        c.push_back(sum);
      }
    }
  }
  static std::size_t at(int row, int column, int columns) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
           static_cast<std::size_t>(column);
  }
};

template <class T>
std::uint64_t add(Memory& memory, const std::vector<T>& values) {
  const std::uint64_t address = memory.allocate(values.size() * sizeof(T));
  std::memcpy(reinterpret_cast<void*>(address), values.data(), values.size() * sizeof(T));
  return address;
}

std::uint64_t add_bf16(Memory& memory, const std::vector<float>& values) {
  std::vector<std::uint16_t> bits;
  for (const float value : values) bits.push_back(to_bf16(value));
  return add(memory, bits);
}

std::string text_of(const LaunchOutcome& outcome) {
  std::string text;
  for (const LaunchFinding& finding : outcome.findings) text += finding.description() + "\n";
  return text;
}

struct WgmmaCase {
  std::string mode, store, edge;
  int block_m, block_n, block_k, stages, cluster_m, cluster_n;
  bool persistent;
};

struct alignas(64) TensorMapBytes {
  std::byte bytes[128];
};

TensorMapBytes bf16_map(std::uint64_t address, int rows, int columns, int box_rows) {
  CUtensorMap map;
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(columns) * 2};
  const cuuint32_t box[] = {64, static_cast<cuuint32_t>(box_rows)}, steps[] = {1, 1};
  EXPECT_EQ(
      cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,
                             reinterpret_cast<void*>(address), extents, strides, box, steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                             CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      CUDA_SUCCESS);
  return std::bit_cast<TensorMapBytes>(map);
}

std::string wgmma_ptx(const WgmmaCase& with) {
  return compile("gemm_wgmma.cu", {{"SWAP_AB", "0"},
                                   {"MODE", with.mode},
                                   {"BLOCK_M", std::to_string(with.block_m)},
                                   {"BLOCK_N", std::to_string(with.block_n)},
                                   {"BLOCK_K", std::to_string(with.block_k)},
                                   {"STAGES", std::to_string(with.stages)},
                                   {"CLUSTER_M", std::to_string(with.cluster_m)},
                                   {"CLUSTER_N", std::to_string(with.cluster_n)},
                                   {"CLUSTER_K", "1"},
                                   {"SPLIT_K", "1"},
                                   {"PERSISTENT", with.persistent ? "1" : "0"},
                                   {"SCHEDULE", "row"},
                                   {"GROUP_M", "1"},
                                   {"STREAM_K", "0"},
                                   {"OVERLAP", "0"},
                                   {"STORE", with.store},
                                   {"EDGE", with.edge},
                                   {"STREAMED", with.cluster_m == 1 ? "1" : "0"}});
}

/// What is wrong with a run: findings, or a wrong result; empty: nothing.
std::string wrong(const WgmmaCase& with, const std::string& ptx, std::uint64_t seed) {
  const Module module = load(ptx);
  const int cluster = with.cluster_m * with.cluster_n;
  static const Product product(260, 200, 328);
  const int consumers = with.mode == "single" ? 1 : 2;
  const int threads = consumers * 128 + (consumers > 1 ? 128 : 32);
  const int clusters_m =
      (product.m + with.block_m * with.cluster_m - 1) / (with.block_m * with.cluster_m);
  const int clusters_n =
      (product.n + with.block_n * with.cluster_n - 1) / (with.block_n * with.cluster_n);
  const int units = clusters_m * clusters_n;
  const int grid = (with.persistent ? std::min(units, 2) : units) * cluster;
  const int smem = with.stages * (with.block_m + with.block_n) * with.block_k * 2 +
                   consumers * (with.mode == "pingpong" ? 8192 : 16384) + with.stages * 16 + 8;
  Memory memory(std::size_t{64} << 20);
  const std::uint64_t a = add_bf16(memory, product.a), b = add_bf16(memory, product.b);
  const std::uint64_t c = add_bf16(memory, std::vector<float>(product.c.size(), 77));
  Arguments arguments;
  for (const std::uint64_t address : {a, b, c, c}) arguments.add(address);
  arguments.add(bf16_map(a, product.m, product.k, with.block_m / with.cluster_n));
  arguments.add(bf16_map(b, product.n, product.k, with.block_n / with.cluster_m));
  arguments.add(bf16_map(c, product.m, product.n, 16));
  for (const int value : {product.m, product.n, product.k, grid / cluster}) arguments.add(value);
  arguments.add(bf16_map(a, product.m, product.k, product.m % with.block_m));
  arguments.add(bf16_map(b, product.n, product.k, product.n % with.block_n));
  MachineOptions options;
  options.seed = seed;
  options.max_instructions = 50'000'000;
  const LaunchOutcome outcome = run(module, "gemm_wgmma",
                                    {{static_cast<std::uint32_t>(grid), 1, 1},
                                     {static_cast<std::uint32_t>(threads), 1, 1},
                                     {static_cast<std::uint32_t>(cluster), 1, 1},
                                     static_cast<std::size_t>(smem)},
                                    arguments.bytes(), memory, options);
  if (!outcome.ok) return text_of(outcome);
  const auto* const got = reinterpret_cast<const std::uint16_t*>(c);
  for (std::size_t i = 0; i < product.c.size(); ++i) {
    if (from_bf16(got[i]) != from_bf16(to_bf16(product.c[i]))) {
      return "a wrong result at " + std::to_string(i);
    }
  }
  return "";
}

TEST(EmulatedKernels, GemmWgmma) {
  for (const WgmmaCase& with :
       {WgmmaCase{"single", "lanes", "rows", 64, 64, 64, 3, 1, 1, false},
        WgmmaCase{"cooperative", "tma", "rows", 128, 128, 64, 4, 2, 1, true},
        WgmmaCase{"pingpong", "lanes", "whole", 64, 96, 128, 3, 1, 2, true}}) {
    const std::string ptx = wgmma_ptx(with);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) EXPECT_EQ(wrong(with, ptx, seed), "");
  }
}

/// A change of PTX: what lines say, by a regular expression, and what they say instead. `number`
/// chooses one of the lines, from 0.
struct Fault {
  std::string name, from, to;
  int number = -1;
};

std::string with_fault(const std::string& ptx, const Fault& fault, int& num_places) {
  const std::regex from(fault.from);
  std::istringstream lines(ptx);
  std::string result;
  int number = 0;
  for (std::string line; std::getline(lines, line); result += line + "\n") {
    if (!std::regex_search(line, from)) continue;
    if (fault.number >= 0 && fault.number != number++) continue;
    line = std::regex_replace(line, from, fault.to);
    ++num_places;
  }
  return result;
}

void expect_found(const WgmmaCase& with, const std::vector<Fault>& faults) {
  const std::string good = wgmma_ptx(with);
  for (const Fault& fault : faults) {
    int count = 0;
    const std::string ptx = with_fault(good, fault, count);
    EXPECT_GT(count, 0) << fault.name;
    std::string what;
    std::uint64_t seed = 0;
    while (what.empty() && seed < 10) what = wrong(with, ptx, ++seed);
    EXPECT_NE(what, "") << fault.name;
  }
}

TEST(EmulatedKernels, FaultsInGemmWgmmaAreFound) {
  const std::string try_wait = "(mbarrier.try_wait.*, )(%r[0-9]+);";
  const std::string other_phase = ".reg .b32 other;\nxor.b32 other, $2, 1;\n$1other;";
  const std::vector<Fault> faults{
      {"no wait for products", "wgmma.wait_group.sync.aligned 1;", ";"},
      {"no last wait for products", "wgmma.wait_group.sync.aligned 0;", ";"},
      {"a wait for one group fewer", "wgmma.wait_group.sync.aligned 1;",
       "wgmma.wait_group.sync.aligned 2;"},
      {"no commit", "wgmma.commit_group.sync.aligned;", ";"},
      {"no wgmma.fence", "wgmma.fence.sync.aligned;", ";"},
      {"no proxy fence", "fence.proxy.async.shared::cta;", ";"},
      {"no wait for the store's reads", "cp.async.bulk.wait_group.read 1;", ";"},
      {"no wait for the last stores' reads", "cp.async.bulk.wait_group.read 0;", ";"},
      {"no arrival at the empty barrier", "mbarrier.arrive.shared::cluster.b64", "//"},
      {"no swizzle", "4611686293305294848", "65536"},
      {"no wait at the cluster's barrier", "barrier.cluster.wait.acquire.aligned;", ";"},
      {"no fence behind mbarrier.init", "fence.mbarrier_init.release.cluster;", ";"},
      {"too few bytes expected", ", 32768;", ", 16384;"},
      {"too many bytes expected", ", 32768;", ", 49152;"},
      {"no bytes expected", "\\.expect_tx(.*), %r[0-9]+;", "$1;"},
      {"the producer's phase off by one", try_wait, other_phase, 0},
      {"the consumers' phase off by one", try_wait, other_phase, 1},
      {"a producer that does not wait", try_wait, "setp.eq.u32 done, 0, 0;", 0},
      {"consumers that do not wait", try_wait, "setp.eq.u32 done, 0, 0;", 1},
      {"a look ahead that always says yes", "mbarrier.test_wait.*", "setp.eq.u32 done, 0, 0;"},
      {"a last stage that is not let go of", "mbarrier.arrive.shared::cluster.*", ";", 1},
      {"a stage let go of by one of its readers", "(mbarrier.init.*), %r[0-9]+;", "$1, 1;", 1},
      {"another stride of a descriptor", "4611686293305294848", "4611686155866341376", 1},
      {"a slice for one block of two", "\\.multicast::cluster(.*), %rs[0-9]+;", "$1;"},
      {"rows and columns of a box changed", "(multicast.*\\{)(%r[0-9]+), (%r[0-9]+)", "$1$3, $2"},
  };
  expect_found({"cooperative", "tma", "whole", 128, 128, 64, 3, 2, 1, true}, faults);
  expect_found({"pingpong", "lanes", "whole", 64, 96, 64, 3, 1, 1, true},
               {{"no turns", "bar.(sync|arrive) %r[0-9]+, %r[0-9]+;", ";"}});
}

}  // namespace
}  // namespace assay::emulator
