#include "base/bounded_json.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/limits.h"

namespace assay {
namespace {

// Each takes 16 bytes or more. Without memory for them the library ends the program.
constexpr int kMaxJsonValues = 1 << 20;

template <typename Exception>
[[noreturn]] void fail_depth(std::string_view where) {
  throw Exception(fmt::format("{}: nested more than {} levels deep", where, kMaxJsonDepth));
}

// The kinds of a CBOR item: the three high bits of its first byte (RFC 8949, section 3).
enum class Kind : unsigned { unsigned_integer, negative_integer, bytes, text, array, map, tag };

/// Reads the heads of items; what is not as it must be throws.
class CborReader {
 public:
  CborReader(std::string_view bytes, std::string_view where) : rest_(bytes), where_(where) {}

  struct Head {
    Kind kind;
    std::uint64_t argument;
  };

  Head head() {
    const unsigned first = byte();
    const unsigned low = first & 0x1FU;
    if (low > 27) fail("an item of indefinite or unknown length");
    std::uint64_t argument = low;
    if (low >= 24) {
      argument = 0;
      for (int i = 0; i < 1 << (low - 24); ++i) argument = argument << 8 | byte();
    }
    return {static_cast<Kind>(first >> 5), argument};
  }

  void skip(std::uint64_t count) {
    if (count > rest_.size()) fail("its end is missing");
    rest_.remove_prefix(static_cast<std::size_t>(count));
  }

  std::size_t num_left() const { return rest_.size(); }

  [[noreturn]] void fail(std::string_view what) const {
    throw Error("{}: no CBOR of assay's: {}", where_, what);
  }

 private:
  unsigned byte() {
    if (rest_.empty()) fail("its end is missing");
    const auto first = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }

  std::string_view rest_;
  std::string_view where_;
};

}  // namespace

void check_json(std::string_view text, std::string_view where) {
  if (text.size() > kMaxJsonBytes) {
    throw UsageError("{}: more than {} bytes of JSON", where, kMaxJsonBytes);
  }
  int depth = 0, num_values = 1;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') {
        ++at;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) fail_depth<UsageError>(where);
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && ++num_values > kMaxJsonValues) {
      throw UsageError("{}: more than {} values", where, kMaxJsonValues);
    }
  }
}

void check_cbor(std::string_view bytes, std::string_view where) {
  CborReader reader(bytes, where);
  std::vector<std::uint64_t> items_left{1};  // of each array or map that is open
  std::size_t num_values = 0;
  while (!items_left.empty()) {
    if (items_left.back() == 0) {
      items_left.pop_back();
      continue;
    }
    --items_left.back();
    if (++num_values > kMaxCborValues) {
      throw Error("{}: more than {} values", where, kMaxCborValues);
    }
    const auto [kind, argument] = reader.head();
    switch (kind) {
      case Kind::bytes:
      case Kind::text:
        reader.skip(argument);
        break;
      case Kind::array:
      case Kind::map: {
        // An item takes a byte at least, so more than are left cannot come.
        if (argument > reader.num_left()) reader.fail("its end is missing");
        if (items_left.size() > static_cast<std::size_t>(kMaxJsonDepth)) fail_depth<Error>(where);
        items_left.push_back(kind == Kind::map ? 2 * argument : argument);
        break;
      }
      case Kind::tag:
        reader.fail("a tag");
      default:
        break;
    }
  }
  if (reader.num_left() > 0) reader.fail("more than one item");
}

}  // namespace assay
