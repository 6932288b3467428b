#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "compile/nvrtc.h"
#include "compile/source_tree.h"

namespace assay {

/// The toolkit's headers that a source, or a header of its own, includes before anything else
/// stands there: lines of #include, in their order.
std::string leading_includes(const SourceTree& source);

/// Files in which NVRTC keeps what it made of headers, so that a process need not parse the headers
/// for each configuration: a small kernel with cooperative_groups.h compiles in 1.5 s, and in 0.25
/// s from a file; with cuda_fp16.h in 0.10 s and 0.08 s. A file has 9 MB for cuda_bf16.h, 130 MB
/// for cooperative_groups.h and 160 MB for CUB's block operations.
///
/// NVRTC takes its memory back from a file, at the addresses at which it was. So a file serves only
/// the process that made it.
class PrecompiledHeaders {
 public:
  /// Files are made in `folder`, which must not be there yet, and are deleted before they are used.
  /// There are none where the folder cannot be made.
  PrecompiledHeaders(const Nvrtc& nvrtc, const std::filesystem::path& folder)
      : nvrtc_(nvrtc), folder_(folder) {}

  struct File {
    int num_asked = 0;
    UniqueFd fd;
    std::vector<std::string> headers;  // that are in it; for who compiles to fill and to read
  };

  /// The file of what the unit includes first, made when a second unit asks for it; otherwise, or
  /// when it cannot be made, nullptr: then all is parsed, which only takes longer.
  File* find(const Nvrtc::Unit& unit);

  /// Compiles the unit to what Nvrtc::compile() makes of it. After an error the log may differ.
  Nvrtc::Output compile(const Nvrtc::Unit& unit, const File& file) const;

 private:
  UniqueFd make(const Nvrtc::Unit& unit);

  const Nvrtc& nvrtc_;
  const std::filesystem::path folder_;
  std::map<std::string, File> files_;
  std::size_t num_bytes_ = 0;
};

}  // namespace assay
