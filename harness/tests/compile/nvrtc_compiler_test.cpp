#include "compile/nvrtc_compiler.h"

#include <thread>

#include "base/file.h"
#include "compile/nvrtc_compiler_fixture.h"
#include "matchers.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::MatchesRegex;

TEST_F(NvrtcCompilerTest, AGoodKernelIsACubinWithAReport) {
  const CompileResult result = compile(job(kGood));
  ASSERT_TRUE(result.ok) << result.log;
  EXPECT_THAT(result.log, IsEmpty());
  EXPECT_THAT(read_file(result.cubin_path), StartsWith("\x7f"
                                                       "ELF"));
  EXPECT_FALSE(result.report.cached);
  EXPECT_GT(result.report.compile_ms, 0);
  EXPECT_GT(result.report.registers, 0);
  EXPECT_EQ(result.report.static_smem_bytes, 512);
  EXPECT_EQ(result.report.spill_bytes, 0);
  EXPECT_EQ(result.report.cubin_hash.size(), 32u);
}

TEST_F(NvrtcCompilerTest, AnErrorNamesFileAndLine) {
  const CompileResult result =
      compile(job("\nextern \"C\" __global__ void bad() { nothing(); }\n"));
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.kind, "error");
  EXPECT_THAT(result.log, StartsWith("x.cu(2): error: identifier \"nothing\" is undefined"));
}

TEST_F(NvrtcCompilerTest, AnErrorInAHeaderNamesTheHeader) {
  write("include/common/h.cuh", "\nstatic_assert(THREADS < 100, \"too many\");\n");
  const CompileResult result = compile(job("#include \"common/h.cuh\"\n"));
  EXPECT_THAT(result.log, StartsWith("common/h.cuh(2): error: static assertion failed"));
  EXPECT_THAT(result.log, Not(HasSubstr(folder_.path().string())));
}

TEST_F(NvrtcCompilerTest, AMissingHeaderOrSourceIsNamed) {
  EXPECT_THAT(compile(job("#include \"missing.cuh\"\n")).log,
              MatchesRegex("x.cu\\(1\\): .*could? ?not open source file \"missing.cuh\"(.|\n)*|"
                           "x.cu\\(1\\): .*cannot open source file \"missing.cuh\"(.|\n)*"));
  CompileJob missing = job(kGood);
  missing.source = folder_.path() / "missing.cu";
  const CompileResult result = compile(missing);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.log, "cannot read " + missing.source.string() + ": No such file or directory");
}

TEST_F(NvrtcCompilerTest, AnArchitectureThatIsNoneIsAnError) {
  for (const char* arch : {"77", "-G", ""}) {
    CompileJob wrong = job(kGood);
    wrong.arch = arch;
    const CompileResult result = compile(wrong);
    EXPECT_FALSE(result.ok) << arch;
    EXPECT_THAT(result.log, HasSubstr("arch")) << arch;
  }
}

// The search for includes does not see these. An edit of the header was not compiled, and what
// stood in any file of the machine was quoted in the log.
TEST_F(NvrtcCompilerTest, AnIncludeThatIsHiddenIsRefused) {
  const std::string header = fs::canonical(write("include/h.cuh", "secret 1;\n")).string();
  const std::string up = "../../../../../../../../../.." + header;
  for (const std::string& text :
       {"#define H \"" + header + "\"\n#include H\n", "/**/ #include \"" + header + "\"\n",
        "#incl\\\nude <" + header + ">\n", "/**/ #include <" + up + ">\n",
        "/**/ #include \"" + up + "\"\n", std::string("#define H <h.cuh>\n#include H\n")}) {
    for (const char* use : {"", "void k() {}\n"}) {
      write_file_atomic(header, *use == '\0' ? "secret 1;\n" : "#define secret\n");
      const CompileResult result = compile(job(text + use));
      EXPECT_FALSE(result.ok) << text;
      EXPECT_THAT(result.log, MatchesRegex("x.cu: includes .*h.cuh in a way that hides "
                                           "it; write #include .* on a line of its own.*"));
      EXPECT_THAT(result.log, Not(HasSubstr("secret")));
    }
  }
}

// A header took the place of the toolkit's of the same name, there and in the toolkit itself.
TEST_F(NvrtcCompilerTest, OnesOwnHeadersAndTheToolkitsMayHaveTheSameName) {
  write("mma.h", "#pragma once\n#include \"crt/mma.hpp\"\nconstexpr int kOwn = 1;\n");
  write("crt/mma.hpp", "constexpr int kOwnToo = 2;\n");
  const CompileResult result = compile(job(
      "#include \"mma.h\"\n#include <mma.h>\nstatic_assert(kOwn + kOwnToo == 3);\n"
      "using Fragment = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;\n"));
  EXPECT_TRUE(result.ok) << result.log;
}

