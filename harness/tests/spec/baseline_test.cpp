// Baselines: what users would run instead, step by step.

#include "matchers.h"
#include "message_of.h"
#include "spec/loaded_kernels.h"

namespace assay {
namespace {

/// A product and a GELU, with these baselines.
KernelSpec with_baseline(const std::string& baseline) {
  return load_text(
      "chain",
      "kernel: chain\nop: chain\narch: [80]\ndims: [M, N, K]\nparams: {BLOCK: [64]}\nargs:\n"
      "  - {name: A, dtype: bf16, shape: [M, K], role: in}\n"
      "  - {name: B, dtype: bf16, shape: [N, K], role: in}\n"
      "  - {name: v, dtype: bf16, shape: [N], role: in}\n"
      "  - {name: C, dtype: bf16, shape: [M, N], role: out}\n"
      "launches: [{grid: [1], block: [BLOCK]}]\nwork: {flops: 0, bytes: 0}\nreference:\n"
      "  - gemm: {a: A, b: B, transpose_b: true, out: X}\n"
      "  - gelu: {x: X, tanh: true, out: C}\n" +
          baseline + "smoke: {M: 2, N: 3, K: 4}\n",
      {"below/mine.cu"});
}

constexpr const char* kChain =
    "baseline:\n"
    "  - fused: [{cublaslt: {a: A, b: B, transpose_b: true, bias: v, gelu: true, out: C}}]\n"
    "  - chain:\n"
    "      - cublaslt: {a: A, b: B, transpose_b: true, out: X, round: bf16}\n"
    "      - gelu: {x: X, tanh: true, out: C}\n"
    "  - mine:\n"
    "      - kernel: {source: below/mine.cu, entry: \"f<K>\", grid: [M], block: [128],\n"
    "                 args: [A, B, {name: Y, dtype: bf16, shape: [M, N]}],\n"
    "                 define: {BLOCK: 256}, smem_bytes: 4 * N}\n"
    "      - gelu: {x: Y, out: C}\n";

TEST(Baseline, HasANameAndSteps) {
  const KernelSpec kernel = with_baseline(kChain);
  ASSERT_EQ(kernel.baseline.size(), 3u);
  const BaselineSpec& fused = kernel.baseline[0];
  EXPECT_EQ(fused.name, "fused");
  ASSERT_EQ(fused.steps.size(), 1u);
  EXPECT_EQ(fused.steps[0].operands.at("bias"), "v");
  EXPECT_EQ(fused.steps[0].options.at("gelu"), OptionValue(true));
  EXPECT_EQ(fused.steps[0].options.at("relu"), OptionValue(false));
  EXPECT_EQ(kernel.baseline[1].steps[0].round, DType::bf16);
  ASSERT_TRUE(kernel.baseline[2].steps[0].kernel);
  const ReferenceKernelSpec& mine = *kernel.baseline[2].steps[0].kernel;
  EXPECT_EQ(mine.entry, "f<K>");
  EXPECT_EQ(mine.define.at("BLOCK").text, "256");
  EXPECT_EQ(mine.smem_bytes->expr.text(), "4 * N");
  EXPECT_EQ(mine.args[2].role, Role::out);
  EXPECT_THAT(texts(mine.args[2].shape), ElementsAre("M", "N"));
}

TEST(Baseline, MayComputeWithAnotherAccuracy) {
  const std::string step = "[{cublaslt: {a: A, b: B, transpose_b: true, gelu: true, out: C}}]\n";
  const KernelSpec kernel =
      with_baseline("baseline:\n  - coarse: " + step + "    relative: 12.5%\n  - usual: " + step +
                    "  - relative: 0.25\n    last: " + step);
  ASSERT_EQ(kernel.baseline.size(), 3u);
  EXPECT_EQ(kernel.baseline[0].name, "coarse");
  EXPECT_EQ(kernel.baseline[0].relative, 0.125);
  EXPECT_EQ(kernel.baseline[1].relative, std::nullopt);
  EXPECT_EQ(kernel.baseline[2].name, "last");
  EXPECT_NE(kernel.baseline[0].hash, kernel.baseline[1].hash);
  const auto mistake = [&](const std::string& text) -> std::string {
    return message_of<SpecError>([&] { with_baseline("baseline:\n" + text); });
  };
  EXPECT_THAT(mistake("  - coarse: " + step + "    relative: 1\n"),
              HasSubstr("expected a ratio below 1"));
  EXPECT_THAT(mistake("  - relative: 0.1\n"), HasSubstr("expected one baseline in each item"));
  EXPECT_THAT(mistake("  - x_other_accuracy: " + step), HasSubstr("which tables add"));
}

TEST(Baseline, MayBeNone) { EXPECT_THAT(with_baseline("baseline: []\n").baseline, IsEmpty()); }

TEST(Baseline, TakesStacksOfMatrices) {
  const KernelSpec kernel =
      load_text("stack",
                "kernel: stack\nop: stack\narch: [80]\ndims: [M]\nargs:\n"
                "  - {name: A, dtype: f16, shape: [8, M, 4], role: in}\n"
                "  - {name: B, dtype: f16, shape: [8, 4, M], role: in}\n"
                "  - {name: C, dtype: f16, shape: [8, M, M], role: out}\n"
                "launches: [{grid: [1], block: [32]}]\nwork: {flops: 0, bytes: 0}\n"
                "reference: [{add: {a: A, b: A, out: C}}]\n"
                "baseline: [{batched: [{cublaslt: {a: A, b: B, out: C}}]}]\nsmoke: {M: 4}\n");
  EXPECT_EQ(kernel.baseline[0].steps[0].operation, "cublaslt");
}

// The option is younger than recordings with other baselines: those keep their hashes.
TEST(Baseline, MultipliesFloatsAsTf32WhereItSaysSo) {
  const auto with_option = [](const std::string& dtype, const std::string& option) {
    return load_text("product",
                     "kernel: product\nop: product\narch: [80]\ndims: [M]\nargs:\n"
                     "  - {name: A, dtype: " +
                         dtype +
                         ", shape: [M, M], role: in}\n"
                         "  - {name: C, dtype: " +
                         dtype +
                         ", shape: [M, M], role: out}\n"
                         "launches: [{grid: [1], block: [32]}]\nwork: {flops: 0, bytes: 0}\n"
                         "reference: [{gemm: {a: A, b: A, out: C}}]\n"
                         "baseline: [{product: [{cublaslt: {a: A, b: A" +
                         option + ", out: C}}]}]\nsmoke: {M: 4}\n");
  };
  const auto options = [](const KernelSpec& kernel) { return kernel.baseline[0].steps[0].options; };
  EXPECT_EQ(options(with_option("f32", ", tf32: true")).at("tf32"), OptionValue(true));
  EXPECT_FALSE(options(with_option("f32", "")).contains("tf32"));
  EXPECT_THAT([&] { with_option("bf16", ", tf32: true"); },
              ThrowsMessage<SpecError>(HasSubstr("expected tf32 on a product of f32 only")));
}

// A trial means the same whatever it is compared with; a verdict does not.
TEST(Baseline, IsNoPartOfTheContractsHashButHasItsOwn) {
  const KernelSpec none = with_baseline(""), chain = with_baseline(kChain);
  EXPECT_EQ(none.contract_hash, chain.contract_hash);
  const auto hash_with = [](const std::string& from, const std::string& to) {
    std::string text = kChain;
    EXPECT_NE(text.find(from), std::string::npos) << from;
    replace_all(text, from, to);
    std::string hashes;
    for (const BaselineSpec& baseline : with_baseline(text).baseline) hashes += baseline.hash;
    return hashes;
  };
  const std::string known = hash_with("fused", "other");
  EXPECT_EQ(known, hash_with("M]", " M ]"));  // only layout
  EXPECT_NE(known, hash_with("round: bf16", "round: f16"));
  EXPECT_NE(known, hash_with("BLOCK: 256", "BLOCK: 128"));
  EXPECT_NE(known, hash_with("4 * N", "8 * N"));
  EXPECT_NE(known, hash_with("tanh: true, out: C", "out: C"));
  EXPECT_NE(known, hash_with("bias: v, ", ""));
  EXPECT_EQ(load("gemm_mma").baseline[0].hash, "");
}

}  // namespace
}  // namespace assay
