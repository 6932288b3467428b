// Numbers of a problem that are no sizes.

#include "matchers.h"
#include "spec/loaded_kernels.h"
#include "spec/sweep_spec.h"

namespace assay {
namespace {

/// A sparse kernel with these traits and this smoke problem; `more` are other keys.
std::string contract(const std::string& name, const std::string& traits,
                     const std::string& more = "", const std::string& smoke = "{N: 100}") {
  return "kernel: " + name + "\nop: sparse\narch: [80]\ndims: [N]\n" + traits + more +
         "args:\n  - {name: X, dtype: f32, shape: [N], role: in}\n"
         "  - {name: C, dtype: f32, shape: [N], role: out}\n"
         "launches: [{grid: [1], block: [32]}]\nwork: {flops: 0, bytes: 0}\n"
         "reference: [{rms_norm: {x: X, epsilon: eps, out: C}}]\nsmoke: " +
         smoke + "\n";
}

const std::string kTraits = "traits: {density: 0.25, skew: 0, eps: 1e-6}\n";

class Traits : public testing::Test {
 protected:
  KernelSpec kernel(const std::string& text) {
    folder_.write("sparse.cu", "");
    return load_kernel(folder_.write("sparse.yaml", text));
  }

  std::vector<std::string> problems(const std::string& list) {
    folder_.write("s.yaml", "sweep: s\nkernels: [" + kernels_ + "]\nproblems:\n" + list);
    std::vector<std::string> texts;
    for (const Problem& problem : load_sweep(folder_.path() / "s.yaml", folder_.path()).problems) {
      texts.push_back(to_text(problem));
    }
    return texts;
  }

  TempFolder folder_;
  std::string kernels_ = "sparse";
};

TEST_F(Traits, HaveDefaultsAndBelongToTheProblem) {
  const KernelSpec spec = kernel(contract("sparse", kTraits));
  EXPECT_EQ(to_text(spec.traits), "density=0.25,skew=0,eps=1e-06");
  EXPECT_EQ(to_text(spec.smoke), "N=100,density=0.25,skew=0,eps=1e-06");
  const KernelSpec other =
      kernel(contract("sparse", kTraits, "", "{N: 4, density: 0, skew: -1.5}"));
  EXPECT_EQ(to_text(other.smoke), "N=4,density=0,skew=-1.5,eps=1e-06");
  EXPECT_EQ(other.contract_hash, spec.contract_hash);
  EXPECT_THAT(problems("  - {N: [1, 2], density: [0.1, 1.0]}\n  - {N: 3, eps: 1}\n"),
              ElementsAre("N=1,density=0.1,skew=0,eps=1e-06", "N=1,density=1,skew=0,eps=1e-06",
                          "N=2,density=0.1,skew=0,eps=1e-06", "N=2,density=1,skew=0,eps=1e-06",
                          "N=3,density=0.25,skew=0,eps=1"));
  EXPECT_THAT([&] { problems("  - {N: 3, density: 0.5}\n  - {N: 3, density: 0.50}\n"); },
              ThrowsMessage<SpecError>(HasSubstr("duplicate problem N=3,density=0.5,skew=0")));
  EXPECT_NE(kernel(contract("sparse", "traits: {eps: 1e-6}\n")).contract_hash, spec.contract_hash);
}

TEST_F(Traits, KernelsOfASweepMayHaveDifferentOnes) {
  kernel(contract("sparse", kTraits));
  folder_.write("dense.cu", "");
  folder_.write("dense.yaml", contract("dense", "traits: {eps: 1e-5, alpha: 2}\n"));
  kernels_ = "sparse, dense";
  EXPECT_THAT(problems("  - {N: 3, eps: 0.5}\n"),
              ElementsAre("N=3,density=0.25,skew=0,eps=0.5,alpha=2"));
  EXPECT_THAT([&] { problems("  - {N: 3}\n"); },
              ThrowsMessage<SpecError>(HasSubstr("expected the key \"eps\" in a problem")));
  folder_.write("dense.yaml", contract("dense", "traits: {eps: 1e-6, alpha: 2}\n"));
  EXPECT_THAT(problems("  - {N: 3}\n"), ElementsAre("N=3,density=0.25,skew=0,eps=1e-06,alpha=2"));
  std::string text = contract("dense", "", "");
  replace_all(text, "[N]\n", "[N, density]\n");
  replace_all(text, "{N: 100}", "{N: 100, density: 1}");
  replace_all(text, ", epsilon: eps", "");
  folder_.write("dense.yaml", text);
  EXPECT_THAT([&] { problems("  - {N: 3}\n"); },
              ThrowsMessage<SpecError>(
                  HasSubstr("found \"density\", a trait of sparse and a dim of another")));
}

}  // namespace
}  // namespace assay
