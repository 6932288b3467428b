#include <fmt/format.h>

#include "base/error.h"
#include "matchers.h"
#include "message_of.h"
#include "spec/loaded_kernels.h"

namespace assay {
namespace {

KernelSpec compiled_with(const std::string& compile) {
  return with_reference("  - sum: {x: A, out: C}\n",
                        "params: {FMAD: [0, 1], CACHE: [ca, cg], LEVEL: [0, 5, 11]}\n"
                        "let: {half: M / 2}\ncompile: {" +
                            compile + "}\n");
}

std::string refusal(const std::string& compile) {
  return message_of<SpecError>([&] { compiled_with(compile); });
}

// Eight kernels had a macro that is a size, and contracts that allowed one problem each.
TEST(ReadCompile, AMacroMayBeAnExpressionOfTheContractsNames) {
  const auto has_value = [](const std::string& text) {
    const KernelSpec kernel = compiled_with(fmt::format("define: {{X: \"{}\"}}", text));
    EXPECT_EQ(kernel.compile.define.at("X").text, text);
    return kernel.compile.define.at("X").value.has_value();
  };
  for (const char* text : {"M", "cdiv(M, 32)", "half + FMAD", "device.sm_count", "M > 4 ? 1 : 2"}) {
    EXPECT_TRUE(has_value(text)) << text;
  }
  for (const char* text : {"1", "1 + 2", "float", "unsigned int", "CACHE", "cg", "M * sizeof(int)",
                           "f(M)", "CACHE == cg ? M : 1"}) {
    EXPECT_FALSE(has_value(text)) << text;
  }
  EXPECT_TRUE(is_compiled_per_problem(compiled_with("define: {X: half}")));
  EXPECT_FALSE(is_compiled_per_problem(compiled_with("define: {X: FMAD + 1, Y: '2'}")));
  for (const char* text : {"1 /* 2", "1 \\\\"}) {
    EXPECT_THAT(refusal(fmt::format("define: {{X: \"{}\"}}", text)), HasSubstr("on one line"));
  }
}

TEST(ReadCompile, OptionsAreKeptUnderTheirLongNames) {
  const KernelSpec kernel = compiled_with(
      "fast_math: FMAD == 1, fmad: FMAD, lineinfo: true, options: [-prec-div=false, "
      "{\"--ftz=true\": FMAD == 0}, \"--fmad={FMAD}\", -device-int128], ptxas: [-O3, "
      "\"-dlcm={CACHE}\"]");
  std::vector<std::string> texts;
  for (const OptionSpec& option : kernel.compile.options) {
    texts.push_back(option.text + (option.when ? " if " + option.when->expr.text() : ""));
  }
  EXPECT_THAT(texts, ElementsAre("--fmad=false if !(FMAD)", "--generate-line-info if 1",
                                 "--prec-div=false", "--ftz=true if FMAD == 0", "--fmad={FMAD}",
                                 "--device-int128", "--ptxas-options=--opt-level=3",
                                 "--ptxas-options=--def-load-cache={CACHE}"));
  EXPECT_EQ(kernel.compile.fast_math->expr.text(), "FMAD == 1");
  EXPECT_THAT(compiled_with("fmad: true, lineinfo: false, fast_math: false").compile.options,
              IsEmpty());
}

TEST(ReadCompile, OtherOptionsAreRefused) {
  EXPECT_THAT(refusal("options: [-I/]"), HasSubstr("expected an option that changes no more than "
                                                   "speed and rounding, one of --fmad, --ftz, "));
  for (const char* option : {"--device-debug", "-DX=1", "--std=c++17", "-arch=sm_80", "--fmad",
                             "--fmadx=true", "--fmad=maybe", "--generate-line-info=1", "-O3",
                             "--fmad={NONE}", "--fmad={LEVEL}", "--ptxas-options=-O3"}) {
    EXPECT_NE(refusal(fmt::format("options: [\"{}\"]", option)), "") << option;
  }
  for (const char* option : {"-v", "-O4", "-O", "-dlcm=xx", "--register-usage-level=11",
                             "--register-usage-level={LEVEL}", "-g", "--fmad=false", "-o=x"}) {
    EXPECT_NE(refusal(fmt::format("ptxas: [\"{}\"]", option)), "") << option;
  }
  EXPECT_THAT(refusal("ptxas: [-dlcm=zz]"),
              HasSubstr("expected --def-load-cache with one of ca, cg, cs, cv, lu, found \"zz\""));
  EXPECT_THAT(refusal("fast_math: M > 4"), HasSubstr("\"M > 4\" depends on M"));
  EXPECT_THAT(refusal("options: [{\"--fmad=false\": half}]"), HasSubstr("depends on M"));
}

}  // namespace
}  // namespace assay
