#include "store/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/file.h"

namespace assay {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, with gzip's header and trailer

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};
struct EndDeflate {
  void operator()(z_stream* stream) const { deflateEnd(stream); }
};

// zlib counts in 32 bits and does not write through next_in.
void set_input(z_stream& stream, std::string_view bytes) {
  if (bytes.size() > std::numeric_limits<uInt>::max()) throw Error("text too long for gzip");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
}

std::string gunzip(std::string_view bytes, const std::filesystem::path& path,
                   std::size_t max_bytes) {
  z_stream stream{};
  set_input(stream, bytes);
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw Error("zlib has no memory");
  const std::unique_ptr<z_stream, EndInflate> end(&stream);
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    text.append(buffer.data(), buffer.size() - stream.avail_out);
    if (text.size() > max_bytes) {
      throw UsageError(fmt::format("{}: unpacks to more than {} bytes", path.string(), max_bytes));
    }
    if (result == Z_STREAM_END) {
      // `cat a.gz b.gz` is a gzip file too.
      if (stream.avail_in == 0) return text;
      if (inflateReset(&stream) != Z_OK) throw Error("zlib has no memory");
    } else if (result != Z_OK) {
      throw UsageError(
          fmt::format("{}: damaged gzip file after {} bytes of text", path.string(), text.size()));
    }
  }
}

}  // namespace

std::string read_maybe_gzip(const std::filesystem::path& path, std::size_t max_bytes) {
  std::string bytes = read_file(path, max_bytes);
  if (is_gzip(bytes)) return gunzip(bytes, path, max_bytes);
  return bytes;
}

std::string gzip(std::string_view text) {
  z_stream stream{};
  set_input(stream, text);
  constexpr int kMemoryLevel = 8;  // zlib's default
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw Error("zlib has no memory");
  }
  const std::unique_ptr<z_stream, EndDeflate> end(&stream);
  std::string bytes(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw Error("zlib cannot compress");
  bytes.resize(stream.total_out);
  return bytes;
}

}  // namespace assay
