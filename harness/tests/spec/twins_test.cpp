#include "spec/twins.h"

#include "spec/loaded_kernels.h"
#include "spec/sweep_spec.h"

#include "matchers.h"

namespace assay {
namespace {

std::string twins_text() { return read_file(spec_tests() / "kernels/gemm_twins.yaml"); }

std::vector<std::string> names(const std::vector<KernelSpec>& kernels) {
  std::vector<std::string> all;
  for (const KernelSpec& kernel : kernels) all.push_back(kernel.name);
  return all;
}

TEST(Twins, TheTypeIsReplacedInValuesWhereItIsAWord) {
  const std::vector<KernelSpec> twins = load_twins(spec_tests() / "kernels/gemm_twins.yaml");
  ASSERT_THAT(names(twins), ElementsAre("gemm_twins", "gemm_twins_f16"));
  EXPECT_EQ(twins[0].op, "gemm_bf16");
  EXPECT_EQ(twins[1].op, "gemm_f16");
  EXPECT_EQ(twins[1].summary, "C[M,N] = A[M,K] @ B[K,N], f16 in and out");
  EXPECT_EQ(buffer(twins[0], "A").dtype, DType::bf16);
  EXPECT_EQ(buffer(twins[1], "A").dtype, DType::f16);
  EXPECT_EQ(twins[1].compile.define.at("TYPE").text, "f16");
  EXPECT_EQ(twins[1].launches[0].entry, "gemm_twins");  // the source's, which both share
  EXPECT_EQ(twins[1].launches[1].entry, "round_f16<f16, T_BLOCK>");
  EXPECT_THAT(texts(twins[1].launches[1].block), ElementsAre("T_BLOCK"));
}

TEST(Twins, TheFirstIsTheContractWithItsTypeWrittenOut) {
  std::string written = twins_text();
  replace_all(written, "types: {T: [bf16, f16]}\n", "");
  replace_all(written, "dtype: T", "dtype: bf16");
  replace_all(written, "gemm_T", "gemm_bf16");
  replace_all(written, "round_T<T", "round_bf16<bf16");
  replace_all(written, "TYPE: T", "TYPE: bf16");
  const TempFolder folder;
  folder.write("gemm_twins.cu", "");
  const KernelSpec alone = load_kernel(folder.write("gemm_twins.yaml", written));
  const std::vector<KernelSpec> twins = load_twins(spec_tests() / "kernels/gemm_twins.yaml");
  EXPECT_EQ(twins[0].contract_hash, alone.contract_hash);
  EXPECT_NE(twins[1].contract_hash, alone.contract_hash);
  EXPECT_EQ(load_kernel(spec_tests() / "kernels/gemm_twins.yaml").contract_hash,
            alone.contract_hash);
}

TEST(Twins, OneMayHaveASourceOfItsOwn) {
  const TempFolder folder;
  folder.write("gemm_twins.cu", "");
  const auto path = folder.write("gemm_twins.yaml", twins_text());
  EXPECT_EQ(load_twins(path)[1].source_path, folder.path() / "gemm_twins.cu");
  folder.write("gemm_twins_f16.cu", "");
  EXPECT_EQ(load_twins(path)[0].source_path, folder.path() / "gemm_twins.cu");
  EXPECT_EQ(load_twins(path)[1].source_path, folder.path() / "gemm_twins_f16.cu");
}

TEST(Twins, AMistakeOfOneOfThemIsTold) {
  const TempFolder folder;
  folder.write("gemm_twins.cu", "");
  std::string text = twins_text();
  replace_all(text, "[bf16, f16]", "[bf16, i32]");
  const auto path = folder.write("gemm_twins.yaml", text);
  EXPECT_THAT([&] { load_twins(path); },
              ThrowsMessage<SpecError>(HasSubstr("gemm_twins.yaml:10:5: expected the key \"fill\" "
                                                 "for an input of i32")));
  EXPECT_THAT(twin_names(path), ElementsAre("gemm_twins", "gemm_twins_i32"));
}

TEST(Twins, ASweepNamesEachAndASweepOfTheContractHasAll) {
  const TempFolder folder;
  const auto kernels = spec_tests() / "kernels";
  const auto sweep = folder.write("s.yaml",
                                  "sweep: s\nkernels: [gemm_twins_f16, gemm_small]\n"
                                  "problems: [{M: 64, N: 64, K: 64, BATCH: 1}]\n");
  EXPECT_THAT(names(load_sweep(sweep, kernels).kernels),
              ElementsAre("gemm_twins_f16", "gemm_small"));
  const SweepSpec smoke = load_sweep(kernels / "gemm_twins.yaml", kernels);
  EXPECT_THAT(names(smoke.kernels), ElementsAre("gemm_twins", "gemm_twins_f16"));
  EXPECT_EQ(smoke.name, "gemm_twins");
  EXPECT_EQ(smoke.problems.size(), 1u);
}

TEST(Twins, TheirContractIsFoundByTheirNames) {
  EXPECT_EQ(contract_of_twin("gemm_f16"), "gemm");
  EXPECT_EQ(contract_of_twin("examples/a_b_i64"), "examples/a_b");
  for (const char* name : {"gemm", "gemm_half", "f16", "gemm_"}) {
    EXPECT_EQ(contract_of_twin(name), "") << name;
  }
}

}  // namespace
}  // namespace assay
