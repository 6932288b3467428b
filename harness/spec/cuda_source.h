#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/dtype.h"
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
  /// A name that is used and not defined, or defined only where it is not yet. It is in capitals,
  /// has such a default, or is called as tuners call a size: `block_size_x`.
  struct Macro {
    std::string name;
    std::string value;       // the default
    bool is_switch = false;  // `#if NAME` asks for it
  };

  std::vector<Kernel> kernels;
  std::vector<Macro> macros;
  bool has_dynamic_smem = false;  // `extern __shared__`
  std::set<std::string> names;    // all, without those in comments and in quotes
};

/// Throws UsageError when the file cannot be read, SpecError when it is not text.
CudaSource read_cuda_source(const std::filesystem::path& path);
CudaSource read_cuda_source(std::shared_ptr<const SourceText> source);

/// What a contract calls a type of C++, which may be that of a vector's element.
std::optional<DType> dtype_of(const std::string& type);

}  // namespace assay
