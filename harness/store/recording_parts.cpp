#include "store/recording_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/limits.h"
#include "store/recording_format.h"

namespace assay::recording_parts {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value value_of(const Json& value, std::string_view name, const Config&) {
  if (value.is_string()) return std::string(view(value));
  return integer<std::int64_t>(value, name);
}

Number value_of(const Json& value, std::string_view name, const Problem&) {
  return value.is_number_float() ? to_number(value.get<double>())
                                 : integer<std::int64_t>(value, name);
}

template <class Pairs>
void change_pairs(Pairs& pairs, const Json& patch, std::string_view key) {
  for (const auto& [name, value] : members(object_of(patch, key))) {
    const auto found = std::ranges::find(pairs, name, &Pairs::value_type::first);
    if (value.is_null()) {
      if (found != pairs.end()) pairs.erase(found);
    } else if (found != pairs.end()) {
      found->second = value_of(value, name, pairs);
    } else if (pairs.size() == kMaxParams) {  // each is looked up among the others
      throw Damage(fmt::format("'{}' has more than {} names", key, kMaxParams));
    } else {
      pairs.emplace_back(name, value_of(value, name, pairs));
    }
  }
  if (is_its_text(pairs)) return;
  throw Damage(fmt::format("'{}' has a name or a word that is none", key));
}

}  // namespace

const Json& object_of(const Json& value, std::string_view key) {
  if (!value.is_object()) throw Damage(fmt::format("'{}' is not an object", key));
  return value;
}

const Json::array_t& list_of(const Json& value, std::string_view key) {
  if (!value.is_array()) throw Damage(fmt::format("'{}' is not a list", key));
  return elements(value);
}

const Json::array_t& list_of_numbers(const Json& value, std::string_view key, std::size_t size) {
  if (!value.is_array() || value.size() != size) {
    throw Damage(fmt::format("'{}' is not a list of {} numbers", key, size));
  }
  return elements(value);
}

double number(const Json& value, std::string_view key) {
  if (value.is_number()) return value.get<double>();
  const std::string_view word = value.is_string() ? view(value) : std::string_view();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return kInfinity;
  if (word == "-inf") return -kInfinity;
  throw Damage(fmt::format("'{}' is not a number", key));
}

double nanoseconds(double ms) { return std::round(ms * 1e7) / 10; }

std::string text(const Json& value, std::string_view key) {
  if (!value.is_string()) throw Damage(fmt::format("'{}' is not a string", key));
  return std::string(view(value));
}

void change(Config& config, const Json& patch, std::string_view key) {
  change_pairs(config, patch, key);
}

void change(Problem& problem, const Json& patch, std::string_view key) {
  change_pairs(problem, patch, key);
}

std::vector<double> read_runtimes(const Json& value) {
  if (value.is_string()) {
    auto samples_ns = unpack_samples(view(value), kPartsPerNs);
    if (!samples_ns) throw Damage("'runtimes' is neither a list nor a text of samples");
    return *std::move(samples_ns);
  }
  const auto& list = list_of(value, "runtimes");
  std::vector<double> samples_ns;
  samples_ns.reserve(list.size());
  for (const Json& ms : list) {
    samples_ns.push_back(nanoseconds(number(ms, "runtimes")));
    if (!std::isfinite(samples_ns.back())) {
      throw Damage(fmt::format("'runtimes' has {}, which is no time", ms.dump()));
    }
  }
  return samples_ns;
}

std::vector<double> read_clocks(const Json& value, std::size_t num_samples) {
  if (value.is_string()) {
    auto unpacked = unpack_samples(view(value), kPartsPerMhz);
    if (unpacked && unpacked->size() == num_samples) return *std::move(unpacked);
  }
  std::vector<double> clocks_mhz;
  for (const Json& mhz : list_of_numbers(value, "clocks_mhz", num_samples)) {
    clocks_mhz.push_back(number(mhz, "clocks_mhz"));
  }
  return clocks_mhz;
}

}  // namespace assay::recording_parts
