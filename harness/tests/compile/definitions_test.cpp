#include "compile/definitions.h"

#include "base/error.h"
#include "compile/nvrtc_compiler_fixture.h"
#include "matchers.h"

namespace assay {
namespace {

Config one(std::string name, Value value) { return {{std::move(name), std::move(value)}}; }

TEST(DefinitionsTest, ParametersAndMacrosAreDefinedOnce) {
  const CompileSettings settings{{{"TYPE", "unsigned int"}, {"BLOCK", "64"}}};
  const Config config{{"SHIFT", -1}, {"SCHEDULE", "row"}, {"BLOCK", 128}};
  EXPECT_THAT(
      definitions_of(config, settings),
      ElementsAre(Definition{"BLOCK", "128", true}, Definition{"SCHEDULE", "row", false},
                  Definition{"SHIFT", "-1", true}, Definition{"TYPE", "unsigned int", false}));
}

TEST(DefinitionsTest, NothingSmugglesInALine) {
  for (const char* word :
       {"", "a b", "1x", "a;b", "a\n-lineinfo", "-I/", "a=b", "\"a\"", "a(b)", "\xc3\xa9", "a\\"}) {
    EXPECT_THROW(definitions_of(one("X", word), {}), UsageError) << word;
    EXPECT_THROW(definitions_of(one(word, 1), {}), UsageError) << word;
    EXPECT_THROW(definitions_of({}, {{{word, "1"}}}), UsageError) << word;
  }
  for (const char* text : {"1\n#define Y", "a /* b", "a \\"}) {
    EXPECT_THROW(definitions_of({}, {{{"X", text}}}), UsageError) << text;
  }
}

TEST(DefinitionsTest, TheErrorNamesTheParameter) {
  EXPECT_THAT(
      [&] { definitions_of(one("SCHEDULE", "a b"), {}); },
      ThrowsMessage<UsageError>("SCHEDULE is \"a b\"; expected an integer or an identifier"));
}

/// What stands ahead of a source that uses `x`.
std::string defined(const std::string& text, const std::string& header = "") {
  SourceTree source;
  source.text = text;
  source.headers["@assay/h.cuh"] = header;
  return definition_headers({{"x", "5", true}}, source).front().second;
}

TEST(DefinitionsTest, TheNameOfAMemberIsAConstant) {
  const std::string macro = "#define x 5\n", constant = "[[maybe_unused]] constexpr auto x = 5;\n";
  EXPECT_EQ(defined("int a = x;"), macro);
  EXPECT_EQ(defined("int a = x + threadIdx.x;"), constant);
  EXPECT_EQ(defined("int a = x + p -> x;"), constant);
  EXPECT_EQ(defined("int a = x;", "int b = threadIdx.x;"), constant);
  EXPECT_EQ(defined("f(a...x, 1.xx, y.x1);"), macro);
  EXPECT_EQ(defined("#define GET(x) threadIdx.x\n"), constant);
  // A constant would be 0 there, without a word.
  EXPECT_EQ(defined("int a = threadIdx.x;\n # if x > 4\n#endif\n"), macro);
  EXPECT_EQ(defined("int a = threadIdx.x;\n#define WIDTH (x)\n"), macro);
  EXPECT_EQ(defined("int a = threadIdx.x;\n#elif defined(x)\n"), macro);
}

TEST(DefinitionsTest, AMemberThatHasToBeAMacroIsNamed) {
  SourceTree source;
  source.text = "int a = p.x + p->word + p.n;\n#if n > 3\n#endif\n";
  const std::vector<Definition> definitions = {
      {"n", "5", true}, {"other", "5", true}, {"word", "row", false}, {"x", "5", true}};
  EXPECT_THAT(members_that_are_macros(definitions, source), ElementsAre("n", "word"));
}

class DefinitionsCompileTest : public NvrtcCompilerTest {};

// T, value and size rewrote NVRTC's own header, N and m the toolkit's. So every configuration
// failed, in a file that its author had never seen.
TEST_F(DefinitionsCompileTest, UsualNamesLeaveOthersHeadersAlone) {
  write("include/own.cuh", "#pragma once\n#include <cuda_bf16.h>\nconstexpr int kOwn = width;\n");
  CompileJob usual = job(R"(#include <cub/block/block_reduce.cuh>
#include <curand_kernel.h>
#include "own.cuh"
#include <mma.h>
#include <cooperative_groups.h>
#include <cuda/std/tuple>
static_assert(T == 4 && N == 9 && kOwn == width && x == 40, "what is hidden comes back");
extern "C" __global__ void k(float* to) { to[threadIdx.x] = B + T + N + m + value; }
)");
  usual.config.clear();
  std::int64_t next = 0;
  for (const char* name :
       {"A",     "B",    "C",      "D",      "T",     "E",      "F",     "H",   "M",
        "N",     "K",    "L",      "P",      "Q",     "R",      "S",     "U",   "V",
        "W",     "X",    "Y",      "Z",      "a",     "b",      "c",     "d",   "e",
        "f",     "g",    "h",      "i",      "j",     "l",      "m",     "n",   "o",
        "p",     "q",    "r",      "s",      "x",     "y",      "z",     "t",   "u",
        "v",     "w",    "width",  "height", "depth", "size",   "mask",  "ptr", "val",
        "value", "type", "offset", "result", "res",   "level",  "end",   "id",  "src",
        "dst",   "len",  "length", "count",  "rank",  "stride", "index", "dim", "begin",
        "first", "last", "data",   "rows",   "cols",  "step",   "pos",   "tid", "num"}) {
    usual.config.emplace_back(name, next++);
  }
  const CompileResult result = compile(usual);
  EXPECT_TRUE(result.ok) << result.log;
}

TEST_F(DefinitionsCompileTest, AnErrorIsWhereItWas) {
  EXPECT_THAT(compile(job("\n#include <cuda_bf16.h>\n#include <none.h>\n")).log,
              StartsWith("x.cu(3): catastrophic error: cannot open source file \"none.h\"\n"
                         "  #include <none.h>\n"));
  write("include/h.cuh", "\n#include \"none.h\"\n");
  EXPECT_THAT(compile(job("#include \"h.cuh\"\n")).log,
              StartsWith("h.cuh(2): catastrophic error: cannot open source file \"none.h\"\n"));
  EXPECT_THAT(compile(job("#include <mma.h>\n\nint a = nothing;\n")).log,
              StartsWith("x.cu(3): error: identifier \"nothing\" is undefined"));
}

TEST_F(DefinitionsCompileTest, AMacroOfTheToolkitsReachesItsHeaders) {
  CompileJob set = job("#include <cuda_fp16.h>\n__half f(__half a) { return a + a; }\n");
  EXPECT_TRUE(compile(set).ok);
  set.settings.defines = {{"__CUDA_NO_HALF_OPERATORS__", "1"}};
  EXPECT_FALSE(compile(set).ok);
}

// A header that an #if leaves out need not be there.
TEST_F(DefinitionsCompileTest, AConditionDecidesOnAnInclude) {
  EXPECT_TRUE(compile(job("#if THREADS < 100\n#include <none.h>\n#endif\n")).ok);
  EXPECT_FALSE(compile(job("#if THREADS > 100\n#include <none.h>\n#endif\n")).ok);
}

TEST_F(DefinitionsCompileTest, WhatTheSourceDropsStaysDropped) {
  const CompileResult result = compile(job(
      "#undef THREADS\n#include <cuda_fp16.h>\n#ifdef THREADS\n#error \"it is back\"\n#endif\n"));
  EXPECT_TRUE(result.ok) << result.log;
}

// A source that gave a size another meaning had the old one again behind the next toolkit header:
// the baseline of an MoE layer then wrote M of its M * TOP rows.
TEST_F(DefinitionsCompileTest, AnotherMeaningStaysBehindAToolkitHeader) {
  for (const char* again : {"#undef THREADS\n#define THREADS kOther\n",
                            "# undef THREADS\n#  define\tTHREADS kOther  // larger\n"}) {
    const CompileResult result =
        compile(job(std::string("constexpr int kOther = 2 * THREADS;\n") + again +
                    "#include <cuda_fp16.h>\nstatic_assert(THREADS == kOther);\n"));
    EXPECT_TRUE(result.ok) << result.log;
  }
}

// PowerShell and Visual Studio write one, which is no token of C++.
TEST_F(DefinitionsCompileTest, AByteOrderMarkIsDropped) {
  write("include/h.cuh", "\xEF\xBB\xBF#pragma once\nconstexpr int kOne = 1;\n");
  const CompileResult result =
      compile(job("\xEF\xBB\xBF#include \"h.cuh\"\nstatic_assert(kOne == 1);\n"));
  EXPECT_TRUE(result.ok) << result.log;
}

}  // namespace
}  // namespace assay
