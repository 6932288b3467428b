#include "base/frames.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/file.h"

namespace assay {
namespace {

struct Pair {
  Pair() {
    std::array<int, 2> ends;
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    left = UniqueFd(ends[0]);
    right = UniqueFd(ends[1]);
  }
  UniqueFd left;
  UniqueFd right;
};

TEST(FrameReader, GivesTheFramesBackHoweverTheBytesArrive) {
  const std::string stream = make_frame("") + make_frame("a") + make_frame(std::string(300, 'x'));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{4}, stream.size()}) {
    FrameReader reader;
    std::vector<std::string> frames;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.append(std::string_view(stream).substr(at, piece));
      while (auto frame = reader.next()) frames.push_back(*frame);
    }
    EXPECT_EQ(frames, (std::vector<std::string>{"", "a", std::string(300, 'x')})) << piece;
    EXPECT_FALSE(reader.partial());
  }
}

TEST(FrameReader, TakesTheLongestFrameAndRefusesTheNextLonger) {
  const std::size_t most = kMaxFrameBytes;
  const auto header = [](std::size_t length) {
    std::string bytes(4, '\0');
    for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<char>(length >> (8 * i) & 0xff);
    return bytes;
  };
  FrameReader fits;
  fits.append(header(most));
  EXPECT_EQ(fits.next(), std::nullopt);
  for (const std::size_t length : {most + 1, std::size_t{0xffffffff}}) {
    FrameReader reader;
    reader.append(header(length));
    EXPECT_THROW(reader.next(), Error) << length;
  }
  EXPECT_THROW(make_frame(std::string(most + 1, ' ')), Error);
}

TEST(Frames, CrossASocketThatHoldsLess) {
  Pair pair;
  const std::string text(std::size_t{4} << 20, 'y');
  std::thread sender([&] { EXPECT_TRUE(send_frame(pair.left.get(), text)); });
  FrameReader reader;
  const std::optional<std::string> received = receive_frame(pair.right.get(), reader);
  sender.join();
  EXPECT_TRUE(received == text);
}

TEST(Frames, TellAnEndBetweenFramesFromOneWithin) {
  Pair pair;
  ASSERT_TRUE(send_frame(pair.left.get(), "whole"));
  ASSERT_EQ(::send(pair.left.get(), "\x09\0\0\0cut", 7, 0), 7);
  pair.left.reset();
  FrameReader reader;
  EXPECT_EQ(receive_frame(pair.right.get(), reader), "whole");
  EXPECT_THROW(receive_frame(pair.right.get(), reader), Error);

  Pair clean;
  clean.left.reset();
  FrameReader fresh;
  EXPECT_EQ(receive_frame(clean.right.get(), fresh), std::nullopt);
}

TEST(Frames, ADeadlineEndsTheWaitAndKeepsWhatHasArrived) {
  Pair pair;
  FrameReader reader;
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(receive_frame(pair.right.get(), reader, now), std::nullopt);
  ASSERT_EQ(::send(pair.left.get(), "\x03\0\0\0a", 5, 0), 5);
  EXPECT_EQ(receive_frame(pair.right.get(), reader, now), std::nullopt);
  EXPECT_TRUE(reader.partial());
  ASSERT_EQ(::send(pair.left.get(), "bc", 2, 0), 2);
  EXPECT_EQ(receive_frame(pair.right.get(), reader, now), "abc");
}

TEST(Frames, SendingToNobodyIsFalseAndNotASignal) {
  Pair pair;
  pair.right.reset();
  EXPECT_FALSE(send_frame(pair.left.get(), "hello"));
}

}  // namespace
}  // namespace assay
