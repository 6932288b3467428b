#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// NVIDIA's run-time compiler, loaded when constructed; the program does not link it.
class Nvrtc {
 public:
  /// Throws Error that says which libraries were tried and what to install.
  Nvrtc();
  ~Nvrtc();

  /// What to compile. What it includes besides `headers` NVRTC looks for on the disk, in the
  /// toolkit's folder and, where a path is absolute, anywhere.
  struct Unit {
    std::string name;  // as messages and the cubin's symbols show it
    std::string text;
    std::vector<std::pair<std::string, std::string>> headers;  // spelling, text
    std::vector<std::string> options;
    std::vector<std::string> entries = {};  // kernels, as C++ names them
    bool wants_ptx = false;
    std::string pre_include = {};       // the header to read ahead of the text, by its spelling
    std::string leading_includes = {};  // those of the toolkit, see PrecompiledHeaders
  };

  struct Output {
    bool ok = false;
    std::string log;
    std::string cubin;
    std::string ptx = {};                             // if the unit wants it
    std::map<std::string, std::string> symbols = {};  // of each entry, its name in the cubin
    bool has_entries = true;     // false: nothing else is wrong than that one is not there
    bool knows_options = true;   // false: nothing was compiled, NVRTC does not know an option
    bool out_of_memory = false;  // of the process, not of what is compiled
    bool precompiled = false;    // what the unit includes first came from a file
  };

  /// Throws Error when NVRTC is unfit; what is wrong with the unit is in the log.
  Output compile(const Unit& unit) const;

  /// "13.0"
  const std::string& version() const { return version_; }

  /// Throws UsageError, which names the architectures that it compiles for, unless `arch`, such as
  /// "90a", is one of them.
  void check_arch(const std::string& arch) const;

  /// What the user should know of the toolkit: that NVRTC and its headers are of two versions, or
  /// that CUDA_HOME names a toolkit without NVRTC. Empty when all is well.
  const std::string& warning() const { return warning_; }

  /// The folder of the toolkit's headers; empty without a toolkit.
  const std::filesystem::path& toolkit_include() const { return toolkit_include_; }

  /// Names this build of the library and its headers. Two builds can have the same version.
  const std::string& identity() const { return identity_; }

  /// -I options that make `<cuda_bf16.h>` and `<cuda/std/...>` found; empty without a toolkit.
  const std::vector<std::string>& toolkit_options() const { return toolkit_options_; }

  /// Whether a header that NVRTC read is the toolkit's or NVRTC's own.
  bool owns_header(const std::string& name) const;

 private:
  struct Api;

  void find_toolkit(const std::filesystem::path& library);

  std::unique_ptr<Api> api_;
  std::string version_;
  std::vector<int> archs_;  // without their letters: 75, 90, 120
  std::string warning_;
  std::string identity_;
  std::filesystem::path toolkit_include_;  // empty without a toolkit
  std::vector<std::string> toolkit_options_;
};

}  // namespace assay
