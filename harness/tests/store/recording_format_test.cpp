#include "store/recording_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace assay {
namespace {

TEST(RecordingFormat, SamplesAreStepsAboveTheLeast) {
  const std::vector<double> times_ns = {7648, 8000, 7520, 11904, 7552};
  EXPECT_EQ(pack_samples(times_ns, kPartsPerNs), "7520 32 4h0(137)1");
  EXPECT_EQ(unpack_samples("7520 32 4h0(137)1", kPartsPerNs), times_ns);
  EXPECT_EQ(pack_samples({0.1, 6.2, 6.3}, kPartsPerNs), "0.1 0.1 0_(62)");
  EXPECT_EQ(unpack_samples("0.1 0.1 0_(62)", kPartsPerNs), (std::vector<double>{0.1, 6.2, 6.3}));
  EXPECT_EQ(pack_samples({1980, 1980}, kPartsPerMhz), "1980 1 00");
}

// A search for words of unfinished work found samples that spelled them.
TEST(RecordingFormat, SamplesSpellNoWords) {
  std::vector<double> samples(100);
  std::iota(samples.begin(), samples.end(), 0);
  const std::string text = pack_samples(samples, kPartsPerMhz).value();
  EXPECT_EQ(text.find_first_of("aeioutxAEIOUTX"), text.npos) << text;
}

TEST(RecordingFormat, OnlyNumbersWithExactPartsAreText) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double sample : {kInfinity, -kInfinity, std::nan(""), 1e16}) {
    EXPECT_FALSE(pack_samples({1, sample}, kPartsPerNs)) << sample;
  }
  EXPECT_FALSE(pack_samples({}, kPartsPerNs));
}

TEST(RecordingFormat, OtherTextIsNoSamples) {
  for (const char* text : {"", "1", "1 2", "1 2 -", "1  0", "nan 1 0", "1 inf 0", "1 1 (", "1 1 (1",
                           "1 1 ()", "1 1 (-1)", "1 1 (99999999999999999999)", "1 1 0 0"}) {
    EXPECT_FALSE(unpack_samples(text, kPartsPerNs)) << text;
  }
  EXPECT_EQ(unpack_samples("1 2 ", kPartsPerNs), std::vector<double>());
}

}  // namespace
}  // namespace assay
