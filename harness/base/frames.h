#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// A frame is its length (4 bytes, little-endian) and that many bytes. The largest messages are a
/// source with its headers, and a cubin: a few MB. A frame longer than this limit is garbage.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{64} << 20;

/// The text with its length in front. Throws Error when it is too long.
std::string make_frame(std::string_view text);

/// Puts frames together from bytes that arrive in pieces of any size.
class FrameReader {
 public:
  void append(std::string_view bytes) { bytes_.append(bytes); }
  /// The next whole frame's text, or nothing yet. Throws Error on a length that no frame has.
  std::optional<std::string> next();
  /// Whether bytes of an unfinished frame are left.
  bool partial() const { return !bytes_.empty(); }

 private:
  std::string bytes_;
};

/// Writes a whole frame to a blocking socket; false when the other side is gone.
bool send_frame(int fd, std::string_view text);

/// Waits for the next frame on a blocking socket. Nothing when the other side closed it between
/// frames, or at the deadline. Throws Error on garbage and on a frame that was cut off.
std::optional<std::string> receive_frame(
    int fd, FrameReader& reader,
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max());

}  // namespace assay
