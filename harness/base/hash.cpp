#include "base/hash.h"

#include <xxhash.h>

#include <cstdint>
#include <new>

namespace assay {
namespace {

XXH3_state_t* as_state(void* state) { return static_cast<XXH3_state_t*>(state); }

// Big-endian digits, so that the text is the same on every machine.
std::string to_hex(XXH128_hash_t hash) {
  constexpr char kDigits[] = "0123456789abcdef";
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

Hasher::Hasher() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(as_state(state_));
}

Hasher::~Hasher() { XXH3_freeState(as_state(state_)); }

Hasher& Hasher::add(std::string_view field) {
  unsigned char length[8];
  for (int i = 0; i < 8; ++i) {
    length[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(field.size()) >> (8 * i));
  }
  XXH3_128bits_update(as_state(state_), length, sizeof length);
  XXH3_128bits_update(as_state(state_), field.data(), field.size());
  return *this;
}

std::string Hasher::hex() const { return to_hex(XXH3_128bits_digest(as_state(state_))); }

std::string hash_hex(std::string_view text) {
  return to_hex(XXH3_128bits(text.data(), text.size()));
}

}  // namespace assay
