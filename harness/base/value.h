#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace assay {

/// A parameter's value: an integer, or a word that becomes an enumerator in the kernel's source.
using Value = std::variant<std::int64_t, std::string>;

/// What a scalar argument is: exact for integers, a double for real numbers.
using Number = std::variant<std::int64_t, double>;

/// What an option of a reference's operation is set to: a flag or a number.
using OptionValue = std::variant<bool, double>;

/// One value per parameter, in the order the kernel declares them.
using Config = std::vector<std::pair<std::string, Value>>;

/// One integer per dimension and one number per trait, in the order the kernel declares them.
using Problem = std::vector<std::pair<std::string, Number>>;

/// An integer where the number is one and fits, so that equal numbers are equal and have one text.
Number to_number(double value);
double to_real(const Number& number);

std::string to_text(const Value& value);
std::string to_text(const Number& number);

/// `BLOCK_M=128,SCHEDULE=row`: identifies a configuration or a problem in the store and in tables.
std::string to_text(const Config& config);
std::string to_text(const Problem& problem);

/// The inverse of to_text. Throws UsageError naming the part that is not `NAME=value`.
Config parse_config(std::string_view text);
Problem parse_problem(std::string_view text);

}  // namespace assay
