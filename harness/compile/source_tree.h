#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace assay {

/// A source and, recursively, the headers it includes, read once: what is hashed is what is
/// compiled, whatever happens to the files meanwhile, and no path of this machine gets into either.
/// A header is looked for beside the file that includes it, beside the source, then in the include
/// directories. Includes that are commented out or under a false #if count too, which costs at most
/// a needless compile. What is not found is left for the compiler to find or to complain about.
struct SourceTree {
  std::string name;  // the source's file name
  std::string text;
  std::map<std::string, std::string> headers;  // as spelled in the #include -> text

  /// Throws UsageError when the source cannot be read, or one spelling means two files.
  static SourceTree read(const std::filesystem::path& source,
                         const std::vector<std::filesystem::path>& include_directories);

  std::string hash() const;
};

}  // namespace assay
