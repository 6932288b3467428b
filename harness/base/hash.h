#pragma once

#include <string>
#include <string_view>

namespace assay {

/// 128-bit content hash (XXH3) as 32 hex digits: names cubins, sources and headers by content.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  /// Adds one field; its length is hashed too, so ("ab","c") and ("a","bc") differ.
  Hasher& add(std::string_view field);
  std::string hex() const;

 private:
  void* state_;
};

std::string hash_hex(std::string_view text);

}  // namespace assay
