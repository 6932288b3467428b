#include "compile/compiler_log.h"

#include "compile/nvrtc_compiler_fixture.h"

#include "matchers.h"

namespace assay {
namespace {

class HintsTest : public NvrtcCompilerTest {};

// Whoever brings a kernel from nvcc meets these first, and NVRTC says no more than "undefined".
TEST_F(HintsTest, CodeForTheHostIsToldWhatToWrite) {
  const auto log = [&](const std::string& text) { return compile(job(text)).log; };
  EXPECT_THAT(
      log("#include <cstdint>\n"),
      EndsWith("NVRTC has no <cstdint> of the host: write #include <cuda/std/cstdint>, whose "
               "names are in cuda::std\n"));
  EXPECT_THAT(log("#include <stdio.h>\n"), EndsWith("leave it out; printf is built in\n"));
  // The toolkit has no <cuda/std/algorithm>, which was the advice once.
  EXPECT_THAT(log("#include <algorithm>\n"), EndsWith("min and max are built in\n"));
  EXPECT_THAT(log("#include <vector>\n"), EndsWith("with the code that runs on the host\n"));
  EXPECT_THAT(log("float f() { return INFINITY; }\n"),
              EndsWith("\nINFINITY is of no header here: write #include <cuda/std/cmath>\n"));
  EXPECT_THAT(log("uint f() { return 1; }\n"), HasSubstr("\nuint is of no header here: write un"));
  EXPECT_THAT(log("uint32_t f() { return 1; }\n"), EndsWith("write #include <cuda/std/cstdint>\n"));
  EXPECT_THAT(log("int f() { return std::max(1, 2); }\n"), HasSubstr("write cuda::std::max"));
}

TEST_F(HintsTest, TheAdviceCompiles) {
  const CompileResult result = compile(
      job("#include <cuda/std/cmath>\n#include <cuda/std/cstdint>\n#include <cuda/std/climits>\n"
          "#include <cuda/std/limits>\n#include <math_constants.h>\n#include <cuda_fp16.h>\n"
          "float f(half2*) {\n  printf(\"%d\", INT_MAX);\n  assert(true);\n  uint32_t i = 1;\n"
          "  return INFINITY + NAN + i + cuda::std::numeric_limits<float>::epsilon() + CUDART_PI;\n"
          "}\n"));
  EXPECT_TRUE(result.ok) << result.log;
}

TEST(Hints, OtherMistakesHaveNone) {
  EXPECT_EQ(hints(""), "");
  EXPECT_EQ(hints("x.cu(1): error: identifier \"foo\" is undefined\n"), "");
  EXPECT_EQ(hints("cannot open source file \"own.cuh\"\nidentifier \"open"), "");
}

}  // namespace
}  // namespace assay
