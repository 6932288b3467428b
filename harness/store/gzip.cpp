#include "store/gzip.h"

#include <fmt/format.h>
#include <limits>
#include <span>
#include <utility>

#include "base/error.h"

namespace assay {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, with gzip's header and trailer

constexpr std::size_t kBufferBytes = 1 << 16;

struct EndDeflate {
  void operator()(z_stream* stream) const { deflateEnd(stream); }
};

}  // namespace

void TextReader::EndInflate::operator()(z_stream* stream) const {
  inflateEnd(stream);
  delete stream;
}

TextReader::TextReader(const std::filesystem::path& path, std::size_t max_bytes)
    : path_(path), file_(path), max_bytes_(max_bytes), input_(kBufferBytes, '\0') {
  constexpr std::string_view kMagic = "\x1f\x8b";
  while (num_read_ < kMagic.size()) {  // a pipe may give one byte
    const std::size_t count = file_.read(std::span(input_).subspan(num_read_));
    if (count == 0) break;
    num_read_ += count;
  }
  if (!std::string_view(input_.data(), num_read_).starts_with(kMagic)) return;
  output_.resize(kBufferBytes);
  auto stream = std::make_unique<z_stream>();
  stream->avail_out = 1;
  if (inflateInit2(stream.get(), kGzipWindow) != Z_OK) throw Error("zlib has no memory");
  stream_.reset(stream.release());
}

void TextReader::fail(std::string_view why) const {
  throw UsageError("{}: {}", path_.string(), why);
}

std::string_view TextReader::next() {
  std::string_view text;
  if (stream_) {
    text = unpacked();
  } else {
    if (num_read_ == 0) num_read_ = file_.read(input_);
    text = {input_.data(), std::exchange(num_read_, 0)};
  }
  num_bytes_ += text.size();
  if (num_bytes_ > max_bytes_)
    fail(fmt::format("expected at most {} bytes of text, found more", max_bytes_));
  return text;
}

std::string_view TextReader::unpacked() {
  for (;;) {
    // Where it filled the output, zlib may have more.
    if (stream_->avail_in == 0 && stream_->avail_out != 0) {
      if (num_read_ == 0) num_read_ = file_.read(input_);
      if (num_read_ == 0 && is_member_done_) return {};
      if (num_read_ == 0) fail(fmt::format("damaged gzip file after {} bytes of text", num_bytes_));
      stream_->next_in = reinterpret_cast<Bytef*>(input_.data());
      stream_->avail_in = static_cast<uInt>(std::exchange(num_read_, 0));
    }
    // `cat a.gz b.gz` is a gzip file, too.
    if (std::exchange(is_member_done_, false)) inflateReset(stream_.get());
    stream_->next_out = reinterpret_cast<Bytef*>(output_.data());
    stream_->avail_out = static_cast<uInt>(output_.size());
    const int result = inflate(stream_.get(), Z_NO_FLUSH);
    is_member_done_ = result == Z_STREAM_END;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      fail(fmt::format("damaged gzip file after {} bytes of text", num_bytes_));
    }
    const std::size_t count = output_.size() - stream_->avail_out;
    if (count > 0) return {output_.data(), count};
  }
}

std::optional<std::string_view> LineReader::next() {
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
      const std::size_t begin = std::exchange(begin_, end + 1);
      searched_ = begin_;
      return std::string_view(buffer_).substr(begin, end - begin);
    }
    buffer_.erase(0, std::exchange(begin_, 0));
    searched_ = buffer_.size();
    if (buffer_.size() > kMaxJsonBytes) {
      throw UsageError("{}: expected at most {} bytes in a line, found more", text_.path().string(),
                       kMaxJsonBytes);
    }
    const std::string_view more = text_.next();
    if (more.empty() && buffer_.empty()) return std::nullopt;
    if (more.empty()) {
      begin_ = searched_;
      return buffer_;
    }
    buffer_.append(more);
  }
}

std::string read_maybe_gzip(const std::filesystem::path& path, std::size_t max_bytes) {
  TextReader reader(path, max_bytes);
  std::string text;
  for (std::string_view more = reader.next(); !more.empty(); more = reader.next()) text += more;
  return text;
}

std::string gzip(std::string_view text) {
  z_stream stream{};
  // zlib counts in 32 bits and does not write through next_in.
  if (text.size() > std::numeric_limits<uInt>::max()) throw Error("text too long for gzip");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
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
