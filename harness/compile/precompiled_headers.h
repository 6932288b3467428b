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

/// Files of headers that NVRTC has parsed. A process parses the headers once, not for each
/// configuration: a small kernel with cooperative_groups.h compiles in 1.5 s, and in 0.25 s from a
/// file; with cuda_fp16.h in 0.10 s and 0.08 s. A file has 9 MB for cuda_bf16.h, 130 MB for
/// cooperative_groups.h and 160 MB for CUB's block operations.
///
/// A file holds NVRTC's memory, and NVRTC restores the memory at the same addresses. So only the
/// process that made a file can use the file.
class PrecompiledHeaders {
 public:
  /// Makes files in `folder`, which must not exist yet, and deletes each before its first use.
  /// Where the folder cannot be made, no file is.
  PrecompiledHeaders(const Nvrtc& nvrtc, const std::filesystem::path& folder)
      : nvrtc_(nvrtc), folder_(folder) {}

  struct File {
    int num_asked = 0;
    UniqueFd fd;
    std::vector<std::string> headers;  // in the file; the caller lists and reads them
  };

  /// The file of the unit's leading includes. The second unit that asks makes the file. nullptr for
  /// the first, and where no file can be made: to parse the headers then only takes longer.
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
