#include "spec/op_file.h"

#include <map>

#include "base/file.h"
#include "matchers.h"
#include "message_of.h"
#include "spec/loaded_kernels.h"
#include "spec/problems.h"
#include "spec/twins.h"
#include "temp_folder.h"

namespace assay {
namespace {

const char* const kScale = R"(op: scale_T
dims: [M, N]
types: {T: [f32, f16]}
let: {size: M * N}
args:
  - {name: x, dtype: T, shape: [M, N], role: in}
  - {name: taps, dtype: f32, shape: [N], role: in}
  - {name: y, dtype: T, shape: [M, N], role: out}
may_prepare: [taps]
work: {flops: size, bytes: 8 * size}
reference: [{kernel: {source: plain/ref.cu, entry: scale, args: [x, taps, y], grid: [M], block: [1]}}]
deterministic: true
smoke: {M: 3, N: 5}
problems: [{M: [7, 8], N: 9}]
)";

const char* const kKernel = R"YAML(kernel: mine
op: scale_T
arch: [80]
params: {BLOCK: [64, 128]}
let: {blocks: "cdiv(size, BLOCK)"}
args: [{name: spare, dtype: T, shape: [blocks], role: scratch}, y, {name: taps, symbol: filter}, M, blocks]
launches: [{grid: [blocks], block: [BLOCK]}]
)YAML";

class OpFileTest : public testing::Test {
 protected:
  OpFileTest() {
    folder_.write("kernels/ops/scale.yaml", kScale);
    folder_.write("kernels/plain/ref.cu", "");
    folder_.write("kernels/mine.cu", "");
  }

  std::vector<KernelSpec> load_edited(std::string_view from = "", std::string_view to = "") {
    std::string text = kKernel;
    if (!from.empty()) replace_all(text, from, to);
    return load_twins(folder_.write("kernels/mine.yaml", text));
  }

  /// What is wrong with the contract where it is edited, without the folder's name.
  std::string mistake(std::string_view from, std::string_view to) {
    std::string message = message_of<SpecError>([&] { load_edited(from, to); });
    replace_all(message, folder_.path().generic_string() + "/kernels/", "");
    return message.substr(0, message.find('\n'));
  }

  TempFolder folder_;
};

std::vector<std::string> arg_names(const KernelSpec& kernel) {
  std::vector<std::string> names;
  for (const ArgSpec& each : kernel.args) names.push_back(each.name);
  return names;
}

TEST_F(OpFileTest, PutsWhatTheOpSaysAheadOfWhatTheKernelSays) {
  const std::vector<KernelSpec> kernels = load_edited();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].op, "scale_f32");
  EXPECT_EQ(kernels[1].op, "scale_f16");
  EXPECT_EQ(kernels[1].name, "mine_f16");
  const KernelSpec& kernel = kernels[0];
  EXPECT_THAT(arg_names(kernel), ElementsAre("x", "spare", "y", "taps", "M", "blocks"));
  EXPECT_EQ(kernel.lets[0].name, "size");
  EXPECT_EQ(buffer(kernel, "taps").symbol, "filter");
  EXPECT_EQ(std::get<ScalarSpec>(arg(kernel, "blocks").form).dtype, DType::i32);
  EXPECT_EQ(to_text(kernel.smoke), "M=3,N=5");
  ASSERT_EQ(kernel.problems.size(), 2u);
  EXPECT_EQ(to_text(kernel.problems[1]), "M=8,N=9");
  EXPECT_TRUE(kernel.deterministic);
  // Files that the op names are seen from the folder that holds `ops`.
  EXPECT_EQ(kernel.reference[0].kernel->source, folder_.path() / "kernels/plain/ref.cu");
}

TEST_F(OpFileTest, IsFoundFromAFolderBeside) {
  folder_.write("kernels/examples/mine.cu", "");
  const auto path = folder_.write("kernels/examples/mine.yaml", kKernel);
  EXPECT_EQ(load_kernel(path).op, "scale_f32");
}

