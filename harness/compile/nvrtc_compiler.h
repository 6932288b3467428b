#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "compile/compiler.h"

namespace assay {

struct CompilerOptions {
  std::filesystem::path cache_directory;  // cubins live in its `cubin` folder
  int num_threads = 0;                    // 0: one per core
  double timeout_s = 60;                  // of running time, see CompileProcess::Limits
  bool use_cache = true;                  // false: compile anew what others left in it
  std::uint64_t memory_bytes = 0;         // of one compile; 0: its share of the machine's
  /// Cubins have their PTX behind them, with source lines: the emulator runs it.
  bool for_emulator = false;
};

/// A pool of threads that compile ahead of the GPU, each in a child process of its own. Results are
/// kept in a cache of cubins on disk.
///
/// The key of a result covers the source, the content of every header it includes, the options,
/// NVRTC's version and the architecture. An entry is published by rename and carries its own
/// checksum. So two processes may share the cache, and a truncated entry is compiled again.
class NvrtcCompiler : public Compiler {
 public:
  /// Loads NVRTC. Throws Error that says which libraries were tried and what to install.
  explicit NvrtcCompiler(CompilerOptions options);
  /// Cancels what is running or queued.
  ~NvrtcCompiler() override;

  std::future<CompileResult> submit(CompileJob job) override;
  void cancel() override;
  const std::string& nvrtc_version() const override;
  std::string warning() const override;
  std::string header_folder() const override;
  const std::string& options() const override;
  int num_threads() const override;

 private:
  class Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace assay
