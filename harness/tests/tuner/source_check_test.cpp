#include "tuner/source_check.h"

#include "spec/spec_files.h"
#include "temp_folder.h"

#include "matchers.h"

namespace assay {
namespace {

constexpr const char* kCheckedContract = R"(kernel: k
op: k
arch: [80]
dims: [N]
params: {BLOCK: [64, 128], UNROLL: [1, 2]}
constraints: [UNROLL < BLOCK]
args:
  - {name: x, dtype: f32, shape: [N], role: in}
  - {name: y, dtype: f32, shape: [N], role: out}
  - {name: n, dtype: i32, value: N}
launches: [{grid: [cdiv(N, BLOCK)], block: [BLOCK]}]
work: {flops: N, bytes: 8 * N}
reference: [{add: {a: x, b: x, out: y}}]
smoke: {N: 1000}
)";

std::vector<std::string> warnings_of(const std::string& source,
                                     std::string contract = kCheckedContract) {
  const TempFolder folder;
  folder.write("k.cu", source);
  std::vector<std::string> warnings =
      source_warnings(load_kernel(folder.write("k.yaml", contract)), {folder.path()});
  for (std::string& warning : warnings) replace_all(warning, folder.path().string() + "/", "");
  return warnings;
}

const std::string kCheckedBody = "{ y[n] = UNROLL * x[n]; }\n";

TEST(SourceCheck, ASourceThatFitsItsContractIsFine) {
  EXPECT_THAT(warnings_of("__global__ void k(const float* x, float* y, int n) " + kCheckedBody),
              IsEmpty());
  // Names are the source's own business, and vectors and bytes are ways to read elements.
  EXPECT_THAT(warnings_of("__global__ void k(const float4* in, unsigned char* y, unsigned n) " +
                          kCheckedBody),
              IsEmpty());
}

TEST(SourceCheck, NamesParametersThatNothingReads) {
  EXPECT_THAT(warnings_of("// UNROLL\n__global__ void k(const float* x, float* y, int n) {}\n"),
              ElementsAre("k.yaml:5:28: neither a source nor a launch reads UNROLL: whatever the "
                          "value, the code is the same"));
  // BLOCK is read by the launch alone, and another one by a header.
  const TempFolder folder;
  folder.write("k.cu", "#include \"k.h\"\n__global__ void k(const float* x, float* y, int n) {}\n");
  folder.write("k.h", "constexpr int kUnroll = UNROLL;\n");
  EXPECT_THAT(source_warnings(load_kernel(folder.write("k.yaml", kCheckedContract)), {}),
              IsEmpty());
}

TEST(SourceCheck, NamesArgumentsOfOtherTypes) {
  EXPECT_THAT(warnings_of("__global__ void k(const double* x, float* y, float n) " + kCheckedBody),
              ElementsAre(HasSubstr("n is i32, but k takes float there"),
                          HasSubstr("x is f32, but k takes double* there")));
  EXPECT_THAT(warnings_of("typedef half real;\n__global__ void k(const real* x, float* y, int n) " +
                          kCheckedBody),
              ElementsAre(HasSubstr("x is f32, but k takes half* there")));
}

// The text of a template says `T*`: only its name in machine code says what T is.
TEST(SourceCheck, NamesArgumentsOfOtherTypesThanATemplateTakes) {
  const TempFolder folder;
  folder.write("k.cu", "");
  std::string contract = kCheckedContract;
  replace_all(contract, "{grid:", "{entry: \"ns::k<float, BLOCK>\", grid:");
  const KernelSpec kernel = load_kernel(folder.write("k.yaml", contract));
  const auto warnings_of = [&](const char* symbol) {
    const Config config = {{"BLOCK", std::int64_t{64}}, {"UNROLL", std::int64_t{1}}};
    return template_warnings(kernel, config, {{"ns::k<float, 64>", symbol}});
  };
  EXPECT_THAT(warnings_of("_ZN2ns1kIfLi64EEEvPKT_PS1_i"), IsEmpty());
  EXPECT_THAT(warnings_of("_ZN2ns1kI6__halfLi64EEEvPKT_PS2_f"),
              ElementsAre(HasSubstr("x is f32, but ns::k<float, 64> takes __half* there"),
                          HasSubstr("y is f32, but ns::k<float, 64> takes __half* there"),
                          HasSubstr("n is i32, but ns::k<float, 64> takes float there")));
  // Another number of parameters is an error of its own, and a name in C has no types.
  EXPECT_THAT(warnings_of("_ZN2ns1kIfLi64EEEvPKT_"), IsEmpty());
  EXPECT_THAT(warnings_of("k"), IsEmpty());
}

TEST(SourceCheck, NamesPointersInAnotherOrderThanTheirNames) {
  EXPECT_THAT(warnings_of("__global__ void k(float* y, float* x, int n) " + kCheckedBody),
              ElementsAre(HasSubstr("k gets x where it takes y, and y where it takes x")));
}

TEST(SourceCheck, NamesALaunchWhoseBlocksWaitForEachOther) {
  const std::string source =
      "#include <cooperative_groups.h>\n__global__ void k(const float* x, float* y, int n) {\n"
      "cooperative_groups::this_grid().sync(); y[n] = UNROLL; }\n";
  EXPECT_THAT(warnings_of(source), ElementsAre(HasSubstr("needs `cooperative: true`")));
  std::string contract = kCheckedContract;
  replace_all(contract, "block: [BLOCK]", "block: [BLOCK], cooperative: true");
  EXPECT_THAT(warnings_of(source, contract), IsEmpty());
}

}  // namespace
}  // namespace assay
