#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "store/json_text.h"

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
void change(Config& config, const Json& patch, std::string_view key);
void change(Problem& problem, const Json& patch, std::string_view key);
/// Nanoseconds, all finite.
std::vector<double> read_runtimes(const Json& value);
/// One for each sample.
std::vector<double> read_clocks(const Json& value, std::size_t num_samples);

}  // namespace assay::recording_parts
