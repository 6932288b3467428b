#include "compile/precompiled_headers.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "compile/nvrtc_compiler_fixture.h"
#include "matchers.h"
#include "scoped_variable.h"

namespace assay {
namespace {

std::string leading(const std::string& text, std::map<std::string, std::string> headers = {}) {
  const TempFolder folder;
  for (const auto& [name, header] : headers) folder.write(name, header);
  return leading_includes(SourceTree::read(folder.write("x.cu", text), {}));
}

TEST(LeadingIncludes, AreThoseOfTheToolkitUpToTheFirstOtherThing) {
  EXPECT_EQ(leading("/* a license */\n#pragma once\n#include <a.h> // why\n\n# include <b/c>\n"
                    "int x;\n#include <d.h>\n"),
            "#include <a.h>\n#include <b/c>\n");
  for (const char* first : {"#define A 1", "#ifdef A", "#undef A", "#pragma unroll", "int x;",
                            "#include \"not_there.h\"", "#include NAME", "#include_next <b.h>",
                            "/* open", "#include /* <b.h> */ <c.h>", "#line 7", "x(*/", "\\"}) {
    EXPECT_EQ(leading(fmt::format("#include <a.h>\n{}\n#include <d.h>\n", first)),
              "#include <a.h>\n")
        << first;
  }
  EXPECT_EQ(leading(""), "");
  EXPECT_EQ(leading("#include <a.h>"), "#include <a.h>\n");
}

TEST(LeadingIncludes, AHeaderThatOnlyIncludesIsReadThrough) {
  EXPECT_EQ(leading("#include \"first.h\"\n#include <b.h>\n#include \"second.h\"\n#include <d.h>\n",
                    {{"first.h", "#pragma once\n#include <a.h>\n#include \"first.h\"\n"},
                     {"second.h", "#include <c.h>\nint x;\n#include <not.h>\n"}}),
            "#include <a.h>\n#include <b.h>\n#include <c.h>\n");
}

constexpr char kHalves[] = R"(#include <cuda_fp16.h>
#include "own.cuh"

template <class T>
__global__ void scale(T* x) {
  if (threadIdx.x < THREADS) x[threadIdx.x] = own(x[threadIdx.x]);
}
)";

class PrecompiledTest : public NvrtcCompilerTest {
 protected:
  PrecompiledTest() {
    write("own.cuh",
          "#pragma once\n#include <cuda_fp16.h>\n"
          "__device__ __half own(__half x) { return __hmul(x, __int2half_rn(THREADS + 1)); }\n");
  }

  CompileJob halves(const std::string& text = kHalves) {
    CompileJob halves = job(text);
    halves.entries = {"scale<__half>"};
    halves.for_reading = true;
    return halves;
  }

  /// Compiles four configurations one after another by one process, and each by one of its own.
  /// Returns how many files of headers the one has in the end.
  int compare(CompileJob job, bool ok) {
    options_.num_threads = 1;
    NvrtcCompiler compiler(options_);
    for (int threads = 32; threads <= 256; threads *= 2) {
      job.config.back().second = threads;
      const CompileResult together = compiler.submit(job).get();
      CompilerOptions others = options_;
      others.cache_directory = folder_.path() / std::to_string(threads);
      const CompileResult alone = NvrtcCompiler(others).submit(job).get();
      EXPECT_EQ(together.ok, ok) << together.log;
      EXPECT_EQ(together.log, alone.log);
      EXPECT_EQ(together.cubin, alone.cubin);
      EXPECT_EQ(together.ptx, alone.ptx);
    }
    return count_files();
  }

  /// Of the open files of this process's children, how many are headers. They are deleted already.
  static int count_files() {
    namespace fs = std::filesystem;
    int count = 0;
    for (const auto& thread : fs::directory_iterator("/proc/self/task")) {
      std::ifstream children(thread.path() / "children");
      for (pid_t child = 0; children >> child;) {
        for (const auto& file : fs::directory_iterator(fmt::format("/proc/{}/fd", child))) {
          std::error_code ignored;
          const std::string target = fs::read_symlink(file, ignored).string();
          count += target.ends_with("/headers (deleted)") && !target.starts_with("/memfd:");
        }
      }
    }
    return count;
  }
};

TEST_F(PrecompiledTest, TheCodeIsTheSameAsFromTheHeaders) { EXPECT_EQ(compare(halves(), true), 1); }

TEST_F(PrecompiledTest, AnErrorIsTheSameAsWithout) {
  EXPECT_EQ(compare(halves(std::string(kHalves) + "int x = unknown;\n"), false), 1);
  EXPECT_EQ(compare(halves(std::string("#include <not_there.h>\n") + kHalves), false), 0);
}

// CUB_... is for the toolkit's headers, which may differ with it.
TEST_F(PrecompiledTest, WhatToolkitHeadersSeeIsNotLeftOut) {
  CompileJob job = halves();
  job.config.insert(job.config.begin(), {"CUB_WIDTH", 5});
  EXPECT_EQ(compare(job, true), 0);
}

TEST_F(PrecompiledTest, WithoutAFolderForItAllIsCompiledFromTheHeaders) {
  const test::ScopedVariable folder("TMPDIR", "/not/there");
  EXPECT_EQ(compare(halves(), true), 0);
}

}  // namespace
}  // namespace assay
