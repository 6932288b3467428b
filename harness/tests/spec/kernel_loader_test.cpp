#include "base/file.h"
#include "broken_kernels.h"
#include "matchers.h"
#include "spec/kernel_parts.h"
#include "spec/loaded_kernels.h"

namespace assay {
namespace {

using testing::Pair;

TEST(LoadKernel, ReadsNamesAndSpace) {
  const KernelSpec kernel = load("gemm_mma");
  EXPECT_EQ(kernel.name, "gemm_mma");
  EXPECT_EQ(kernel.op, "gemm_bf16");
  EXPECT_EQ(kernel.summary,
            "C[M,N] = A[M,K] @ B[N,K]^T, bf16 in and out, (sums, products) in fp32");
  EXPECT_THAT(kernel.arch, ElementsAre("80", "86", "89", "90a"));
  EXPECT_THAT(kernel.dims, ElementsAre("M", "N", "K"));
  ASSERT_EQ(kernel.params.size(), 7u);
  EXPECT_EQ(kernel.params[0].name, "BLOCK_M");
  EXPECT_THAT(kernel.params[0].values, ElementsAre(Value(64), Value(128), Value(256)));
  EXPECT_THAT(kernel.params[6].values,
              ElementsAre(Value("row"), Value("column"), Value("grouped")));
  ASSERT_EQ(kernel.lets.size(), 2u);
  EXPECT_EQ(kernel.lets[1].name, "tiles");
  EXPECT_EQ(kernel.constraints.size(), 3u);
  EXPECT_EQ(kernel.constraints[2].expr.text(), "!(device.cc < 80 && SCHEDULE != row)");
  EXPECT_FALSE(kernel.deterministic);
  EXPECT_EQ(to_text(kernel.smoke), "M=256,N=384,K=128");
  EXPECT_EQ(kernel.source_path, spec_tests() / "kernels/gemm_mma.cu");
}

TEST(LoadKernel, ReadsLaunchesAndReference) {
  const KernelSpec kernel = load("gemm_mma");
  ASSERT_EQ(kernel.launches.size(), 2u);
  const LaunchSpec& main = kernel.launches[0];
  EXPECT_EQ(main.entry, "gemm_mma");  // the kernel's name, by default
  EXPECT_FALSE(main.when);
  EXPECT_THAT(texts(main.grid), ElementsAre("cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)", "1", "SPLIT_K"));
  EXPECT_THAT(texts(main.cluster), ElementsAre("1"));
  EXPECT_EQ(main.smem_bytes->expr.text(), "smem");
  const LaunchSpec& reduce = kernel.launches[1];
  EXPECT_EQ(reduce.entry, "gemm_mma_reduce");
  EXPECT_EQ(reduce.when->expr.text(), "SPLIT_K > 1");
  EXPECT_THAT(texts(reduce.grid), ElementsAre("cdiv(M * N, 1024)"));
  ASSERT_EQ(kernel.reference.size(), 1u);
  EXPECT_EQ(kernel.reference[0].operation, "gemm");
  EXPECT_THAT(kernel.reference[0].operands,
              ElementsAre(Pair("a", "A"), Pair("b", "B"), Pair("out", "C")));
  EXPECT_THAT(kernel.reference[0].options, ElementsAre(Pair("transpose_a", OptionValue(false)),
                                                       Pair("transpose_b", OptionValue(true))));
  EXPECT_THAT(kernel.baseline, ElementsAre(testing::Field(&BaselineSpec::name, "cublaslt")));
  EXPECT_DOUBLE_EQ(*kernel.tolerance.relative, 0.01);
  EXPECT_DOUBLE_EQ(*kernel.tolerance.element, 2.5);
}

TEST(LoadKernel, DefaultsAreTheStrictOnes) {
  const KernelSpec kernel = load("gemm_small");
  EXPECT_TRUE(kernel.deterministic);
  EXPECT_FALSE(kernel.tolerance.relative);
  EXPECT_FALSE(kernel.tolerance.element);
  EXPECT_THAT(kernel.baseline, IsEmpty());
  EXPECT_THAT(kernel.constraints, IsEmpty());
  EXPECT_THAT(kernel.launches[0].cluster, IsEmpty());
  EXPECT_FALSE(kernel.launches[0].smem_bytes);
}

TEST(LoadKernel, ReadsAnchorsFoldedLinesAndChains) {
  const KernelSpec kernel = load("add_chain");
  EXPECT_THAT(kernel.params, IsEmpty());
  EXPECT_THAT(texts(buffer(kernel, "C").shape), ElementsAre("N"));
  EXPECT_THAT(texts(kernel.launches[0].grid), ElementsAre("N > 1024 ? cdiv(N, 1024) : 1"));
  EXPECT_EQ(kernel.reference.size(), 2u);
}

/// A kernel whose launch has the key.
KernelSpec with_launch(const std::string& key) {
  return load_text(
      "add",
      "kernel: add\nop: add_f32\narch: [80]\ndims: [N]\n"
      "params: {BLOCK: [64], T: [float, half]}\nargs:\n"
      "  - {name: A, dtype: f32, shape: [N], role: in}\n"
      "  - {name: C, dtype: f32, shape: [N], role: out}\n"
      "launches:\n  - grid: [1]\n    block: [BLOCK]\n    " +
          key +
          "\n"
          "work: {flops: 0, bytes: 0}\nreference: [{relu: {x: A, out: C}}]\nsmoke: {N: 3}\n",
      {"below/x.h"});
}

TEST(LoadKernel, AnEntryIsAsCppNamesIt) {
  const KernelSpec kernel = with_launch(R"(entry: "ns::foo<T, ns::N, BLOCK * 2>")");
  EXPECT_EQ(kernel.launches[0].entry, "ns::foo<T, ns::N, BLOCK * 2>");
  EXPECT_EQ(kernel.params[1].values, (std::vector<Value>{"float", "half"}));
  for (const char* entry : {"foo", "::foo", "ns::foo<>", "foo<float>", "N", "a::N"}) {
    EXPECT_EQ(with_launch(fmt::format("entry: {}", entry)).launches[0].entry, entry);
  }
  for (const char* entry : {"''", "::", "a::", "a:::b", "foo<", "foo>", "foo<int> *", "foo(int)",
                            "'foo <int>'", "foo-2", "class", "a::int", R"("a<\n>")", "a<é>"}) {
    EXPECT_THROW(with_launch(fmt::format("entry: {}", entry)), SpecError) << entry;
  }
}

TEST(LoadKernel, SaysHowItIsCompiled) {
  const KernelSpec kernel = with_launch(
      "early: 0\ncompile:\n  include: [., below/../below]\n  define: {X: 1, TYPE: unsigned int}\n"
      "  std: 17\n  fast_math: true\n  maxrregcount: BLOCK + 2");
  const CompileSpec& compile = kernel.compile;
  ASSERT_EQ(compile.include.size(), 2u);
  EXPECT_EQ(compile.include[1].folder, kernel.yaml_path.parent_path() / "below");
  EXPECT_EQ(compile.define.at("TYPE").text, "unsigned int");
  EXPECT_EQ(compile.define.at("X").text, "1");
  EXPECT_EQ(compile.define.size(), 2u);
  EXPECT_EQ(compile.std, 17);
  EXPECT_EQ(compile.fast_math->expr.text(), "1");
  EXPECT_EQ(compile.maxrregcount->expr.text(), "BLOCK + 2");
}

TEST(ReadValues, ARangeAddsOrMultiplies) {
  const auto values = [](const std::string& range) {
    const KernelSpec kernel =
        with_reference("  - sum: {x: A, out: C}\n", "params: {SIZE: " + range + "}\n");
    std::vector<std::int64_t> numbers;
    for (const Value& value : kernel.params[0].values) {
      numbers.push_back(std::get<std::int64_t>(value));
    }
    return numbers;
  };
  EXPECT_THAT(values("{from: 32, to: 128, step: 32}"), ElementsAre(32, 64, 96, 128));
  EXPECT_THAT(values("{from: 32, to: 100, step: 32}"), ElementsAre(32, 64, 96));
  EXPECT_THAT(values("{from: 1, to: 16, times: 2}"), ElementsAre(1, 2, 4, 8, 16));
  EXPECT_THAT(values("{from: 3, to: 100, times: 3}"), ElementsAre(3, 9, 27, 81));
  EXPECT_THAT(values("{from: -2, to: 2, step: 2}"), ElementsAre(-2, 0, 2));
  EXPECT_THAT(values("{from: 9223372036854775806, to: 9223372036854775807, step: 5}"),
              ElementsAre(9223372036854775806));
}

TEST(ReadValues, AListMayHoldExpressionsOfTheDevice) {
  std::string text = read_file(spec_tests() / "kernels/add_chain.yaml");
  const std::string params = "params: {BLOCKS: [64, 2 * device.sm_count]}\n";
  const KernelSpec kernel = load_text("add_chain", text + params);
  EXPECT_THAT(kernel.params.back().values, ElementsAre(Value(std::int64_t{64})));
  ASSERT_EQ(kernel.params.back().device_values.size(), 1u);
  EXPECT_EQ(kernel.params.back().device_values[0].expr.text(), "2 * device.sm_count");
  EXPECT_EQ(kernel.contract_hash, load_text("add_chain", text).contract_hash);
}

TEST(LoadKernel, AnOptionHasTheTypeOfItsRow) {
  const auto option = [](const char* text, OptionValue otherwise) {
    return read_option(YamlNode::scalar({}, text), {"epsilon", otherwise});
  };
  EXPECT_EQ(option("true", false), OptionValue(true));
  EXPECT_EQ(option("0.00001", 1e-6), OptionValue(1e-5));
  EXPECT_EQ(option("1.5e-5", 1e-6), OptionValue(1.5e-5));
  for (const char* text : {"1e", "1e-", "e5", "1e--5", "1e+5", "-1", "inf", "1e999"}) {
    EXPECT_THROW(option(text, 1e-6), SpecError) << text;
  }
  EXPECT_THROW(option("1", false), SpecError);
  EXPECT_THROW(option("true", 1e-6), SpecError);
}

// How an evaluator fills the values; see KernelSpec::symbols.
TEST(LoadKernel, ExpressionsReadTheSlotsOfTheSymbols) {
  const KernelSpec kernel = load("gemm_mma");
  std::vector<std::int64_t> values(kernel.symbols.size(), -1);
  const auto set = [&](std::string_view name, std::int64_t value) {
    ASSERT_GE(kernel.symbols.find(name), 0) << name;
    values[static_cast<std::size_t>(kernel.symbols.find(name))] = value;
  };
  for (const char* word : {"row", "column", "grouped"}) set(word, kernel.symbols.find(word));
  set("M", 300), set("N", 200), set("K", 64);
  set("BLOCK_M", 128), set("BLOCK_N", 64), set("BLOCK_K", 32), set("STAGES", 3), set("SPLIT_K", 2);
  set("SCHEDULE", kernel.symbols.find("column"));
  set("device.cc", 90), set("device.sm_count", 132), set("device.l2_bytes", 1);
  set("device.smem_optin_bytes", 3 * 192 * 32 * 2);
  for (const LetSpec& let : kernel.lets) set(let.name, let.value.expr.eval(values));
  EXPECT_EQ(kernel.lets[1].value.expr.eval(values), 3 * 4);
  EXPECT_EQ(kernel.constraints[0].expr.eval(values), 1);  // smem is just what the device has
  EXPECT_EQ(kernel.constraints[1].expr.eval(values), 0);  // SCHEDULE == grouped || SPLIT_K == 1
  EXPECT_EQ(kernel.constraints[2].expr.eval(values), 1);
  set("SCHEDULE", kernel.symbols.find("grouped"));
  EXPECT_EQ(kernel.constraints[1].expr.eval(values), 1);
  EXPECT_EQ(kernel.flops.expr.eval(values), 2 * 300 * 200 * 64);
}

TEST(ContractHash, ChangesWithWhatATrialMeans) {
  const std::string before = load("gemm_mma").contract_hash;
  EXPECT_EQ(before.size(), 32u);
  const std::pair<const char*, const char*> edits[] = {
      {"smem: STAGES *", "smem: 1 + STAGES *"},
      {"shape: [N, K], role: in", "shape: [N, K + 1], role: in"},
      {"fill: normal", "fill: ones"},
      {"low: 0", "low: 1"},
      {", init: zero", ""},
      {"dtype: i32, value: M", "dtype: i64, value: M"},
      {"dtype: i32, value: M", "dtype: i32, value: N"},
      {"swizzle_bytes: 128", "swizzle_bytes: 64"},
      {"swizzle_bytes: 128", "swizzle_bytes: 128, when: SPLIT_K > 1"},
      {"box: [BLOCK_M, BLOCK_K]", "box: [BLOCK_K, BLOCK_M]"},
      {"block: [256]", "block: [512]"},
      {"cluster: [1]", "cluster: [2]"},
      {"when: SPLIT_K > 1", "when: SPLIT_K > 2"},
      {"gemm_mma_reduce", "gemm_mma_sum"},
      {"    smem_bytes: smem\n", ""},
      {"    smem_bytes: smem\n", "    repeat: 2\n"},
      {"    smem_bytes: smem\n", "    smem_bytes: smem\n    carveout: 100\n"},
      {"    smem_bytes: smem\n", "    smem_bytes: smem\n    cooperative: true\n"},
      {"    smem_bytes: smem\n", "    smem_bytes: smem\n    args: [A, B]\n"},
      {"launches:", "  - {name: p, struct: [A, M]}\nlaunches:"},
      {"launches:", "  - {name: p, struct: [A, {dtype: i32, value: M}]}\nlaunches:"},
      {"flops: 2 * M", "flops: 3 * M"},
      {"transpose_b: true", "transpose_b: false"},
      {"relative: 1%", "relative: 2%"},
      {", element: 2.5", ""},
      {", element: 2.5", ", element: 2.5, absolute: 0.1"},
      {"deterministic: false", "deterministic: true"},
      {"dims:", "compile: {std: 17}\ndims:"},
      {"dims:", "compile: {fast_math: true}\ndims:"},
      {"dims:", "compile: {maxrregcount: 2 * STAGES}\ndims:"},
      {"dims:", "compile: {define: {X: 1}}\ndims:"},
      {"dims:", "compile: {fmad: false}\ndims:"},
      {"dims:", "compile: {ptxas: [-dlcm=cg]}\ndims:"},
  };
  for (const auto& [from, to] : edits) EXPECT_NE(edited(from, to).contract_hash, before) << to;
}

TEST(ContractHash, KeepsOldResultsWhenOnlyTheSpaceChanges) {
  const std::string before = load("gemm_mma").contract_hash;
  const std::pair<const char*, const char*> edits[] = {
      {"BLOCK_M: [64, 128, 256]", "BLOCK_M: [32, 64, 128, 256]"},
      {"[row, column, grouped]", "[row, column, grouped, hilbert]"},
      {"  - smem <= device.smem_optin_bytes\n", ""},
      {"summary: C", "summary: D"},
      {"[80, 86, 89, \"90a\"]", "[90a]"},
      {"M: 256, N: 384", "M: 128, N: 384"},
      {"[cublaslt]", "[]"},
      {"work:",
       "default: {BLOCK_M: 64, BLOCK_N: 64, BLOCK_K: 32, WARPS: 4, STAGES: 2, SPLIT_K: 1, "
       "SCHEDULE: row}\nwork:"},
      {"dims:", "compile: {std: 20, fast_math: false, include: [.]}\ndims:"},
      // A change of layout changes no meaning.
      {"STAGES * (BLOCK_M + BLOCK_N)", "STAGES*( BLOCK_M+BLOCK_N )"},
      {"{flops: 2 * M * N * K, ", "{ flops : 2 * M * N * K , "},
      {", transpose_b: true, out: C", ", out: C, transpose_b: true"},
  };
  for (const auto& [from, to] : edits) EXPECT_EQ(edited(from, to).contract_hash, before) << to;
}

TEST(LoadKernel, LineEndsAndByteOrderMarkDoNotMatter) {
  const KernelSpec plain = load("gemm_mma");
  const KernelSpec windows = edited("\n", "\r\n");
  EXPECT_EQ(windows.contract_hash, plain.contract_hash);
  EXPECT_EQ(windows.smoke, plain.smoke);
  EXPECT_EQ(windows.args.back().where.line, plain.args.back().where.line);
  const KernelSpec marked = edited("# Every feature", "\xEF\xBB\xBF# Every feature");
  EXPECT_EQ(marked.contract_hash, plain.contract_hash);
  EXPECT_EQ(marked.params[0].where.column, plain.params[0].where.column);
}

TEST(LoadKernel, MissingFileIsAUsageError) {
  EXPECT_THAT([&] { load("missing"); }, ThrowsMessage<UsageError>(HasSubstr("missing.yaml")));
}

TEST(LoadKernel, LoadsEveryKernelOfTheProject) {
  int loaded = 0;
  const std::filesystem::path root = ASSAY_SOURCE_DIR;
  for (const auto& folder :
       {root / "kernels", root / "kernels/examples", root / "kernels/naive", broken_kernels()}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".yaml") continue;
      EXPECT_NO_THROW(load_kernel(entry.path()));
      ++loaded;
    }
  }
  EXPECT_GT(loaded, 90);
}

}  // namespace
}  // namespace assay