TEST_F(NvrtcCompilerTest, TwoLibrariesMayHaveHeadersOfTheSameName) {
  for (const std::string name : {"a", "b"}) {
    write("include/" + name + "/all.cuh", "#pragma once\n#include \"detail/config.h\"\n");
    write("include/" + name + "/detail/config.h",
          "#pragma once\nconstexpr int k_" + name + " = 1;\n");
  }
  const CompileResult result =
      compile(job("#include <a/all.cuh>\n#include \"b/all.cuh\"\n#include \"a/all.cuh\"\n"
                  "#if !__has_include(<a/detail/config.h>) || __has_include(<a/none.h>)\n"
                  "#error \"not found\"\n#endif\nstatic_assert(k_a + k_b == 2);\n"));
  EXPECT_TRUE(result.ok) << result.log;
}

TEST_F(NvrtcCompilerTest, HeadersThatAreIncludedTooOftenAreRefused) {
  constexpr int kDepth = 15;  // each includes the next one twice
  const auto name = [](int i) { return std::string(200, 'x') + std::to_string(i); };
  for (int i = 0; i < kDepth; ++i) {
    const std::string next = "#include \"" + name(i + 1) + "\"\n";
    write("include/" + name(i), next + next);
  }
  write("include/" + name(kDepth), "");
  const CompileResult result = compile(job("#include \"" + name(0) + "\"\n"));
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.log,
            "x.cu: headers are included too often: their list has more than 4194304 bytes");
}

TEST_F(NvrtcCompilerTest, ASourceWithoutAnEntryCompilesToNothing) {
  const CompileResult result = compile(job("template <typename T> __global__ void k(T*) {}\n"));
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.report.registers, 0);
}

constexpr char kTemplates[] = R"(
namespace ns {
template <typename T, int THREADS>
__global__ void foo(T* x) { x[0] = static_cast<T>(THREADS); }
}

__global__ void plain(float* x) { x[0] = 1; }
__global__ void over(float* x) { x[0] = 2; }
__global__ void over(int* x) { x[0] = 2; }
extern "C" __global__ void c(float* x) { x[0] = 3; }
__constant__ float weights[4];
__device__ void function() {}
)";

TEST_F(NvrtcCompilerTest, EntriesAreNamedAsInCpp) {
  CompileJob named = job(kTemplates);
  named.config.clear();
  named.entries = {"ns::foo<float, 64>", "ns::foo<double, 2 * 4>", "plain", "c"};
  const CompileResult first = compile(named);
  ASSERT_TRUE(first.ok) << first.log;
  EXPECT_EQ(first.symbols, (std::map<std::string, std::string>{
                               {"ns::foo<float, 64>", "_ZN2ns3fooIfLi64EEEvPT_"},
                               {"ns::foo<double, 2 * 4>", "_ZN2ns3fooIdLi8EEEvPT_"},
                               {"plain", "_Z5plainPf"},
                               {"c", "c"}}));
  const CompileResult second = compile(named);
  EXPECT_TRUE(second.report.cached);
  EXPECT_EQ(second.symbols, first.symbols);
  named.entries.pop_back();
  EXPECT_FALSE(compile(named).report.cached);
}

TEST_F(NvrtcCompilerTest, NamesOfPlainKernelsDoNotChangeTheCode) {
  CompileJob named = job(kGood);
  const std::string before = compile(named).report.cubin_hash;
  named.entries = {"good"};
  EXPECT_EQ(compile(named).report.cubin_hash, before);
}

TEST_F(NvrtcCompilerTest, AnEntryThatIsNotThereIsNamed) {
  const auto log = [&](const std::string& entry) {
    CompileJob named = job(kTemplates);
    named.config.clear();
    named.entries = {"plain", entry};
    const CompileResult result = compile(named);
    EXPECT_FALSE(result.ok) << entry;
    EXPECT_EQ(result.kind, "missing_entry") << entry;
    return result.log;
  };
  EXPECT_THAT(log("nothing"),
              StartsWith("the contract: error: identifier \"nothing\" is undefined\n"
                         "                   entry: nothing\n"
                         "                          ^\n"));
  EXPECT_THAT(log("over"), HasSubstr("cannot determine which instance of overloaded function"));
  EXPECT_THAT(log("ns::foo<float>"), HasSubstr("entry: ns::foo<float>\n"));
  EXPECT_THAT(log("function"), HasSubstr("non-__global__ function"));
  EXPECT_THAT(log("weights"), HasSubstr("the contract: error: \"weights\" is no kernel"));
}

TEST_F(NvrtcCompilerTest, AnErrorInAKernelIsNoMissingEntry) {
  CompileJob named = job("template <int N> __global__ void foo() { static_assert(N > 4); }\n");
  named.entries = {"foo<3>"};
  EXPECT_EQ(compile(named).kind, "error");
  named.entries = {"foo<5>"};
  EXPECT_TRUE(compile(named).ok);
  named = job("__global__ void foo() { nothing(); }\n__global__ void bar(no_type) {}\n");
  named.entries = {"foo", "gone"};
  EXPECT_EQ(compile(named).kind, "error");
}

