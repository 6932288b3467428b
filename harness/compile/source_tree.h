#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace assay {

/// A source and, recursively, the headers it includes. All are read once, so that what is hashed is
/// what is compiled, whatever happens to the files meanwhile. No path of this machine is in either.
///
/// A header is looked for beside the file that includes it, then beside the source, then in the
/// include directories. One that is not found is left to the compiler. All of them lie in the
/// source's folder or the include directories, wherever symbolic links lead.
///
/// Includes that are commented out or under a false #if count too. That costs at most a needless
/// compile.
struct SourceTree {
  std::string name;  // the source's file name
  std::string text;
  std::map<std::string, std::string> headers;  // as spelled in the #include -> text

  /// Throws UsageError when the source cannot be read, one spelling means two files, a file lies
  /// elsewhere or has a NUL byte, or there is more than base/limits.h allows.
  static SourceTree read(const std::filesystem::path& source,
                         const std::vector<std::filesystem::path>& include_directories);

  /// Covers name, text and headers: names a version of a kernel.
  std::string hash() const;
};

}  // namespace assay
