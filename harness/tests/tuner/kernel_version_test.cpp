#include "tuner/kernel_version.h"

#include "spec/twins.h"
#include "temp_folder.h"

#include "matchers.h"
#include "message_of.h"

namespace assay {
namespace {

std::string contract(const std::string& name, const std::string& types) {
  return "kernel: " + name + "\nop: add\n" + types +
         "arch: [80]\ndims: [N]\nargs:\n  - {name: x, dtype: T, shape: [N], role: in}\n"
         "  - {name: y, dtype: T, shape: [N], role: out}\nlaunches: [{grid: [1], block: [32]}]\n"
         "work: {flops: 0, bytes: 0}\nreference: [{relu: {x: x, out: y}}]\nsmoke: {N: 3}\n";
}

TEST(FindKernel, LooksForTwinsInTheirContracts) {
  const TempFolder folder;
  folder.write("below/relu.cu", "");
  folder.write("below/relu.yaml", contract("relu", "types: {T: [f32, f16]}\n"));
  const auto name_of = [&](const std::string& name) {
    const auto found = find_kernel(folder.path(), name);
    return found ? found->name : "none";
  };
  for (const char* name : {"relu", "relu_f16"}) EXPECT_EQ(name_of(name), name);
  for (const char* name : {"relu_f32", "relu_f64", "gelu", "gelu_f16"}) {
    EXPECT_EQ(name_of(name), "none") << name;
  }
}

TEST(VersionOf, TwinsOfOneSourceDifferInTheirContracts) {
  const TempFolder folder;
  folder.write("relu.cu", "");
  folder.write("relu.yaml", contract("relu", "types: {T: [f32, f16]}\n"));
  const KernelVersion first = version_of(*find_kernel(folder.path(), "relu"), {});
  const KernelVersion second = version_of(*find_kernel(folder.path(), "relu_f16"), {});
  EXPECT_EQ(first.source_hash, second.source_hash);
  EXPECT_NE(first.contract_hash, second.contract_hash);
}

// A contract of somebody else had the compiler quote /etc/passwd in its log.
TEST(IncludePath, AFolderElsewhereMustBeGiven) {
  const TempFolder folder;
  for (const char* name :
       {"elsewhere/deep/h.cuh", "kernels/lib/h.cuh", "kernels/below/lib/h.cuh"}) {
    folder.write(name, "");
  }
  folder.write("kernels/below/relu.cu", "");
  const std::filesystem::path kernels = folder / "kernels";
  const auto path_of = [&](const std::string& include, const std::string& given) {
    const auto yaml = folder.write(
        "kernels/below/relu.yaml",
        contract("relu", "types: {T: [f32]}\ncompile: {include: [" + include + "]}\n"));
    return include_path(load_twins(yaml).front(), {kernels, folder / given});
  };
  const auto refusal = [&](const std::string& include, const std::string& given) {
    return message_of<SpecError>([&] { path_of(include, given); });
  };
  EXPECT_EQ(path_of("lib", "kernels").front(), kernels / "below/lib");
  EXPECT_EQ(path_of("../lib", "kernels").front(), kernels / "lib");
  for (const char* given : {"elsewhere", "elsewhere/deep"}) {
    EXPECT_EQ(refusal("../../elsewhere/deep", given), "") << given;
  }
  std::filesystem::create_directory_symlink("/etc", kernels / "below/link");
  for (const char* include : {"/etc", "link", "../../elsewhere", "../.."}) {
    EXPECT_THAT(refusal(include, "elsewhere/deep"),
                AllOf(HasSubstr("relu.yaml:4:21: "), HasSubstr("outside of the contract's folder"),
                      HasSubstr("--include /")))
        << include;
  }
}

}  // namespace
}  // namespace assay
