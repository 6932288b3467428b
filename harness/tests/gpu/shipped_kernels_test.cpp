// The kernels that are shipped, and those that show what else their main loop can do, a few
// configurations of each drawn at random, on sizes that no tile divides. Checked without being
// timed, so that compute-sanitizer can watch:
//
//   compute-sanitizer --tool racecheck build/gpu_test --gtest_filter='*ShippedKernels*'
//
// memcheck knows less of a module's memory than the judge hashes, and reports that; `assay verify`
// has it watch a launch alone. --gtest_random_seed=N draws others.
#include <gtest/gtest.h>

#include <future>
#include <random>

#include "base/file.h"
#include "cuda/device_query.h"
#include "cuda/handles.h"
#include "gpu_fixture.h"
#include "space/space.h"
#include "spec/like.h"
#include "spec/twins.h"
#include "worker/prepared_trial.h"
#include "worker/worker_state.h"

namespace assay {
namespace {

/// How many configurations of a kernel are tried on a problem.
std::size_t num_drawn() { return test::is_emulated() ? 1 : 12; }

struct ShippedCase {
  std::string kernel;
  Problem problem;
};

std::string name_of(const ShippedCase& one) {
  std::string name = one.kernel;
  for (const auto& [dim, size] : one.problem) name += "_" + dim + to_text(size);
  for (char& c : name) {
    if (c == '.' || c == '/') c = '_';  // of a trait or a folder; no test's name has them
  }
  return name;
}

void PrintTo(const ShippedCase& one, std::ostream* out) { *out << name_of(one); }

/// These kernels, which compute with bf16, each with its twin in f16.
std::vector<std::string> with_f16(const std::vector<std::string>& kernels) {
  std::vector<std::string> all;
  for (const std::string& kernel : kernels) all.insert(all.end(), {kernel, kernel + "_f16"});
  return all;
}

std::vector<ShippedCase> shipped_cases() {
  std::vector<ShippedCase> cases;
  const Problem ragged[] = {{{"M", 1000}, {"N", 1096}, {"K", 328}},
                            {{"M", 600}, {"N", 1001}, {"K", 776}},
                            {{"M", 50}, {"N", 2100}, {"K", 1304}}};
  for (const std::string& kernel : with_f16(
           {"gemm_wgmma", "gemm_mma", "gated_up", "gated_mma", "ln_linear_gelu", "rms_linear_gelu",
            "ln_linear_gelu_mma", "rms_linear_gelu_mma", "ln_linear", "ln_linear_erf"})) {
    for (const Problem& problem : ragged) cases.push_back({kernel, problem});
  }
  // Rows of N elements are multiples of 16 bytes, too.
  for (const std::string& kernel : with_f16({"gated_mlp", "gated_mlp_mma", "gemm_nn_wgmma",
                                             "gemm_tn_wgmma", "gemm_nn_mma", "gemm_tn_mma"})) {
    cases.push_back({kernel, {{"M", 1000}, {"N", 1096}, {"K", 328}}});
    cases.push_back({kernel, {{"M", 600}, {"N", 1000}, {"K", 776}}});
    cases.push_back({kernel, {{"M", 56}, {"N", 2104}, {"K", 1304}}});
  }
  for (const std::string& kernel : with_f16({"batched_gemm_mma"})) {
    cases.push_back({kernel, {{"B", 5}, {"M", 150}, {"N", 210}, {"K", 328}}});
    cases.push_back({kernel, {{"B", 2}, {"M", 50}, {"N", 201}, {"K", 77}}});
  }
  // Floats: K is a multiple of 4, N is even.
  for (const char* kernel : {"ln_linear_gelu_f32", "ln_linear_gelu_tf32"}) {
    cases.push_back({kernel, {{"M", 1000}, {"N", 1096}, {"K", 324}}});
    cases.push_back({kernel, {{"M", 600}, {"N", 1002}, {"K", 776}}});
    cases.push_back({kernel, {{"M", 50}, {"N", 2100}, {"K", 1300}}});
    cases.push_back({kernel, {{"M", 1}, {"N", 2100}, {"K", 1300}}});
  }
  // Bytes: K is a multiple of 16.
  cases.push_back({"gemm_fp8", {{"M", 1000}, {"N", 1096}, {"K", 336}}});
  cases.push_back({"gemm_fp8", {{"M", 600}, {"N", 1001}, {"K", 784}}});
  cases.push_back({"gemm_fp8", {{"M", 50}, {"N", 2100}, {"K", 1312}}});
  cases.push_back({"gemv_bf16", {{"M", 5}, {"N", 2101}, {"K", 1304}}});
  // Experts that nobody chose, one token, all tokens on one expert, every expert, many experts of
  // which a few are popular.
  const auto routed = [](int m, int n, int k, int experts, int top, int hit, double skew) {
    return Problem{{"M", m},     {"N", n},     {"K", k},      {"E", experts},
                   {"TOP", top}, {"HIT", hit}, {"skew", skew}};
  };
  for (const std::string& kernel : with_f16({"moe_wgmma", "moe_up_swiglu", "moe_down", "moe_layer",
                                             "moe_mma", "moe_up_swiglu_mma", "moe_down_mma"})) {
    cases.push_back({kernel, routed(53, 392, 456, 13, 3, 11, 0)});
    cases.push_back({kernel, routed(1, 1000, 776, 5, 2, 2, 0)});
    cases.push_back({kernel, routed(301, 520, 328, 7, 1, 1, 0)});
    cases.push_back({kernel, routed(600, 1096, 328, 6, 6, 6, 0)});
    cases.push_back({kernel, routed(77, 264, 520, 200, 8, 190, 1)});
  }
  // An odd N, which the others do not take.
  for (const char* kernel : {"moe_wgmma", "moe_up_swiglu", "moe_atomics", "moe_atomics_f16"}) {
    cases.push_back({kernel, routed(9, 1001, 776, 5, 2, 4, 0)});
  }
  for (const char* kernel : {"moe_fp8", "moe_down_fp8"}) {
    cases.push_back({kernel, routed(53, 392, 784, 13, 3, 11, 0)});
    cases.push_back({kernel, routed(1, 1000, 784, 5, 2, 2, 0)});
    cases.push_back({kernel, routed(301, 520, 336, 7, 1, 1, 0)});
    cases.push_back({kernel, routed(600, 1096, 336, 6, 6, 6, 0)});
    cases.push_back({kernel, routed(77, 264, 528, 200, 8, 190, 1)});
  }
  // N is a multiple of 128.
  cases.push_back({"moe_up_swiglu_fp8", routed(53, 384, 784, 13, 3, 11, 0)});
  cases.push_back({"moe_up_swiglu_fp8", routed(1, 1024, 784, 5, 2, 2, 0)});
  cases.push_back({"moe_up_swiglu_fp8", routed(301, 512, 336, 7, 1, 1, 0)});
  cases.push_back({"moe_up_swiglu_fp8", routed(77, 256, 528, 200, 8, 190, 1)});
  for (const std::string& kernel : with_f16({"moe_gemv"})) {
    cases.push_back({kernel, routed(1, 1001, 776, 5, 2, 2, 0)});
    cases.push_back({kernel, routed(1, 264, 2056, 200, 8, 8, 0)});
    cases.push_back({kernel, routed(2, 1000, 4096, 8, 2, 3, 0)});
    cases.push_back({kernel, routed(4, 264, 1304, 3, 1, 1, 0)});
    cases.push_back({kernel, routed(4, 395, 520, 200, 8, 20, 1)});
  }
  for (const char* kernel : {"quantise_f8", "swiglu_f8"}) {
    cases.push_back({kernel, {{"M", 517}, {"K", 1416}}});
    cases.push_back({kernel, {{"M", 1}, {"K", 7168}}});
    cases.push_back({kernel, {{"M", 66}, {"K", 8}}});
  }
  cases.push_back({"moe_route", {{"M", 53}, {"E", 13}, {"TOP", 3}, {"HIT", 11}, {"skew", 0}}});
  cases.push_back({"moe_route", {{"M", 1500}, {"E", 200}, {"TOP", 8}, {"HIT", 190}, {"skew", 1}}});
  const Problem sparse[] = {{{"M", 19}, {"F", 1536}, {"K", 456}, {"density", 0.131}, {"block", 1}},
                            {{"M", 1}, {"F", 1001}, {"K", 1304}, {"density", 0.05}, {"block", 1}},
                            {{"M", 200}, {"F", 2048}, {"K", 776}, {"density", 0.3}, {"block", 32}}};
  for (const std::string& kernel :
       with_f16({"sparse_ffn", "sparse_gated_ffn", "sparse_ffn_mma", "sparse_gated_ffn_mma",
                 "sparse_ffn_atomics", "sparse_ffn_gelu", "sparse_ffn_columns"})) {
    for (const Problem& problem : sparse) cases.push_back({kernel, problem});
  }
  for (const std::string& kernel : with_f16({"sparse_ffn_leaky"})) {
    for (Problem problem : sparse) {
      problem.push_back({"slope", 0.25});
      cases.push_back({kernel, problem});
    }
  }
  const Problem many_tokens[] = {
      {{"M", 150}, {"F", 1536}, {"K", 456}, {"density", 0.131}, {"block", 1}},
      {{"M", 77}, {"F", 1001}, {"K", 1304}, {"density", 0.05}, {"block", 1}},
      {{"M", 301}, {"F", 1500}, {"K", 776}, {"density", 1.0}, {"block", 1}},
      {{"M", 200}, {"F", 2048}, {"K", 776}, {"density", 0.3}, {"block", 32}}};
  for (const std::string& kernel : with_f16({"sparse_wgmma"})) {
    for (const Problem& problem : many_tokens) cases.push_back({kernel, problem});
  }
  for (const std::string& kernel : with_f16({"sparse_ffn_chosen", "sparse_ffn_chosen_mma"})) {
    cases.push_back({kernel, {{"M", 19}, {"F", 5003}, {"K", 456}, {"density", 0.131}}});
  }
  cases.push_back({"naive/argmax_naive", {{"M", 37}, {"N", 1001}}});
  cases.push_back({"naive/attention_decode_naive", {{"B", 5}, {"S", 129}, {"D", 64}}});
  cases.push_back({"naive/batched_gemm_naive", {{"B", 3}, {"M", 33}, {"N", 72}, {"K", 136}}});
  cases.push_back({"naive/cross_entropy_naive", {{"M", 37}, {"N", 1001}}});
  cases.push_back({"naive/embedding_naive", {{"M", 131}, {"V", 1009}, {"N", 448}}});
  cases.push_back({"naive/layer_norm_naive", {{"M", 37}, {"N", 1001}}});
  cases.push_back({"naive/linear_gelu_naive", {{"M", 100}, {"N", 72}, {"K", 136}}});
  cases.push_back({"naive/scan_naive", {{"M", 37}, {"N", 1001}}});
  cases.push_back({"naive/top_k_naive", {{"M", 37}, {"N", 1001}, {"K", 8}}});
  cases.push_back({"examples/grid_norm", {{"N", 100003}}});
  cases.push_back({"examples/heat_tiles", {{"M", 301}, {"N", 1003}}});
  cases.push_back({"examples/affine_rows", {{"M", 77}, {"N", 1003}}});
  return cases;
}

class RandomConfigurations : public test::GpuTest {
 protected:
  // Do not count the GPUs, which forks: under compute-sanitizer CUDA does not start in a fork.
  void SetUp() override {
    if (!test::is_emulated() && !std::filesystem::exists("/proc/driver/nvidia/version")) {
      GTEST_SKIP() << "no GPU";
    }
    start_compiler();
  }

