// Baselines of several steps: cuBLASLt with its epilogues and of stacks of matrices, cuBLAS's
// grouped product, operations of the harness, kernels of one's own; each right, and wrong once.

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "gpu_fixture.h"
#include "matchers.h"
#include "spec/like.h"

namespace assay {
namespace {

class BaselineTest : public test::TimedTest {
 protected:
  BaselineTest() { folder_.write("work.cu", "extern \"C\" __global__ void work() {}\n"); }

  static constexpr const char* kLaunches =
      "launches: [{grid: [1], block: [32], args: [{dtype: i32, value: 1}]}]\n";

  using TimedTest::failures_of;
  std::map<std::string, std::string> failures_of(const std::string& contract) {
    return failures_of(
        load_kernel(folder_.write("work.yaml", "kernel: work\nop: work\narch: [80]\n" + contract +
                                                   kLaunches + "work: {flops: 0, bytes: 0}\n")));
  }
};

TEST_F(BaselineTest, ProductsHaveEpiloguesAndOperationsFollow) {
  const auto failures = failures_of(
      "dims: [M, N, K]\nargs:\n"
      "  - {name: A, dtype: bf16, shape: [M, K], role: in}\n"
      "  - {name: B, dtype: bf16, shape: [N, K], role: in, fill: {name: normal, std: 1 / "
      "sqrt(K)}}\n"
      "  - {name: v, dtype: bf16, shape: [N], role: in}\n"
      "  - {name: C, dtype: bf16, shape: [M, N], role: out}\n"
      "reference:\n"
      "  - gemm: {a: A, b: B, transpose_b: true, out: X}\n"
      "  - bias: {x: X, bias: v, out: Y}\n"
      "  - gelu: {x: Y, tanh: true, out: C}\n"
      "baseline:\n"
      "  - fused: [{cublaslt: {a: A, b: B, transpose_b: true, bias: v, gelu: true, out: C}}]\n"
      "  - chain:\n"
      "      - cublaslt: {a: A, b: B, transpose_b: true, out: X}\n"
      "      - bias: {x: X, bias: v, out: Y}\n"
      "      - gelu: {x: Y, tanh: true, out: C}\n"
      "  - other: [{cublaslt: {a: A, b: B, transpose_b: true, bias: v, relu: true, out: C}}]\n"
      "  - unbiased: [{cublaslt: {a: A, b: B, transpose_b: true, gelu: true, out: C}}]\n"
      "smoke: {M: 256, N: 512, K: 384}\n");
  EXPECT_EQ(failures.at("fused"), "");
  EXPECT_EQ(failures.at("chain"), "");
  EXPECT_EQ(failures.at("chain_graph"), "");
  EXPECT_THAT(failures.at("other"), HasSubstr("C["));
  EXPECT_THAT(failures.at("unbiased"), HasSubstr("C["));
  EXPECT_FALSE(failures.contains("fused_graph"));
  EXPECT_THAT(details_.at("chain"), HasSubstr("bias"));
}

TEST_F(BaselineTest, ProductsMayBeOfStacks) {
  folder_.write("ref.cu",
                "#include <cuda_fp16.h>\n"
                "extern \"C\" __global__ void ref(const __half* a, const __half* b, float* c) {\n"
                "  const int i = blockIdx.x, j = threadIdx.x, s = blockIdx.y;\n"
                "  float sum = 0;\n"
                "  for (int k = 0; k < 64; ++k)\n"
                "    sum += __half2float(a[(s * 64 + i) * 64 + k]) * "
                "__half2float(b[(s * 64 + j) * 64 + k]);\n"
                "  c[(s * 64 + i) * 64 + j] = sum;\n}\n");
  const auto failures = failures_of(
      "dims: [STACKS]\nargs:\n"
      "  - {name: A, dtype: f16, shape: [STACKS, 64, 64], role: in}\n"
      "  - {name: B, dtype: f16, shape: [STACKS, 64, 64], role: in}\n"
      "  - {name: C, dtype: f16, shape: [STACKS, 64, 64], role: out}\n"
      "reference:\n"
      "  - kernel: {source: ref.cu, entry: ref, args: [A, B, {name: C, dtype: f32}],\n"
      "             grid: [64, STACKS], block: [64], sum_length: 64}\n"
      "baseline:\n"
      "  - stacks: [{cublaslt: {a: A, b: B, transpose_b: true, out: C}}]\n"
      "  - other: [{cublaslt: {a: A, b: B, out: C}}]\n"
      "smoke: {STACKS: 7}\n");
  EXPECT_EQ(failures.at("stacks"), "");
  EXPECT_THAT(failures.at("other"), HasSubstr("C["));
}

TEST_F(BaselineTest, ProductsMayBeOfGroups) {
  const auto failures = failures_of(
      "dims: [M, E]\nargs:\n"
      "  - {name: A, dtype: bf16, shape: [M, 128], role: in}\n"
      "  - {name: B, dtype: bf16, shape: [E, 128, 128], role: in}\n"
      "  - {name: starts, dtype: i32, shape: [E + 1], role: in,\n"
      "     fill: {name: row_starts, nonzeros: M}}\n"
      "  - {name: C, dtype: bf16, shape: [M, 128], role: out}\n"
      "reference: [{grouped_gemm: {a: A, b: B, starts: starts, transpose_b: true, out: C}}]\n"
      "baseline:\n"
      "  - groups: [{grouped_gemm: {a: A, b: B, starts: starts, transpose_b: true, out: C}}]\n"
      "  - apart:\n"
      "      - grouped_gemm: {a: A, b: B, starts: starts, transpose_b: true, cublaslt: true, out: "
      "C}\n"
      "  - other: [{grouped_gemm: {a: A, b: B, starts: starts, out: C}}]\n"
      "smoke: {M: 1000, E: 8}\n");
  EXPECT_EQ(failures.at("groups"), "");
  EXPECT_EQ(failures.at("apart"), "");
  EXPECT_THAT(details_.at("apart"), HasSubstr("products by cuBLASLt"));
  EXPECT_THAT(failures.at("other"), HasSubstr("C["));
}

TEST_F(BaselineTest, ProductsOfGroupsMayHaveScales) {
  if (runner_->info().cc != 90) GTEST_SKIP() << "cuBLASLt has these on Hopper alone";
  const std::string step =
      "grouped_scaled_gemm: {a: A, a_scales: A_scales, b: B, starts: starts, out: C, "
      "transpose_a_scales: true, b_scales: ";
  const auto failures = failures_of(
      "dims: [M, E]\nargs:\n"
      "  - {name: X, dtype: bf16, shape: [M, 512], role: in}\n"
      "  - {name: A, dtype: e4m3, shape: [M, 512], role: in,\n"
      "     fill: {quantise: {of: X, block: [1, 128]}}}\n"
      "  - {name: A_scales, dtype: f32, shape: [4, 4 * cdiv(M, 4)], role: in,\n"
      "     fill: {scales: {of: A, transpose: true}}}\n"
      "  - {name: B, dtype: e4m3, shape: [E, 256, 512], role: in}\n"
      "  - {name: B_scales, dtype: f32, shape: [E, 2, 4], role: in,\n"
      "     fill: {name: uniform, low: 0.001, high: 0.005}}\n"
      "  - {name: others, dtype: f32, shape: [E, 2, 4], role: in,\n"
      "     fill: {name: uniform, low: 0.001, high: 0.005}}\n"
      "  - {name: starts, dtype: i32, shape: [E + 1], role: in,\n"
      "     fill: {name: row_starts, nonzeros: M}}\n"
      "  - {name: C, dtype: bf16, shape: [M, 256], role: out}\n"
      "reference: [{" +
      step +
      "B_scales}}]\n"
      "baseline:\n  - groups: [{" +
      step + "B_scales}}]\n  - other: [{" + step +
      "others}}]\n"
      "smoke: {M: 1001, E: 8}\n");
  EXPECT_EQ(failures.at("groups"), "");
  EXPECT_EQ(failures.at("groups_graph"), "");  // so many launches take less time in a graph
  EXPECT_THAT(details_.at("groups"), HasSubstr("products by cuBLASLt"));
  EXPECT_THAT(failures.at("other"), HasSubstr("C["));
}

TEST_F(BaselineTest, ASparseProductIsThatOfCusparse) {
  const auto failures = failures_of(
      "dims: [M, N]\nargs:\n"
      "  - {name: starts, dtype: i32, shape: [M + 1], role: in,\n"
      "     fill: {name: row_starts, nonzeros: 9 * M, skew: 0.5}}\n"
      "  - {name: columns, dtype: i32, shape: [9 * M], role: in,\n"
      "     fill: {name: uniform, low: 0, high: N}}\n"
      "  - {name: values, dtype: f32, shape: [9 * M], role: in}\n"
      "  - {name: others, dtype: f32, shape: [9 * M], role: in}\n"
      "  - {name: x, dtype: f32, shape: [N], role: in}\n"
      "  - {name: out, dtype: f32, shape: [M], role: out}\n"
      "reference: [{spmv: {starts: starts, columns: columns, values: values, x: x, out: out}}]\n"
      "baseline:\n"
      "  - sparse: [{spmv: {starts: starts, columns: columns, values: values, x: x, out: out}}]\n"
      "  - other: [{spmv: {starts: starts, columns: columns, values: others, x: x, out: out}}]\n"
      "smoke: {M: 5003, N: 3001}\n");
  EXPECT_EQ(failures.at("sparse"), "");
  EXPECT_THAT(details_.at("sparse"), HasSubstr("cuSPARSE, algorithm "));
  EXPECT_THAT(failures.at("other"), HasSubstr("out["));
}

TEST_F(BaselineTest, StepsMayBeKernelsOfOnesOwn) {
  folder_.write("own.cu",
                "extern \"C\" __global__ void twice(const float* x, float* y) {\n"
                "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n"
                "  if (i < N) y[i] = 2 * x[i] + MISTAKE;\n}\n");
  const auto steps = [](const std::string& mistake) {
    return "      - kernel: {source: own.cu, entry: twice, args: [x, {name: y, shape: [N]}],\n"
           "                 grid: [cdiv(N, 64)], block: [64], define: {BLOCK: 64, MISTAKE: " +
           mistake + "}}\n      - add: {a: x, b: y, out: out}\n";
  };
  const auto failures = failures_of(
      "dims: [N]\nargs:\n"
      "  - {name: x, dtype: f32, shape: [N], role: in}\n"
      "  - {name: out, dtype: f32, shape: [N], role: out}\n"
      "reference: [{add: {a: x, b: x, out: t}}, {add: {a: t, b: x, out: out}}]\n"
      "baseline:\n  - own:\n" +
      steps("0") + "  - other:\n" + steps("1") + "smoke: {N: 100003}\n");
  EXPECT_EQ(failures.at("own"), "");
  EXPECT_EQ(failures.at("own_graph"), "");
  EXPECT_THAT(failures.at("other"), HasSubstr("out["));
  EXPECT_FALSE(failures.contains("other_graph"));
}

/// The ops that are shipped with baselines.
std::vector<std::string> ops_with_baselines() {
  std::vector<std::string> names;
  for (const auto& file :
       std::filesystem::directory_iterator(test::source_folder() / "kernels/ops")) {
    if (file.path().extension() != ".yaml") continue;
    if (read_file(file.path()).find("\nbaseline:") == std::string::npos) continue;
    names.push_back(file.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// What a kernel of the op writes to have the op's sizes as scalars, as its baselines may ask for.
std::string sizes_of_op(const std::string& op) {
  std::string args, let;
  const auto add = [&](const std::string& name) {
    const bool has_it = op.find("{name: " + name + ",") != std::string::npos ||
                        op.find("\n  - " + name + "\n") != std::string::npos;
    if (!has_it) args += (args.empty() ? "" : ", ") + name;
  };
  const std::size_t begin = op.find("\ndims: [") + 8;
  std::istringstream dims(op.substr(begin, op.find(']', begin) - begin));
  for (std::string name; std::getline(dims >> std::ws, name, ',');) add(name);
  std::istringstream lines(op.substr(std::min(op.find("\nlet:\n"), op.size() - 6) + 6));
  for (std::string line; std::getline(lines, line) && line.starts_with("  ");) {
    const std::string name = line.substr(2, line.find(':') - 2);
    let += "  " + name + ":\n";
    add(name);
  }
  return (let.empty() ? "" : "let:\n" + let) + (args.empty() ? "" : "args: [" + args + "]\n");
}

class ShippedBaselines : public BaselineTest, public testing::WithParamInterface<std::string> {};

// The baselines of MoE layers had not counted for a day, and nothing but a warning said so.
TEST_P(ShippedBaselines, Count) {
  for (const char* name : {"ops", "plain", "naive", "examples"}) {
    std::filesystem::create_symlink(test::source_folder() / "kernels" / name,
                                    folder_.path() / name);
  }
  const auto op_path = folder_.path() / "ops" / (GetParam() + ".yaml");
  const auto base_path = file_it_is_like(op_path);
  const std::string op = read_file(op_path) + (base_path.empty() ? "" : read_file(base_path));
  const KernelSpec kernel =
      load_kernel(folder_.write("work.yaml", "kernel: work\n" + op.substr(0, op.find('\n')) +
                                                 "\narch: [80]\n" + sizes_of_op(op) + kLaunches));
  for (const auto& [name, failure] : failures_of(kernel)) EXPECT_EQ(failure, "") << name;
}

INSTANTIATE_TEST_SUITE_P(, ShippedBaselines, testing::ValuesIn(ops_with_baselines()));

}  // namespace
}  // namespace assay
