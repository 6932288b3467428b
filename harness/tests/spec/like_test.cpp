#include "spec/like.h"

#include "matchers.h"
#include "message_of.h"
#include "spec/loaded_kernels.h"
#include "temp_folder.h"

namespace assay {
namespace {

const char* const kBase = R"YAML(kernel: base
op: double_f32
summary: y[N] = 2 x[N]
arch: [80]
dims: [N]
params: {BLOCK: [64, 128], ITEMS: [1, 2]}
let: {tile: BLOCK * ITEMS, blocks: "cdiv(N, tile)"}
constraints: [tile <= 128]
default: {BLOCK: 64, ITEMS: 2}
args:
  - {name: x, dtype: f32, shape: [N], role: in}
  - {name: y, dtype: f32, shape: [N], role: out}
launches: [{grid: [blocks], block: [BLOCK]}]
work: {flops: N, bytes: 8 * N}
reference: [{add: {a: x, b: x, out: y}}]
smoke: {N: 100}
)YAML";

class LikeTest : public testing::Test {
 protected:
  LikeTest() {
    write("base", kBase);
    folder_.write("mine.cu", "");
  }

  std::filesystem::path write(const std::string& name, const std::string& text) {
    return folder_.write(name + ".yaml", text);
  }

  KernelSpec load_mine(const std::string& rest) {
    return load_kernel(write("mine", "kernel: mine\nlike: base\n" + rest));
  }

  /// The first line of what is wrong, without the folder's name.
  std::string mistake(const std::string& rest) {
    std::string message = message_of<SpecError>([&] { load_mine(rest); });
    replace_all(message, folder_.path().generic_string() + "/", "");
    return message.substr(0, message.find('\n'));
  }

  TempFolder folder_;
};

TEST_F(LikeTest, TakesWhatTheContractDoesNotSay) {
  const KernelSpec kernel = load_mine(
      "params: {SHIFT: [0, 1], BLOCK: [256]}\n"
      "let: {pair: 2 * tile, blocks: \"cdiv(N, pair)\", last: blocks - 1}\n"
      "constraints: [SHIFT < tile]\n"
      "smoke: {N: 7}\n");
  EXPECT_EQ(kernel.name, "mine");
  EXPECT_EQ(kernel.op, "double_f32");
  EXPECT_EQ(kernel.summary, "");
  EXPECT_EQ(kernel.launches[0].entry, "mine");
  EXPECT_EQ(to_text(kernel.smoke), "N=7");
  EXPECT_THAT(texts(kernel.constraints), ElementsAre("tile <= 128", "SHIFT < tile"));
  // New entries stand where the file has them: ahead of the base's that follow, else last.
  std::vector<std::string> params, lets;
  for (const ParamSpec& param : kernel.params) params.push_back(param.name);
  for (const LetSpec& let : kernel.lets) lets.push_back(let.name + "=" + let.value.expr.text());
  EXPECT_THAT(params, ElementsAre("SHIFT", "BLOCK", "ITEMS"));
  EXPECT_EQ(kernel.params[1].values, std::vector<Value>{std::int64_t{256}});
  EXPECT_THAT(lets, ElementsAre("tile=BLOCK * ITEMS", "pair=2 * tile", "blocks=cdiv(N, pair)",
                                "last=blocks - 1"));
}

TEST_F(LikeTest, HasNoDefaultButItsOwn) {
  EXPECT_EQ(to_text(load_default_config(load_mine(""))), "");
  EXPECT_EQ(to_text(load_default_config(load_mine("default: {BLOCK: 128, ITEMS: 1}\n"))),
            "BLOCK=128,ITEMS=1");
}

TEST_F(LikeTest, AnOpMayBeLikeAnother) {
  folder_.write("ops/twice.yaml",
                "op: twice\nsummary: s\ndims: [N]\nlet: {half: N / 2}\nargs:\n"
                "  - {name: x, dtype: f32, shape: [N], role: in}\n"
                "  - {name: y, dtype: f32, shape: [N], role: out}\n"
                "work: {flops: N, bytes: 8 * N}\nreference: [{add: {a: x, b: x, out: y}}]\n"
                "smoke: {N: 100}\n");
  folder_.write("ops/relu.yaml", "op: relu\nlike: twice\nreference: [{relu: {x: x, out: y}}]\n");
  const KernelSpec kernel = load_kernel(write(
      "mine", "kernel: mine\nop: relu\narch: [80]\nlaunches: [{grid: [half], block: [2]}]\n"));
  EXPECT_EQ(kernel.reference[0].operation, "relu");
  EXPECT_EQ(kernel.summary, "");
  EXPECT_EQ(to_text(kernel.smoke), "N=100");
  folder_.write("ops/relu.yaml", "like: twice\n");
  EXPECT_THROW(load_kernel(folder_.path() / "mine.yaml"), SpecError);
}

TEST_F(LikeTest, MistakesStandInTheFileThatHasThem) {
  EXPECT_EQ(mistake(""), "");
  EXPECT_THAT(mistake("dims: [M]\n"), HasSubstr("base.yaml:7:"));
  EXPECT_THAT(mistake("constraints: [Q > 1]\n"), HasSubstr("mine.yaml:3:15: "));
  EXPECT_THAT(mistake("tile: 4\n"), HasSubstr("mine.yaml:3:1: unknown key \"tile\""));
  EXPECT_THAT(mistake("#? smoke: {N: 7}\n"), HasSubstr("mine.yaml:3:1: a guess of a draft"));
}

TEST_F(LikeTest, TheOtherContractIsWholeAndLiesBeside) {
  write("base", "kernel: base\nlike: other\n");
  EXPECT_EQ(mistake(""), "mine.yaml:2:7: expected a file that is not like another, found \"base\"");
  std::filesystem::remove(folder_.path() / "base.yaml");
  EXPECT_EQ(mistake(""), "mine.yaml:2:7: expected a file beside this one, found no base.yaml");
}

}  // namespace
}  // namespace assay
