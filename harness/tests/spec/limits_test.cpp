#include "base/limits.h"

#include <functional>
#include <string>

#include "matchers.h"
#include "message_of.h"
#include "spec/sweep_spec.h"
#include "temp_folder.h"

namespace assay {
namespace {

/// `count` pieces in a row, the i-th from `piece(i)`.
std::string pieces(std::size_t count, const std::function<std::string(std::size_t)>& piece) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece(i);
  return text;
}

struct Parts {
  std::string dims = "[N]";
  std::string params = "{}";
  std::string let = "{}";
  std::string constraints = "[N > 0]";
  std::string smoke = "{N: 1}";
};

class Limits : public ::testing::Test {
 protected:
  KernelSpec load(const Parts& parts) {
    folder_.write("x.cu", "");
    return load_kernel(folder_.write(
        "x.yaml", "kernel: x\nop: x\narch: [80]\ndims: " + parts.dims + "\nparams: " +
                      parts.params + "\nlet: " + parts.let + "\nconstraints: " + parts.constraints +
                      "\nargs: [{name: A, dtype: f32, shape: [N], role: in, fill: normal}, "
                      "{name: C, dtype: f32, shape: [N], role: out}]" +
                      "\nlaunches: [{grid: [1], block: [1]}]\nwork: {flops: 1, bytes: 1}" +
                      "\nreference: [{add: {a: A, b: A, out: C}}]\nsmoke: " + parts.smoke + "\n"));
  }
  std::string refusal(const Parts& parts) {
    const std::string message = message_of<SpecError>([&] { load(parts); });
    return message.substr(0, message.find('\n'));
  }

  TempFolder folder_;
};

// 440 kB became 23 GB: each alias of a long expression was parsed anew.
TEST_F(Limits, AliasesDoNotGrow) {
  Parts parts;
  parts.constraints = "[&a " + pieces(50'000, [](auto) { return "N+"; }) + "N" +
                      pieces(10'000, [](auto) { return ", *a"; }) + "]";
  EXPECT_THAT(refusal(parts), HasSubstr("x.yaml:7:15: expected at most 4194304 bytes with every "
                                        "alias written out, found more"));
  // Lists of lists double at each step.
  parts.constraints =
      "[" +
      pieces(40,
             [](std::size_t i) {
               const std::string before = i == 0 ? "N" : "*a" + std::to_string(i - 1);
               return "&a" + std::to_string(i) + " [" + before + ", " + before + "], ";
             }) +
      "N]";
  EXPECT_THAT(refusal(parts), HasSubstr("with every alias written out"));
}

// It was called a bad file, with no word of why.
TEST_F(Limits, NestingHasABound) {
  Parts parts;
  parts.constraints = std::string(100'000, '[') + "N" + std::string(100'000, ']');
  EXPECT_THAT(refusal(parts), ::testing::ContainsRegex("x.yaml:7:[0-9]+: nested more than [0-9]+ "
                                                       "levels deep"));
}

TEST_F(Limits, NamesHaveABound) {
  const auto name = [](const char* prefix, const char* rest) {
    return [=](std::size_t i) { return prefix + std::to_string(i) + rest; };
  };
  Parts parts;
  parts.dims = "[" + pieces(100'000, name("D", ", ")) + "N]";
  EXPECT_THAT(refusal(parts), HasSubstr("expected at most 64 dims, found 100001"));
  parts = {};
  parts.params = "{" + pieces(20'000, name("P", ": [1], ")) + "}";
  EXPECT_THAT(refusal(parts), HasSubstr("expected at most 1024 parameters, found 20000"));
  parts = {};
  parts.let = "{" + pieces(20'000, name("x", ": 1, ")) + "}";
  EXPECT_THAT(refusal(parts), HasSubstr("expected at most 4096 lets, found 20000"));
  parts = {};
  parts.constraints = "[" + pieces(20'000, [](auto) { return "1, "; }) + "]";
  EXPECT_THAT(refusal(parts), HasSubstr("expected at most 4096 constraints, found 20000"));
}

// Took the square of their number.
TEST_F(Limits, ManyValuesAndWordsAreNoBurden) {
  Parts parts;
  parts.params =
      "{P: [" + pieces(120'000, [](std::size_t i) { return std::to_string(i) + ", "; }) + "-1]}";
  EXPECT_EQ(load(parts).params[0].values.size(), 120'001u);
  parts.params = "{P: [" +
                 pieces(100'000, [](std::size_t i) { return "w" + std::to_string(i) + ", "; }) +
                 "z]}";
  EXPECT_EQ(load(parts).params[0].values.size(), 100'001u);
  folder_.write("s.yaml",
                "sweep: s\nkernels: [x]\nproblems: [{N: 1}]\nparams: {P: [" +
                    pieces(100'000, [](std::size_t i) { return "w" + std::to_string(i) + ", "; }) +
                    "]}\n");
  const SweepSpec sweep = load_sweep(folder_.path() / "s.yaml", folder_.path());
  EXPECT_EQ(sweep.kernels[0].params[0].values.size(), 100'000u);
}

TEST_F(Limits, AFileWithoutAnEndIsRefused) {
  EXPECT_THAT([] { load_kernel("/dev/zero"); },
              ThrowsMessage<UsageError>("/dev/zero: expected at most 1048576 bytes, found more"));
}

}  // namespace
}  // namespace assay