TEST_F(NvrtcCompilerTest, HeadersFromNearAndFarTwiceAndOnceCompile) {
  write("include/common/a.cuh", "#pragma once\n#include \"b.cuh\"\n");
  write("include/common/b.cuh", "#pragma once\n#include \"../up.cuh\"\nstruct B { int x; };\n");
  write("include/up.cuh", "#pragma once\nint two() { return 2; }\n");  // a device function
  const CompileResult result =
      compile(job("#include \"common/a.cuh\"\n#include \"common/b.cuh\"\n#include <cuda_bf16.h>\n"
                  "extern \"C\" __global__ void k(B* b, __nv_bfloat16*) { b->x = two(); }\n"));
  EXPECT_TRUE(result.ok) << result.log;
}

TEST_F(NvrtcCompilerTest, TheWorkingDirectoryDoesNotMatter) {
  write("include/h.cuh", "constexpr int kValue = 1;\n");
  write("elsewhere/h.cuh", "constexpr int kValue = nothing;\n");
  write("elsewhere/only_here.cuh", "");
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path() / "elsewhere");
  const CompileResult found = compile(job("#include \"h.cuh\"\n"));
  const CompileResult missing = compile(job("#include \"only_here.cuh\"\n"));
  fs::current_path(before);
  EXPECT_TRUE(found.ok) << found.log;
  EXPECT_FALSE(missing.ok);
}

TEST_F(NvrtcCompilerTest, TheCubinDoesNotKnowWhereItsSourceWas) {
  const std::string text =
      "static __device__ int hidden;\n"
      "extern \"C\" __global__ void k(int* x) { x[0] = hidden++; }\n";
  CompileJob here = job(text), there = here;
  there.source = write("elsewhere/x.cu", text);
  NvrtcCompiler compiler(options_);
  EXPECT_EQ(compiler.submit(here).get().report.cubin_hash,
            compiler.submit(there).get().report.cubin_hash);
}

TEST_F(NvrtcCompilerTest, SettingsChangeWhatIsCompiled) {
  CompileJob set = job(R"(
extern "C" __global__ void k(float* x) {
  float y[32];
#pragma unroll
  for (int i = 0; i < 32; ++i) y[i] = x[i] / x[i + 32];
#pragma unroll
  for (int i = 0; i < 32; ++i) x[i] = y[(i * 5 + FIRST) % 32] + __cplusplus % 100;
}

)");
  set.settings.defines = {{"FIRST", "1 + 2"}};
  const CompileResult plain = compile(set);
  ASSERT_TRUE(plain.ok) << plain.log;
  std::vector<CompileJob> jobs(4, set);
  jobs[0].settings.defines["FIRST"] = "4";
  jobs[1].settings.std = 17;
  jobs[2].settings.fast_math = true;
  jobs[3].settings.max_registers = 24;
  for (const CompileJob& other : jobs) {
    const CompileResult result = compile(other);
    ASSERT_TRUE(result.ok) << result.log;
    EXPECT_NE(result.report.cubin_hash, plain.report.cubin_hash);
  }
  EXPECT_GT(plain.report.registers, 24);
  EXPECT_EQ(compile(jobs[3]).report.registers, 24);
}

// A re-rank asks for what is in the cache. Behind what the next problem needs, it waited for
// seconds.
TEST_F(NvrtcCompilerTest, WhatIsAheadOfItsTimeHoldsNobodyUp) {
  options_.num_threads = 1;
  NvrtcCompiler compiler(options_);
  CompileJob ahead = job(kEndless, 128, "endless.cu");
  ahead.is_ahead = true;
  const CompileJob first = job(kGood), second = job(kGood, 64);
  std::future<CompileResult> made = compiler.submit(first);
  const std::future<CompileResult> never = compiler.submit(ahead);
  EXPECT_TRUE(compiler.submit(second).get().ok);
  EXPECT_TRUE(made.get().ok);
}

// A re-rank asked for code that it had, and waited until one of the jobs ahead was done.
TEST_F(NvrtcCompilerTest, OneThreadStaysFreeOfJobsThatNobodyWaitsFor) {
  options_.num_threads = 2;
  NvrtcCompiler compiler(options_);
  std::vector<std::future<CompileResult>> never;
  for (const int block : {64, 128}) {
    CompileJob ahead = job(kEndless, block, "endless.cu");
    ahead.is_ahead = true;
    never.push_back(compiler.submit(ahead));
  }
  EXPECT_TRUE(compiler.submit(job(kGood)).get().ok);
}

TEST_F(NvrtcCompilerTest, ThreadsVersionAndOptions) {
  options_.num_threads = 0;
  const NvrtcCompiler compiler(options_);
  EXPECT_EQ(compiler.num_threads(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_THAT(compiler.nvrtc_version(), MatchesRegex("[0-9]+\\.[0-9]+"));
  EXPECT_THAT(compiler.options(), StartsWith("--std=c++20 "));
  EXPECT_THAT(compiler.options(), Not(HasSubstr("arch")));  // those are the job's
  EXPECT_THAT(compiler.options(), Not(HasSubstr("-I")));
}

}  // namespace
}  // namespace assay
