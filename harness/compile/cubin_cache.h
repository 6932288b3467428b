#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "compile/compiler.h"

namespace assay {

/// Cubins on disk by key. `cubin/<2 digits>/<key>.cubin` is what the worker loads. Beside it
/// `<key>.json` holds the key, the report, the symbols, the log, the size and hash of the cubin,
/// and a hash of all these. What was compiled for a reader has a `<key>.ptx`, too, and its hash.
///
/// Each file is published by rename, the JSON last, and an entry counts only if the hashes agree.
/// So neither a crash nor another process nor a damaged disk can make a wrong entry, nor can the
/// files of another key under this one's names.
class CubinCache {
 public:
  explicit CubinCache(std::filesystem::path directory);

  /// The entry of `key`, marked `cached`; nothing when there is none, or it is damaged.
  std::optional<CompileResult> find(const std::string& key) const;

  /// Publishes `cubin` and sets the result's path. Throws Error naming the path when it cannot.
  void store(const std::string& key, const std::string& cubin, CompileResult& result) const;

 private:
  std::filesystem::path path(const std::string& key, const char* extension) const;

  std::filesystem::path directory_;
};

}  // namespace assay
