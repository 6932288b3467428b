#pragma once

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/trial.h"
#include "base/value.h"

namespace assay {

/// One translation unit to compile: a source file and its -D definitions.
struct CompileJob {
  std::filesystem::path source;  // x.cu
  std::vector<std::filesystem::path> include_directories;
  Config config;     // each becomes -DNAME=value
  std::string arch;  // "90a": --gpu-architecture=sm_90a
};

/// The result of a job: a cubin on disk, or why there is none.
struct CompileResult {
  bool ok = false;
  bool timed_out = false;
  std::string log;                   // NVRTC's, without the resource report
  std::filesystem::path cubin_path;  // in the cache; valid when ok
  CompileReport report;
};

struct CompilerOptions {
  std::filesystem::path cache_directory;  // cubins live in its `cubin` folder
  int num_threads = 0;                    // 0: one per core
  double timeout_s = 60;
  bool use_cache = true;  // false: compile always (for measuring compile times)
};

/// A pool of threads that compile ahead of the GPU, each in a child process of its own. Results are
/// kept in a cache of cubins on disk.
///
/// The key of a result covers the source, the content of every header it includes, the options,
/// NVRTC's version and the architecture. An entry is published by rename and carries its own
/// checksum. So two processes may share the cache, and a truncated entry is compiled again.
class Compiler {
 public:
  /// Loads NVRTC. Throws Error that says which libraries were tried and what to install.
  explicit Compiler(CompilerOptions options);
  /// Cancels what is running or queued.
  ~Compiler();

  /// Queues a job. Jobs start in the order submitted. A mistake in the kernel is part of the
  /// result. The future holds an exception, an Error, only when the machine fails (disk full).
  std::future<CompileResult> submit(CompileJob job);

  /// Cancels what is running and queued: their futures become ready with ok == false.
  void cancel();

  /// "13.0"
  const std::string& nvrtc_version() const;
  int num_threads() const;
  /// NVRTC's options that every job is compiled with, without -D, -I and the architecture. They are
  /// part of the key of a result.
  const std::string& options() const;

  /// Hash of a source and all the headers it includes, by content: names a kernel's version.
  static std::string source_hash(const std::filesystem::path& source,
                                 const std::vector<std::filesystem::path>& include_directories);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
