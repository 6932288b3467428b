#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace assay {

/// A shared library that is opened at run time, so that what needs no GPU runs without a driver.
class Library {
 public:
  /// Opens the first of `names` that the loader finds, then tries each in `directories`. Throws
  /// Error "cannot load WHAT: looked for ..., ...; ADVICE".
  Library(std::string_view what, const std::vector<std::string>& names,
          const std::vector<std::string>& directories, std::string_view advice);
  ~Library();
  Library(Library&& other) noexcept;
  Library& operator=(Library&&) = delete;

  /// Sets `function` to the exported `name`. Throws Error that names the library and the symbol.
  template <typename Function>
  void load(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::string path_;
  void* handle_ = nullptr;
};

/// Where a CUDA toolkit may be installed: $CUDA_HOME when set, then /usr/local/cuda.
std::vector<std::string> toolkit_roots();
/// Where it keeps its libraries: `lib64` in each root.
std::vector<std::string> toolkit_directories();

}  // namespace assay
