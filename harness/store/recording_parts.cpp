#include "store/recording_parts.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/limits.h"
#include "store/recording_format.h"

namespace assay::recording_parts {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class Pairs>
Pairs checked(Pairs pairs, std::string_view key) {
  if (is_its_text(pairs)) return pairs;
  throw Damage(fmt::format("'{}' has a name or a word that is none, or has one twice", key));
}

Json copied(const Json& text, Pool& pool) {
  return Json(text.GetString(), text.GetStringLength(), pool);
}

/// Copies all of `patch` that `into` gets: the parser's next line takes the place of its text.
void merge(Json& into, const Json& patch, Pool& pool) {
  if (patch.IsString()) {
    into = copied(patch, pool);
  } else if (patch.IsArray()) {
    into.SetArray();
    for (const Json& value : patch.GetArray()) {
      Json element;
      merge(element, value, pool);
      into.PushBack(element, pool);
    }
  } else if (!patch.IsObject()) {
    into.CopyFrom(patch, pool);
  } else {
    const bool is_new = !into.IsObject();
    if (is_new) into.SetObject();
    for (const auto& [key, value] : patch.GetObject()) {
      const auto found = is_new ? into.MemberEnd() : into.FindMember(key);
      if (value.IsNull()) {
        if (found != into.MemberEnd()) into.EraseMember(found);
      } else if (found != into.MemberEnd()) {
        merge(found->value, value, pool);
      } else if (into.MemberCount() == kMaxParams) {  // each is looked up among the others
        throw Damage(fmt::format("an object has more than {} keys", kMaxParams));
      } else {
        Json name = copied(key, pool), merged;
        merge(merged, value, pool);
        into.AddMember(name, merged, pool);
      }
    }
  }
}

}  // namespace

const Json& Continued::whole(const Json& line, std::size_t num_bytes) {
  const bool is_whole = find(line, first_) != nullptr;
  num_bytes_ = num_bytes + (is_whole ? 0 : num_bytes_);
  if (num_bytes_ > kMaxContinuedBytes) {
    if (is_whole) return line;
    throw Damage(fmt::format("no '{}', and the lines since the last with one have over {} bytes",
                             first_, kMaxContinuedBytes));
  }
  turn_ = 1 - turn_;
  Pool& pool = pools_.at(turn_);
  pool.Clear();
  Json next;
  if (!is_whole) merge(next, before_, pool);
  merge(next, line, pool);
  return before_ = next;  // which moves it
}

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

Config read_config(const Json& value) {
  const auto& json = object_of(value, "configuration");
  Config config;
  config.reserve(json.MemberCount());
  for (const auto& [name, each] : json.GetObject()) {
    if (each.IsString()) {
      config.emplace_back(view(name), std::string(view(each)));
    } else {
      config.emplace_back(view(name), integer<std::int64_t>(each, view(name)));
    }
  }
  return checked(std::move(config), "configuration");
}

Problem read_problem(const Json& value, std::string_view key) {
  Problem problem;
  for (const auto& [name, each] : object_of(value, key).GetObject()) {
    problem.emplace_back(view(name), each.IsDouble() ? to_number(each.GetDouble())
                                                     : integer<std::int64_t>(each, view(name)));
  }
  return checked(std::move(problem), key);
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
