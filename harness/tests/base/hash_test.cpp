#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace assay {
namespace {

TEST(HashTest, KnownText) {
  // From xxhsum -H128. Keys must be the same in every build and on every machine.
  EXPECT_EQ(hash_hex(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_hex("abc"), "06b05ab6733a618578af5f94892f3950");
}

TEST(HashTest, FieldsDoNotRunTogether) {
  const std::set<std::string> hashes{Hasher().add("ab").add("c").hex(),
                                     Hasher().add("a").add("bc").hex(),
                                     Hasher().add("abc").hex(),
                                     Hasher().add("abc").add("").hex(),
                                     Hasher().add("").add("abc").hex(),
                                     Hasher().hex(),
                                     Hasher().add(std::string(1, '\0')).hex()};
  EXPECT_EQ(hashes.size(), 7u);
}

TEST(HashTest, ReadingTheHashDoesNotEndIt) {
  Hasher hasher;
  hasher.add("a");
  const std::string first = hasher.hex();
  EXPECT_EQ(hasher.hex(), first);
  hasher.add("b");
  EXPECT_EQ(hasher.hex(), Hasher().add("a").add("b").hex());
}

TEST(HashTest, EveryLengthAndEveryByteCounts) {
  // XXH3 has a path of its own for each of 0-16, 17-128, 129-240 and more bytes.
  std::set<std::string> hashes;
  std::string text;
  for (int length = 0; length <= 300; ++length, text += 'x') hashes.insert(hash_hex(text));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = 'y';
    hashes.insert(hash_hex(changed));
  }
  EXPECT_EQ(hashes.size(), 301u + text.size());
}

}  // namespace
}  // namespace assay
