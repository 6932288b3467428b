#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "spec/source_text.h"

namespace assay {

/// What can be seen of a CUDA source without a compiler. Headers are not read.
struct CudaSource {
  struct Param {
    std::string name;  // empty if it has none
    std::string type;  // without const, `*` and the like
    bool is_pointer = false;
    bool is_const = false;  // what it points to
    Location where;
  };
  struct TemplateParam {
    std::string name;
    std::string type;  // the first word of it: `typename`, `class`, `int`
  };
  struct Kernel {
    std::string name;  // `ns::foo`
    std::vector<TemplateParam> template_params;
    std::vector<Param> params;
    Location where;
  };
  /// A name in capitals that is used and not defined, or defined only where it is not yet.
  struct Macro {
    std::string name;
    std::string value;  // of the latter
  };

  std::vector<Kernel> kernels;
  std::vector<Macro> macros;
  bool has_dynamic_smem = false;  // `extern __shared__`
};

/// Throws UsageError when the file cannot be read, SpecError when it is not text.
CudaSource read_cuda_source(const std::filesystem::path& path);

}  // namespace assay
