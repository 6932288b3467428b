#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "base/trial.h"
#include "base/value.h"

namespace assay {

/// What else decides how a source is compiled.
struct CompileSettings {
  std::map<std::string, std::string> defines = {};  // macros
  int std = 20;                                     // of C++: 17 or 20
  bool fast_math = false;
  std::int64_t max_registers = 0;         // of a thread, 1 to 255; 0: no limit
  std::vector<std::string> options = {};  // further ones of NVRTC
};

/// A source file to compile, with its macros and its target.
struct CompileJob {
  std::filesystem::path source;  // x.cu
  std::vector<std::filesystem::path> include_directories;
  Config config;     // each parameter is a macro, see compile/definitions.h
  std::string arch;  // "90a": --gpu-architecture=sm_90a
  /// The kernels to launch, as C++ names them: `ns::foo<float, 128>`. Templates need it. A kernel
  /// that is not there is an error.
  std::vector<std::string> entries = {};
  CompileSettings settings = {};
  /// For a reader of the code: the result has PTX and machine code that name their source lines. A
  /// cache that cannot be written is no hindrance.
  bool for_reading = false;
  /// Nobody waits for it yet: it is compiled when nothing else is to be.
  bool is_ahead = false;
};

/// The result of a job: a cubin on disk, or why there is none.
struct CompileResult {
  bool ok = false;
  /// What went wrong when not ok, the detail of Status::compile: "error", "timeout", "memory" (it
  /// took more than its share), "missing_entry", "crash" (NVRTC's, twice), "killed" (by the system
  /// or by somebody) or "out_of_memory" (the machine had none, or a limit of the shell's): see
  /// is_machine_fault.
  std::string kind = "error";
  std::string log;                                  // NVRTC's, without the resource report
  std::filesystem::path cubin_path;                 // in the cache; valid when ok
  std::map<std::string, std::string> symbols = {};  // of each entry, its name in the cubin
  CompileReport report;
  std::string ptx = {};    // of a job for reading
  std::string cubin = {};  // the same
};

/// Compiles jobs while the caller does something else.
class Compiler {
 public:
  virtual ~Compiler() = default;

  /// Queues a job. Jobs start in the order submitted, those ahead of
  /// their time behind all others. A mistake in the kernel is part of the
  /// result. The future holds an exception, an Error, only when the machine fails (disk full).
  virtual std::future<CompileResult> submit(CompileJob job) = 0;

  /// Cancels what is running and queued: their futures become ready with ok == false.
  virtual void cancel() = 0;

  /// "13.0"
  virtual const std::string& nvrtc_version() const = 0;
  /// What the user should know of it before anything is compiled; empty when all is well.
  virtual std::string warning() const { return {}; }
  /// The folder of the toolkit's headers; empty where it has none.
  virtual std::string header_folder() const { return {}; }
  /// NVRTC's options that every job is compiled with, without macros, -I and the architecture. They
  /// are part of the key of a result.
  virtual const std::string& options() const = 0;
  /// How many jobs run at a time.
  virtual int num_threads() const = 0;
};

}  // namespace assay
