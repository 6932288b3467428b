#include "base/frames.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/child_process.h"
#include "base/error.h"

namespace assay {
namespace {

constexpr std::size_t kLengthBytes = 4;

}  // namespace

std::string make_frame(std::string_view text) {
  if (text.size() > kMaxFrameBytes) {
    throw Error("a message of {} bytes is too long: at most {}", text.size(), kMaxFrameBytes);
  }
  std::string frame;
  frame.reserve(kLengthBytes + text.size());
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    frame.push_back(static_cast<char>(text.size() >> (8 * i) & 0xff));
  }
  return frame.append(text);
}

std::optional<std::string> FrameReader::next() {
  if (bytes_.size() < kLengthBytes) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= std::size_t{static_cast<std::uint8_t>(bytes_[i])} << (8 * i);
  }
  if (length > kMaxFrameBytes) {
    throw Error("a frame claims {} bytes: at most {}", length, kMaxFrameBytes);
  }
  if (bytes_.size() < kLengthBytes + length) return std::nullopt;
  std::string text = bytes_.substr(kLengthBytes, length);
  bytes_.erase(0, kLengthBytes + length);
  return text;
}

bool send_frame(int fd, std::string_view text) {
  const std::string frame = make_frame(text);
  std::string_view rest = frame;
  while (!rest.empty()) {
    // MSG_NOSIGNAL: if the worker is gone, SIGPIPE must not end the parent.
    const ssize_t count = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::optional<std::string> receive_frame(int fd, FrameReader& reader,
                                         std::chrono::steady_clock::time_point deadline) {
  std::array<char, 65536> buffer;
  for (;;) {
    if (std::optional<std::string> text = reader.next()) return text;
    pollfd socket{fd, POLLIN, 0};
    if (poll_until({&socket, 1}, deadline) == 0) return std::nullopt;
    const ssize_t count = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != ECONNRESET) {
      throw Error("cannot read from the socket: " + std::generic_category().message(errno));
    }
    if (count <= 0) {
      if (reader.partial()) throw Error("the connection ended within a frame");
      return std::nullopt;
    }
    reader.append({buffer.data(), static_cast<std::size_t>(count)});
  }
}

}  // namespace assay
