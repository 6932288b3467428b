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
  if (value.IsString()) return std::string(view(value));
  return integer<std::int64_t>(value, name);
}

Number value_of(const Json& value, std::string_view name, const Problem&) {
  return value.IsDouble() ? to_number(value.GetDouble()) : integer<std::int64_t>(value, name);
}

template <class Pairs>
void change_pairs(Pairs& pairs, const Json& patch, std::string_view key) {
  for (const auto& [name, value] : object_of(patch, key).GetObject()) {
    const auto found = std::ranges::find(pairs, view(name), &Pairs::value_type::first);
    if (value.IsNull()) {
      if (found != pairs.end()) pairs.erase(found);
    } else if (found != pairs.end()) {
      found->second = value_of(value, view(name), pairs);
    } else if (pairs.size() == kMaxParams) {  // each is looked up among the others
      throw Damage(fmt::format("'{}' has more than {} names", key, kMaxParams));
    } else {
      pairs.emplace_back(view(name), value_of(value, view(name), pairs));
    }
  }
  if (is_its_text(pairs)) return;
  throw Damage(fmt::format("'{}' has a name or a word that is none", key));
}

}  // namespace

const Json& object_of(const Json& value, std::string_view key) {
  if (!value.IsObject()) throw Damage(fmt::format("'{}' is not an object", key));
  return value;
}

Json::ConstArray list_of(const Json& value, std::string_view key) {
  if (!value.IsArray()) throw Damage(fmt::format("'{}' is not a list", key));
  return value.GetArray();
}

Json::ConstArray list_of_numbers(const Json& value, std::string_view key, std::size_t size) {
  if (!value.IsArray() || value.Size() != size) {
    throw Damage(fmt::format("'{}' is not a list of {} numbers", key, size));
  }
  return value.GetArray();
}

double number(const Json& value, std::string_view key) {
  if (value.IsNumber()) return value.GetDouble();
  const std::string_view word = value.IsString() ? view(value) : std::string_view();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return kInfinity;
  if (word == "-inf") return -kInfinity;
  throw Damage(fmt::format("'{}' is not a number", key));
}

double nanoseconds(double ms) { return std::round(ms * 1e7) / 10; }

std::string text(const Json& value, std::string_view key) {
  if (!value.IsString()) throw Damage(fmt::format("'{}' is not a string", key));
  return std::string(view(value));
}

void change(Config& config, const Json& patch, std::string_view key) {
  change_pairs(config, patch, key);
}

void change(Problem& problem, const Json& patch, std::string_view key) {
  change_pairs(problem, patch, key);
}

std::vector<double> read_runtimes(const Json& value) {
  if (value.IsString()) {
    auto samples_ns = unpack_samples(view(value), kPartsPerNs);
    if (!samples_ns) throw Damage("'runtimes' is neither a list nor a text of samples");
    return *std::move(samples_ns);
  }
  const auto list = list_of(value, "runtimes");
  std::vector<double> samples_ns;
  samples_ns.reserve(list.Size());
  for (const Json& ms : list) {
    samples_ns.push_back(nanoseconds(number(ms, "runtimes")));
    if (!std::isfinite(samples_ns.back())) {
      throw Damage(fmt::format("'runtimes' has {}, which is no time", written(ms)));
    }
  }
  return samples_ns;
}

std::vector<double> read_clocks(const Json& value, std::size_t num_samples) {
  if (value.IsString()) {
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
