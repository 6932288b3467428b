#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "ranking/claims.h"
#include "store/json_text.h"
#include "store/store.h"

/// What the lines of a recording are made of, read from JSON. All throw Damage where a part that
/// must be there is missing, or is of another kind than it should be.
namespace assay::recording_parts {

using namespace json_text;  // both readers of JSON speak in its words

const Json& object_member(const Json& object, const char* key);
Json::ConstArray list_member(const Json& object, const char* key);
/// JSON has no digits for three numbers: they are written as words.
double number(const Json& value, const char* key);
double number_or_zero(const Json& object, const char* key);
/// Turns milliseconds of the file into nanoseconds: exactly the tenths that were written.
double nanoseconds(double ms);
std::string text(const Json& object, const char* key);

/// Lines of one kind, of which each may leave out what is as in the line before: it is a JSON merge
/// patch (RFC 7396) of that.
class Continued {
 public:
  /// Only a whole line has the key `first`.
  explicit Continued(const char* first) : first_(first) {}
  /// The line, which has `num_bytes`, with all that it leaves out: there until the next call.
  const Json& whole(const Json& line, std::size_t num_bytes);

 private:
  const char* first_;
  std::array<Pool, 2> pools_ = {};  // in turn: a line is made of the one before
  std::size_t turn_ = 0;
  Json before_ = {};
  std::size_t num_bytes_ = 0;  // since the last whole line, with it
};

/// Leaves `into` as it is where the object has no such key.
template <class T>
void read(const Json& object, const char* key, T& into) {
  const Json* found = find(object, key);
  if (!found) return;
  if constexpr (std::is_same_v<T, bool>) {
    if (!found->IsBool()) throw Damage(fmt::format("'{}' is not true or false", key));
    into = found->GetBool();
  } else if constexpr (std::is_same_v<T, std::string>) {
    into = text(object, key);
  } else {
    into = integer<T>(*found, key);
  }
}

Config read_config(const Json& line);
/// A verdict's entry must name a configuration: it is looked for among the trials.
void require_config(const std::string& text);
Problem read_problem(const Json& line, const char* key = "problem");
/// Nanoseconds, all finite.
std::vector<double> read_runtimes(const Json& object);
/// A ratio and the ends of its interval.
Interval read_ratio(const Json& object, const char* key);
/// One for each sample; older recordings have none.
std::vector<double> read_clocks(const Json& object, std::size_t num_samples);
Timing read_timing(const Json& line);
/// Those beside the time.
std::vector<Measurement> read_measurements(const Json& line);
Objective read_objective(const Json& object);
RankIdentity read_identity(const Json& json);
KernelVersion read_kernel(const Json& json);
Toolchain read_toolchain(const Json& json);
Protocol read_protocol(const Json& json);
std::vector<VerificationCheck> read_checks(const Json& object);

/// What a line says of its samples must follow from them: whoever reads it cannot look at each.
template <class Claim>
Claim supported(Claim claim) {
  if (const std::string wrong = contradiction(claim); !wrong.empty()) throw Damage(wrong);
  return claim;
}

}  // namespace assay::recording_parts
