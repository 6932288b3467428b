#include "store/gzip.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/file.h"
#include "matchers.h"
#include "store/recording_sample.h"
#include "store/store_fixture.h"

namespace assay {
namespace {

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  LineReader reader(path);
  while (const auto line = reader.next()) lines.emplace_back(*line);
  return lines;
}

// Lines are of all lengths, and end before, at and behind the ends of the buffers.
TEST(LineReader, GivesTheLinesOfTextAndOfGzip) {
  TempFolder folder;
  std::vector<std::string> lines;
  for (const std::size_t length : {0, 1, 65534, 65535, 0, 65536, 200'000, 7}) {
    lines.emplace_back(length, static_cast<char>('a' + lines.size()));
  }
  for (const std::string end : {"\n", ""}) {
    const std::string text = fmt::format("{}{}", fmt::join(lines, "\n"), end);
    write_file_atomic(folder / "x.jsonl", text);
    EXPECT_EQ(lines_of(folder / "x.jsonl"), lines);
    write_file_atomic(folder / "x.jsonl.gz", gzip(text));
    EXPECT_EQ(lines_of(folder / "x.jsonl.gz"), lines);
    // `cat a.gz b.gz` is a gzip file, too.
    write_file_atomic(folder / "x.jsonl.gz",
                      gzip(text.substr(0, 70'000)) + gzip(text.substr(70'000)));
    EXPECT_EQ(lines_of(folder / "x.jsonl.gz"), lines);
    EXPECT_EQ(read_maybe_gzip(folder / "x.jsonl.gz"), text);
  }
  write_file_atomic(folder / "empty.jsonl", "");
  EXPECT_TRUE(lines_of(folder / "empty.jsonl").empty());
}

TEST(LineReader, RefusesWhatIsDamagedOrTooLarge) {
  TempFolder folder;
  const std::string packed = gzip(std::string(100'000, 'a'));
  for (const std::string& damaged :
       {packed.substr(0, packed.size() - 1), packed.substr(0, 20), packed + "behind it"}) {
    write_file_atomic(folder / "x.jsonl.gz", damaged);
    EXPECT_THAT(message_of<UsageError>([&] { lines_of(folder / "x.jsonl.gz"); }),
                HasSubstr("x.jsonl.gz: damaged gzip file"));
  }
  write_file_atomic(folder / "x.jsonl", "one\ntwo\n");
  EXPECT_THAT(message_of<UsageError>([&] { read_maybe_gzip(folder / "x.jsonl", 7); }),
              HasSubstr("x.jsonl: expected at most 7 bytes of text, found more"));
  write_file_atomic(folder / "x.jsonl", std::string(kMaxJsonBytes + 100'000, ' '));
  EXPECT_THAT(message_of<UsageError>([&] { lines_of(folder / "x.jsonl"); }),
              HasSubstr("bytes in a line, found more"));
  EXPECT_THAT(message_of<UsageError>([&] { lines_of(folder / "missing.jsonl"); }),
              HasSubstr("cannot read"));
}

// A recording was read whole, and refused above 256 MiB. A sweep of a million trials writes 567 MB.
TEST(LineReader, LetsARecordingBeLargerThanMemoryShouldHold) {
  TempFolder folder;
  const Recording recording = sample_recording();
  write_recording(recording, folder / "x.jsonl");
  std::string packed;
  const std::string blank = gzip(std::string(1 << 20, ' ') + '\n');
  for (int i = 0; i < 300; ++i) packed += blank;
  write_file_atomic(folder / "x.jsonl.gz", gzip(read_file(folder / "x.jsonl")) + packed);
  EXPECT_EQ(describe(read_recording(folder / "x.jsonl.gz")), describe(recording));
}

}  // namespace
}  // namespace assay