TEST_F(OpFileTest, AKernelMayBeOfOneType) {
  const std::vector<KernelSpec> kernels = load_edited("scale_T", "scale_f16");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].op, "scale_f16");
  EXPECT_EQ(kernels[0].name, "mine");
  EXPECT_EQ(buffer(kernels[0], "spare").dtype, DType::f16);
}

TEST_F(OpFileTest, AKernelMayHaveASmokeProblemOfItsOwn) {
  EXPECT_EQ(to_text(load_edited("launches", "smoke: {M: 2, N: 2}\nlaunches")[0].smoke), "M=2,N=2");
}

// Whoever writes the contract once wrote the exam, too: its inputs, its reference and its limits.
TEST_F(OpFileTest, RefusesWhatIsTheOps) {
  const std::map<std::string, std::string> sections = {{"dims", "[M]"},
                                                       {"types", "{T: [f32]}"},
                                                       {"traits", "{eps: 1}"},
                                                       {"work", "{flops: 1, bytes: 1}"},
                                                       {"reference", "[]"},
                                                       {"baseline", "[]"},
                                                       {"deterministic", "false"},
                                                       {"tolerance", "{relative: 0.5}"},
                                                       {"may_prepare", "[x]"},
                                                       {"problems", "[{M: 1, N: 1}]"}};
  for (const auto& [key, value] : sections) {
    EXPECT_THAT(mistake("launches", key + ": " + value + "\nlaunches"),
                HasSubstr("mine.yaml:7:1: \"" + key + "\" is the op's, whose file "))
        << key;
  }
  EXPECT_EQ(mistake("role: scratch", "role: in"),
            "mine.yaml:6:55: expected scratch or prepared, since the op says what is passed, found "
            "\"in\"");
  EXPECT_THAT(mistake("symbol: filter", "fill: zeros"), HasSubstr("unknown key \"fill\" in an"));
  EXPECT_THAT(mistake("blocks: \"", "size: 7, blocks: \""), HasSubstr("which is a let already"));
}

TEST_F(OpFileTest, LetsBePreparedWhatTheOpSays) {
  const auto prepare = [&](const std::string& input) {
    const std::string args = "{name: made, dtype: f32, shape: [N], role: prepared}, y, taps, M";
    return mistake("y, {name: taps, symbol: filter}, M, blocks]",
                   args +
                       "]\nprepare: [{entry: p, grid: [1], "
                       "block: [1], args: [" +
                       input + ", made]}]");
  };
  EXPECT_EQ(prepare("taps"), "");
  EXPECT_THAT(prepare("x"),
              HasSubstr("expected an input that the op lets be prepared (taps), found \"x\""));
}

TEST_F(OpFileTest, MistakesOfTheOpStandInItsFile) {
  std::string text = kScale;
  replace_all(text, "role: out}", "role: scratch}");
  folder_.write("kernels/ops/scale.yaml", text);
  EXPECT_EQ(
      mistake("", ""),
      "ops/scale.yaml:8:46: expected what a caller passes, found scratch, which is a kernel's");
}

TEST_F(OpFileTest, AContractWithoutAnOpFileStaysWhole) {
  const std::string text = read_file(spec_tests() / "kernels/add_chain.yaml");
  EXPECT_TRUE(load_text("add_chain", text).op_path.empty());
}

// A family of tasks has a plain kernel, which runs all public problems; the hidden ones fit, too.
TEST(ShippedOps, HaveProblemsThatTheirNaiveKernelsTake) {
  const std::filesystem::path kernels = std::filesystem::path(ASSAY_SOURCE_DIR) / "kernels";
  int num_kernels = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kernels / "naive")) {
    if (entry.path().extension() != ".yaml") continue;
    ++num_kernels;
    for (const KernelSpec& kernel : load_twins(entry.path())) {
      EXPECT_FALSE(kernel.problems.empty()) << kernel.name;
      const auto hidden = kernels / "ops/hidden" / kernel.op_path.filename();
      EXPECT_NO_THROW(read_problems(*load_yaml(hidden)->find("problems"), {kernel.dims, {}}))
          << hidden;
    }
  }
  EXPECT_GE(num_kernels, 9);
}

}  // namespace
}  // namespace assay
