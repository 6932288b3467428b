#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace assay {

/// A source and, recursively, the headers it includes. All are read once, so that what is hashed is
/// what is compiled, whatever happens to the files meanwhile. No path of this machine is in either.
///
/// A header is looked for as C++ compilers do: one in quotes beside the file that includes it, then
/// each in the include directories. At last, one in quotes is looked for beside the source. What is
/// not found is left to the compiler. All of them lie in the source's folder or the include
/// directories, wherever symbolic links lead.
///
/// NVRTC knows a header by its spelling alone. So each has a name of its own here, and takes no
/// header of the toolkit's place; the texts include by these names. An include that is left to the
/// compiler has a name of its own, too. It stands for a header that makes the include, which
/// compile/definitions.h writes.
///
/// Includes that are commented out or under a false #if count too. That costs at most a needless
/// compile.
struct SourceTree {
  static constexpr const char* kPrefix = "@assay/";  // of names; nobody spells a header like that
  static constexpr const char* kOutsidePrefix = "@outside/";  // of those that are left, by number

  /// An include that is left to the compiler.
  struct Outside {
    std::string spelling;  // "<mma.h>", with its brackets or quotes
    std::string file;      // that includes: `name`, or a name of `headers`
    int line = 0;
  };

  std::string name;  // the source's file name
  std::string text;
  std::map<std::string, std::string> headers;  // name -> text
  std::vector<Outside> outside;
  std::string hash;                          // covers all of it: names a version of a kernel
  std::vector<std::filesystem::path> paths;  // where the headers lie, through symbolic links

  /// Throws UsageError when the source cannot be read, a file lies elsewhere or has a NUL byte, or
  /// there is more than base/limits.h allows.
  static SourceTree read(const std::filesystem::path& source,
                         const std::vector<std::filesystem::path>& include_directories);
};

}  // namespace assay
