// What NvrtcCompiler compiles once and what anew.
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "compile/nvrtc_compiler_fixture.h"
#include "matchers.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

TEST_F(NvrtcCompilerTest, TheSecondTimeItIsCached) {
  const CompileResult first = compile(job(kGood));
  const CompileResult second = compile(job(kGood));
  EXPECT_TRUE(second.report.cached);
  EXPECT_EQ(second.report.compile_ms, 0);
  EXPECT_EQ(second.cubin_path, first.cubin_path);
  EXPECT_EQ(second.report.cubin_hash, first.report.cubin_hash);
  EXPECT_EQ(second.report.registers, first.report.registers);
}

// A report of many winners took as long again each time: nothing was cached for a reader.
TEST_F(NvrtcCompilerTest, ForAReaderThereIsPtxWithSourceLinesAndTheSecondTimeItIsCached) {
  compile(job(kGood));  // of which a reader gets nothing: it has no source lines
  CompileJob read = job(kGood);
  read.for_reading = true;
  const CompileResult result = compile(read);
  ASSERT_TRUE(result.ok) << result.log;
  EXPECT_THAT(result.ptx, HasSubstr(".entry good("));
  EXPECT_THAT(result.ptx, HasSubstr(".loc"));
  EXPECT_THAT(result.ptx, HasSubstr("\"x.cu\""));
  EXPECT_FALSE(result.cubin.empty());
  EXPECT_GT(result.report.registers, 0);
  EXPECT_FALSE(result.report.cached);
  const CompileResult again = compile(read);
  EXPECT_TRUE(again.report.cached);
  EXPECT_EQ(again.ptx, result.ptx);
  EXPECT_EQ(again.cubin, result.cubin);
  EXPECT_EQ(again.symbols, result.symbols);
  EXPECT_TRUE(compile(job(kGood)).ptx.empty());
}

TEST_F(NvrtcCompilerTest, AReaderNeedsNoCacheThatCanBeWritten) {
  options_.cache_directory = write("file", "");
  CompileJob read = job(kGood);
  read.for_reading = true;
  const CompileResult result = compile(read);
  ASSERT_TRUE(result.ok) << result.log;
  EXPECT_THAT(result.ptx, HasSubstr(".entry good("));
  EXPECT_FALSE(result.cubin.empty());
}

TEST_F(NvrtcCompilerTest, WithoutTheCacheItCompilesAgainToTheSameMachineCode) {
  const CompileResult first = compile(job(kGood));
  options_.use_cache = false;
  const CompileResult second = compile(job(kGood));
  EXPECT_FALSE(second.report.cached);
  EXPECT_EQ(second.report.cubin_hash, first.report.cubin_hash);
}

// What was re-ranked was compiled a second time.
TEST_F(NvrtcCompilerTest, WithoutTheCacheItCompilesAConfigurationOnce) {
  options_.use_cache = false;
  NvrtcCompiler compiler(options_);
  EXPECT_FALSE(compiler.submit(job(kGood)).get().report.cached);
  EXPECT_TRUE(compiler.submit(job(kGood)).get().report.cached);
}

TEST_F(NvrtcCompilerTest, TheKeyCoversWhatMattersAndNothingElse) {
  write("include/h.cuh", "constexpr int kValue = 1;\n");
  const std::string text = std::string("#include \"h.cuh\"\n") + kGood;
  const fs::path before = compile(job(text)).cubin_path;

  write("include/unrelated.cuh", "1");
  EXPECT_EQ(compile(job(text)).cubin_path, before);
  EXPECT_NE(compile(job(text, 64)).cubin_path, before);
  EXPECT_NE(compile(job(text + "\n")).cubin_path, before);
  CompileJob other_arch = job(text);
  other_arch.arch = "86";
  EXPECT_NE(compile(other_arch).cubin_path, before);
  write("include/h.cuh", "constexpr int kValue = 2;\n");
  EXPECT_NE(compile(job(text)).cubin_path, before);
  write("include/h.cuh", "constexpr int kValue = 1;\n");
  EXPECT_TRUE(compile(job(text)).report.cached);
}

TEST_F(NvrtcCompilerTest, ADamagedEntryIsCompiledAgain) {
  const CompileResult first = compile(job(kGood));
  const std::string cubin = read_file(first.cubin_path);
  const fs::path json = fs::path(first.cubin_path).replace_extension(".json");
  const auto rebuilt = [&] {
    const CompileResult result = compile(job(kGood));
    EXPECT_TRUE(result.ok);
    EXPECT_FALSE(result.report.cached);
    EXPECT_EQ(read_file(result.cubin_path), cubin);
    EXPECT_TRUE(compile(job(kGood)).report.cached);
  };
  write_file_atomic(first.cubin_path, cubin.substr(0, cubin.size() / 2));
  rebuilt();
  write_file_atomic(json, "{\"cubin_bytes\": ");
  rebuilt();
  fs::remove(first.cubin_path);
  rebuilt();
}

TEST_F(NvrtcCompilerTest, TheSameJobManyTimesAtOnceCompilesOnce) {
  options_.num_threads = 8;
  options_.use_cache = false;  // so that each compile is a real one, with a time of its own
  NvrtcCompiler compiler(options_);
  std::vector<std::future<CompileResult>> futures;
  // All are queued before the first can finish.
  const CompileJob same = job(kSlow, 1);  // 8 steps: a second or so
  for (int i = 0; i < 8; ++i) futures.push_back(compiler.submit(same));
  std::vector<double> times;
  for (auto& future : futures) times.push_back(future.get().report.compile_ms);
  EXPECT_THAT(times, ::testing::Each(times[0]));
}

TEST_F(NvrtcCompilerTest, TwoProcessesShareACache) {
  std::vector<pid_t> children;
  const CompileJob same = job(kGood);
  for (int process = 0; process < 3; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      bool ok = true;
      {
        NvrtcCompiler compiler(options_);
        std::vector<std::future<CompileResult>> futures;
        for (std::int64_t threads = 32; threads <= 128; threads += 32) {
          CompileJob one = same;
          one.config[0].second = threads;
          futures.push_back(compiler.submit(one));
        }
        for (auto& future : futures) ok &= future.get().ok;
      }
      ::_exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(compile(same).report.cached);
  for (const auto& entry : fs::recursive_directory_iterator(options_.cache_directory)) {
    EXPECT_NE(entry.path().extension(), ".tmp");
  }
}

TEST_F(NvrtcCompilerTest, AnUnusableCacheIsTheMachinesFault) {
  options_.cache_directory = write("file", "");
  NvrtcCompiler compiler(options_);
  std::future<CompileResult> future = compiler.submit(job(kGood));
  EXPECT_THAT([&] { future.get(); },
              ThrowsMessage<Error>(HasSubstr(options_.cache_directory.string())));
}

}  // namespace
}  // namespace assay
