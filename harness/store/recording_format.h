#pragma once

#include <vector>

#include "base/value.h"
#include "store/json_text.h"

namespace assay {

/// The writer of recordings and their reader agree on this. results/README.md describes the rest.

/// The format that is written. Readers take the one before, too: it also says what follows from the
/// samples, which they do not look at, and has no codes.
inline constexpr int kRecordingFormat = 3;

/// Lines of which each leaves out what the one before says, with the whole line they begin with,
/// have no more bytes: all of that may stand for any short line that comes next.
inline constexpr std::size_t kMaxContinuedBytes = std::size_t{64} << 10;

/// So many codes have a number by which later lines refer to them: a reader keeps no more. Nor does
/// it keep that of a line with more than kMaxContinuedBytes.
inline constexpr std::size_t kMaxCodes = std::size_t{1} << 14;

/// Samples as text: the least of them, a step, and for each sample how many steps it lies above the
/// least. Up to 61 steps are one character, up to 805 are two, and more are a number in brackets:
/// "7520 32 4h0&_(1037)" are 7648, 8000, 7520, 13440 and 40704. A GPU's events have a step of 32
/// ns.
///
/// Samples are kept to a `parts`th: 10 keeps tenths. Nothing where one is no number of that kind.
std::optional<std::string> pack_samples(const std::vector<double>& samples, int parts);

/// Nothing where the text is not as above.
std::optional<std::vector<double>> unpack_samples(std::string_view text, int parts);

inline constexpr int kPartsPerNs = 10;
inline constexpr int kPartsPerMhz = 1;

inline constexpr double kMaxExact = 9007199254740992;  // 2^53: whole numbers below it are exact

}  // namespace assay

/// What the lines of a recording are made of, read from JSON. All throw Damage where a part that
/// must be there is missing, or is of another kind than it should be.
namespace assay::recording_parts {

using namespace json_text;  // both readers of JSON speak in its words

/// `value`, which `key` names, as an object or a list.
const Json& object_of(const Json& value, std::string_view key);
const Json::array_t& list_of(const Json& value, std::string_view key);
const Json::array_t& list_of_numbers(const Json& value, std::string_view key, std::size_t size);
/// JSON has no digits for three numbers: they are written as words.
double number(const Json& value, std::string_view key);
/// Turns milliseconds of the file into nanoseconds: exactly the tenths that were written.
double nanoseconds(double ms);
std::string text(const Json& value, std::string_view key);
/// Changes pairs of names and values as a JSON merge patch (RFC 7396) says.
template <class Pairs>  // Config or Problem
void change(Pairs& pairs, const Json& patch, std::string_view key);
/// Nanoseconds, all finite.
std::vector<double> read_runtimes(const Json& value);
/// One for each sample.
std::vector<double> read_clocks(const Json& value, std::size_t num_samples);

}  // namespace assay::recording_parts
