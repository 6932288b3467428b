#include "report/space_view.h"

#include <nlohmann/json.hpp>

#include "matchers.h"

namespace assay {
namespace {

KernelRow kernel(const std::string& name) {
  return {name,
          "gemm_bf16",
          "C = A @ B",
          {"80", "90a"},
          {{{{"M", 16}}, 120, 90, {{"smem <= 100", 20}, {"cdiv(M, 2) > 1", 10}}},
           {{{"M", 32}}, 120, 100, {{"smem <= 100", 20}, {"cdiv(M, 2) > 1", 0}}}}};
}

TEST(SpacesText, ShowsWhatEachConstraintRemoved) {
  const std::string text = spaces_text({kernel("gemm_mma")}, "H100");
  EXPECT_THAT(text, HasSubstr("gemm_mma (gemm_bf16), M=16, on H100\n"
                              "configurations\n"
                              "------------------------------\n"
                              "           120  in all\n"
                              "           -20  smem <= 100\n"
                              "           -10  cdiv(M, 2) > 1\n"
                              "            90  valid\n"));
  EXPECT_THAT(text, HasSubstr("M=32"));
}

// Where no constraint removes any, a terminal got a table without numbers.
TEST(SpacesText, HasItsNumbersOnATerminal) {
  KernelRow all = kernel("a");
  all.spaces = {{{{"M", 16}}, 18, 18, {}}};
  EXPECT_THAT(spaces_text({all}, "H100", {80}),
              HasSubstr("            18  in all\n            18  valid\n"));
}

TEST(ListText, SumsASweepOverKernelsAndProblems) {
  const SweepRow sweep{"gemm_h200", "sweeps/gemm_h200.yaml",   "exhaustive", "cold",
                       2,           {kernel("a"), kernel("b")}};
  const std::string text = list_text({}, {sweep}, "H100");
  EXPECT_THAT(text, HasSubstr("a b             2  480    380  exhaustive"));
  EXPECT_THAT(text, Not(HasSubstr("summary")));
}

TEST(ListText, ShowsAKernelsFirstSpace) {
  EXPECT_THAT(list_text({kernel("gemm_mma")}, {}, "H100"),
              HasSubstr("gemm_mma  gemm_bf16  80 90a  120     90  M=16  C = A @ B"));
}

TEST(ListText, SaysWhatWasNotCountedToTheEnd) {
  KernelRow partly = kernel("b");
  partly.spaces[1].whole = false;
  const SweepRow sweep{"open", "open.yaml", "auto", "cold", 2, {kernel("a"), partly}};
  const std::string text = list_text({}, {sweep}, "H100");
  EXPECT_THAT(text, HasSubstr("480  over 380  auto"));
  EXPECT_THAT(text, HasSubstr("`assay list FILE` counts further"));
  EXPECT_THAT(list_text({kernel("a")}, {}, "H100"), Not(HasSubstr("over")));
  const auto json = nlohmann::json::parse(list_json({}, {sweep}, "H100", {}));
  EXPECT_EQ(json["sweeps"][0]["is_whole"], false);
  EXPECT_EQ(json["sweeps"][0]["kernels"][0]["spaces"][1]["is_whole"], true);
}

TEST(ListJson, EverySpaceAddsUp) {
  const auto json = nlohmann::json::parse(list_json(
      {kernel("gemm_mma")}, {{"s", "s.yaml", "random", "hot", 2, {kernel("a")}}}, "H100", {}));
  for (const auto& space : json["kernels"][0]["spaces"]) {
    int sum = space["num_valid"].get<int>();
    for (const auto& removal : space["removed"]) sum += removal["num_configs"].get<int>();
    EXPECT_EQ(sum, space["num_raw"].get<int>());
  }
  EXPECT_EQ(json["sweeps"][0]["num_valid"], 190);
  EXPECT_EQ(json["device"], "H100");
  EXPECT_EQ(json["error"], nullptr);
}

TEST(ListJson, SaysWhatIsWrongWithTheOtherFiles) {
  const auto json = nlohmann::json::parse(list_json({}, {}, "H100", {"a:1:1: no", "b:1:1: no"}));
  EXPECT_EQ(json["error"], "a:1:1: no\nb:1:1: no");
}

}  // namespace
}  // namespace assay