  /// Every point is as likely as any other.
  static std::vector<Config> draw(const Space& space) {
    std::mt19937_64 random(static_cast<std::uint64_t>(GTEST_FLAG_GET(random_seed)));
    const std::size_t count = num_drawn();
    std::vector<std::vector<int>> drawn;
    std::uint64_t seen = 0;
    space.for_each([&](const std::vector<int>& point) {
      ++seen;
      if (drawn.size() < count) {
        drawn.push_back(point);
      } else if (const std::uint64_t at = random() % seen; at < count) {
        drawn[at] = point;
      }
      return true;
    });
    std::vector<Config> configs;
    for (const std::vector<int>& point : drawn) configs.push_back(space.config(point));
    return configs;
  }

  void expect_right(const KernelSpec& kernel, const Problem& problem);
};

void RandomConfigurations::expect_right(const KernelSpec& kernel, const Problem& problem) {
  const Driver driver = test::make_driver();
  const Context context(driver, 0);
  const DeviceInfo info = query_device(driver, context.device());
  if (kernel.arch.front().starts_with("90") && info.cc != 90) GTEST_SKIP() << "for Hopper only";
  const Stream stream = make_stream(driver);
  WorkerState worker(driver, stream.get(), info, read_file(support_cubin(info)), {});

  const std::vector<Config> configs = draw(Space(kernel, problem, info));
  ASSERT_FALSE(configs.empty());
  std::vector<std::future<CompileResult>> compiled;
  for (const Config& config : configs) {
    compiled.push_back(submit(kernel, problem, config, info));
  }
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const CompileResult result = compiled[i].get();
    ASSERT_TRUE(result.ok) << to_text(configs[i]) << ": " << result.log;
    TrialRequest request;
    request.plan = make_plan(kernel, problem, configs[i], info);
    name_entries(request.plan, result);
    compile_own_kernels(kernel, problem, request.plan, info);
    request.cubin_path = result.cubin_path;
    const Outcome outcome = worker.guarded([&] {
      worker.enter_problem(request.plan.problem);
      worker.arena.reserve(arena_bytes(request.plan));
      PreparedTrial trial(worker, request);
      Outcome checked;
      checked.validation = trial.check();
      trial.check();
      trial.check_cold();
      return checked;
    });
    ASSERT_EQ(outcome.status, Status::correct)
        << to_text(configs[i]) << ": " << outcome.kind << ": " << outcome.message;
  }
}

class ShippedKernels : public RandomConfigurations,
                       public testing::WithParamInterface<ShippedCase> {};

TEST_P(ShippedKernels, AreRightOnRaggedSizes) {
  const auto kernel = find_kernel(test::source_folder() / "kernels", GetParam().kernel);
  expect_right(kernel.value(), GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(, ShippedKernels, testing::ValuesIn(shipped_cases()),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_F(RandomConfigurations, TheScalesOfRowsAreFoundInAndBesideTheProduct) {
  const auto kernels = test::source_folder() / "kernels";
  for (const char* name : {"ln_linear_gelu", "ln_linear_gelu_f16"}) {
    for (const char* where : {"inside", "beside"}) {
      KernelSpec kernel = find_kernel(kernels, name).value();
      for (ParamSpec& param : kernel.params) {
        if (param.name == "SCALES") param.values = {Value(where)};
      }
      expect_right(kernel, {{"M", 1000}, {"N", 1096}, {"K", 328}});
    }
  }
}

TEST_F(RandomConfigurations, AnSmTakesRunsOfTilesOfExperts) {
  KernelSpec kernel = find_kernel(test::source_folder() / "kernels", "moe_up_swiglu_fp8").value();
  for (ParamSpec& param : kernel.params) {
    if (param.name == "RUNS") param.values = {Value(6)};
  }
  expect_right(
      kernel,
      {{"M", 200}, {"N", 768}, {"K", 272}, {"E", 36}, {"TOP", 8}, {"HIT", 36}, {"skew", 0}});
}

/// Rows that are hard to normalise, by the element of a row that `normal` and the macros make.
/// Those of the weights are the contract's, or likewise.
struct HardRows {
  const char* name;
  const char* kernel;
  const char* element;
  const char* of_weights = nullptr;
};

void PrintTo(const HardRows& rows, std::ostream* out) { *out << rows.kernel << ", " << rows.name; }

class LayerNorm : public RandomConfigurations, public testing::WithParamInterface<HardRows> {
 protected:
  /// The shipped kernel with these rows.
  KernelSpec kernel() {
    const auto shipped = test::source_folder() / "kernels";
    const std::string name = GetParam().kernel;
    for (const char* file : {"ln_linear_gelu.cu", "ln_linear_gelu_f16.cu", "ln_linear_gelu_f32.cu",
                             "ln_linear_gelu_tf32.cu", "plain"}) {
      std::filesystem::create_symlink(shipped / file, folder_.path() / file);
    }
    write_rows("rows.cu", GetParam().element);
    const bool is_f32 = name.ends_with("f32");
    const std::string file = (is_f32 ? name : "ln_linear_gelu") + ".yaml";
    std::filesystem::create_directory(folder_.path() / "ops");
    copy_whole(file);
    const std::string op_file = copy_whole("ops/" + file);  // has the fills
    std::string op = read_file(shipped / op_file);
    const auto fill = [&](const std::string& before, const std::string& file_of_rows,
                          const std::string& dim, const std::string& arg) {
      const auto at = op.find(before);
      EXPECT_NE(at, std::string::npos);
      op.replace(at, before.size(),
                 "fill: {kernel: {source: " + file_of_rows + ", entry: \"rows<" +
                     (is_f32 ? "float" : "ELEMENT") + ">\", grid: [" + dim +
                     "], block: [256], args: [" + arg + ", seed]}}}");
    };
    fill("fill: {name: normal, mean: 1, std: 2}}", "rows.cu", "M", "X");
    if (GetParam().of_weights != nullptr) {
      write_rows("weights.cu", GetParam().of_weights);
      fill("fill: {name: normal, std: 1 / sqrt(K)}}", "weights.cu", "N", "W");
    }
    folder_.write(op_file, op);
    return find_kernel(folder_.path(), name).value();
  }

 private:
  /// Copies a shipped file, and the one that it is like. The last of them.
  std::string copy_whole(const std::string& file) {
    const auto shipped = test::source_folder() / "kernels";
    folder_.write(file, read_file(shipped / file));
    const std::filesystem::path base = file_it_is_like(shipped / file);
    return base.empty() ? file : copy_whole(base.lexically_relative(shipped).string());
  }

  /// The kernel that fills rows with such elements.
  void write_rows(const std::string& file, const std::string& element) {
    folder_.write(file,
                  "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n"
                  "using bf16 = __nv_bfloat16;\nusing f16 = __half;\n"
                  "__device__ float uniform(unsigned long long at) {\n"
                  "  at = (at ^ at >> 31) * 0x7FB5D329728EA185ull;\n"
                  "  at = (at ^ at >> 27) * 0x81DADEF4BC2DD44Dull;\n"
                  "  return ((at >> 40) + 0.5f) / 16777216.0f;\n}\n"
                  "template <typename T>\n"
                  "__global__ void rows(T* x, unsigned long long seed) {\n"
                  "  const int row = blockIdx.x;\n"
                  "  for (int i = threadIdx.x; i < K; i += 256) {\n"
                  "    const unsigned long long at = 2 * (seed + row * K + i);\n"
                  "    const float normal = sqrtf(-2 * logf(uniform(at))) *\n"
                  "        cospif(2 * uniform(at + 1));\n"
                  "    x[row * K + i] = T(float(" +
                      element + "));\n  }\n}\n");
  }
};

TEST_P(LayerNorm, IsRightOnHardRows) {
  expect_right(kernel(), {{"M", 301}, {"N", 520}, {"K", 1032}});
}

constexpr HardRows kHardRows[] = {
    // As far from zero as the type can tell such numbers apart.
    {"far_from_zero", "ln_linear_gelu", "100 + normal"},
    {"far_from_zero_f16", "ln_linear_gelu_f16", "1000 + normal"},
    {"far_from_zero_f32", "ln_linear_gelu_f32", "1000 + normal"},
    {"far_from_zero_tf32", "ln_linear_gelu_tf32", "1000 + normal"},
    {"constant", "ln_linear_gelu", "row % 7 * 0.75f"},
    {"constant_f16", "ln_linear_gelu_f16", "row % 7 * 0.75f"},
    {"constant_f32", "ln_linear_gelu_f32", "row % 7 * 0.7f"},
    {"constant_tf32", "ln_linear_gelu_tf32", "row % 7 * 0.7f"},
    {"outlier", "ln_linear_gelu", "i == 37 * row % K ? 1000 : normal"},
    {"outlier_f16", "ln_linear_gelu_f16", "i == 37 * row % K ? 1000 : normal"},
    {"outlier_f32", "ln_linear_gelu_f32", "i == 37 * row % K ? 1000 : normal"},
    {"outlier_tf32", "ln_linear_gelu_tf32", "i == 37 * row % K ? 1000 : normal"},
    {"far_outlier_f32", "ln_linear_gelu_f32", "i == 37 * row % K ? 0 : 1000 + normal"},
    // What a row of weights lacks to a sum of zero once went to a single number, and was as large
    // as others where many are zeros. A row of X that is large there was out of bounds.
    {"outlier_and_zeros", "ln_linear_gelu", "i == 37 * row % K ? 1000 : normal",
     "i % 8 != 0 ? 0 : normal / 32"},
    // The first number of a lane is what its sums are taken around.
    {"outlier_is_the_pivot", "ln_linear_gelu", "i % 8 == 0 ? 1000 : normal"},
};

INSTANTIATE_TEST_SUITE_P(, LayerNorm, testing::ValuesIn(kHardRows),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace assay
