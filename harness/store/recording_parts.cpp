#include "store/recording_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/stats.h"
#include "store/recording_format.h"

namespace assay::recording_parts {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class Pairs>
Pairs checked(Pairs pairs, const char* key) {
  if (is_its_text(pairs)) return pairs;
  throw Damage(fmt::format("'{}' has a name or a word that is none, or has one twice", key));
}

double median_of_known(std::vector<double> clocks_mhz) {
  std::erase_if(clocks_mhz, [](double mhz) { return !(mhz > 0); });
  return clocks_mhz.empty() ? 0 : median(clocks_mhz);
}

Json::ConstArray list_of(const Json& object, const char* key, std::size_t size) {
  const Json& list = member(object, key);
  if (!list.IsArray() || list.Size() != size) {
    throw Damage(fmt::format("'{}' is not a list of {} numbers", key, size));
  }
  return list.GetArray();
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

const Json& object_member(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.IsObject()) throw Damage(fmt::format("'{}' is not an object", key));
  return value;
}

Json::ConstArray list_member(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.IsArray()) throw Damage(fmt::format("'{}' is not a list", key));
  return value.GetArray();
}

double number(const Json& value, const char* key) {
  if (value.IsNumber()) return value.GetDouble();
  const std::string_view word = value.IsString() ? view(value) : std::string_view();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return kInfinity;
  if (word == "-inf") return -kInfinity;
  throw Damage(fmt::format("'{}' is not a number", key));
}

double number_or_zero(const Json& object, const char* key) {
  const Json* found = find(object, key);
  return found ? number(*found, key) : 0;
}

double nanoseconds(double ms) { return std::round(ms * 1e7) / 10; }

std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.IsString()) throw Damage(fmt::format("'{}' is not a string", key));
  return std::string(view(value));
}

Config read_config(const Json& line) {
  const Json& json = object_member(line, "configuration");
  Config config;
  config.reserve(json.MemberCount());
  for (const auto& [name, value] : json.GetObject()) {
    if (value.IsString()) {
      config.emplace_back(view(name), std::string(view(value)));
    } else {
      config.emplace_back(view(name), integer<std::int64_t>(value, view(name)));
    }
  }
  return checked(std::move(config), "configuration");
}

void require_config(const std::string& text) {
  try {
    parse_config(text);
  } catch (const UsageError& error) {
    throw Damage(fmt::format("'config' of a rank: {}", error.what()));
  }
}

Problem read_problem(const Json& line, const char* key) {
  Problem problem;
  for (const auto& [name, value] : object_member(line, key).GetObject()) {
    problem.emplace_back(view(name), value.IsDouble() ? to_number(value.GetDouble())
                                                      : integer<std::int64_t>(value, view(name)));
  }
  return checked(std::move(problem), key);
}

std::vector<double> read_runtimes(const Json& object) {
  if (const Json& text = member(object, "runtimes"); text.IsString()) {
    auto samples_ns = unpack_samples(view(text), kPartsPerNs);
    if (!samples_ns) throw Damage("'runtimes' is neither a list nor a text of samples");
    return *std::move(samples_ns);
  }
  const auto list = list_member(object, "runtimes");
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

Interval read_ratio(const Json& object, const char* key) {
  const auto list = list_of(object, key, 3);
  return {number(list[0], key), number(list[1], key), number(list[2], key)};
}

std::vector<double> read_clocks(const Json& object, std::size_t num_samples) {
  std::vector<double> clocks_mhz;
  const Json* clocks = find(object, "clocks_mhz");
  if (!clocks) return clocks_mhz;
  if (clocks->IsString()) {
    auto unpacked = unpack_samples(view(*clocks), kPartsPerMhz);
    if (unpacked && unpacked->size() == num_samples) return *std::move(unpacked);
  }
  for (const Json& mhz : list_of(object, "clocks_mhz", num_samples)) {
    clocks_mhz.push_back(number(mhz, "clocks_mhz"));
  }
  return clocks_mhz;
}

Timing read_timing(const Json& line) {
  Timing timing;
  timing.samples_ns = read_runtimes(object_member(line, "times"));
  const auto interval = list_of(line, "interval", 2);
  timing.ci_low_ns = nanoseconds(number(interval[0], "interval"));
  timing.ci_high_ns = nanoseconds(number(interval[1], "interval"));
  const auto stop = parse_stop_reason(text(line, "stop"));
  if (!stop) {
    throw Damage("'stop' is not precision, noise, raced, time_limit, sample_limit or unsettled");
  }
  timing.stop = *stop;
  timing.clocks_mhz = read_clocks(line, timing.samples_ns.size());
  timing.clock_mhz = median_of_known(timing.clocks_mhz);
  read(line, "num_throttled", timing.num_throttled);
  timing.time_limit_s = number_or_zero(line, "time_limit_s");
  timing.roofline_ns = nanoseconds(number_or_zero(line, "roofline"));
  if (find(line, "gpu_state")) {
    const Json& state = object_member(line, "gpu_state");
    timing.state = {integer<std::uint64_t>(member(state, "throttle_reasons"), "throttle_reasons"),
                    number_or_zero(state, "power_w"), number_or_zero(state, "temperature_c")};
  }
  if (const Json* time = find(line, "time")) {
    timing.median_ns = nanoseconds(number(*time, "time"));
    return timing;
  }
  for (const Json& measurement : list_member(line, "measurements")) {
    if (text(measurement, "name") == "time") {
      timing.median_ns = nanoseconds(number_or_zero(measurement, "value"));
    }
  }
  return timing;
}

std::vector<Measurement> read_measurements(const Json& line) {
  std::vector<Measurement> measurements;
  for (const Json& json : list_member(line, "measurements")) {
    Measurement measurement{text(json, "name"), number_or_zero(json, "value"), ""};
    read(json, "unit", measurement.unit);
    const auto has_name = [&](const Measurement& other) { return other.name == measurement.name; };
    if (measurement.name == "time") continue;
    if (std::any_of(measurements.begin(), measurements.end(), has_name)) {
      throw Damage(fmt::format("'measurements' has two of the name '{}'", measurement.name));
    }
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

Objective read_objective(const Json& object) {
  const auto objective = parse_objective(text(object, "objective"));
  if (!objective) throw Damage("'objective' is not time, energy, edp or a metric");
  return *objective;
}

RankIdentity read_identity(const Json& json) {
  RankIdentity identity;
  identity.candidates = text(json, "candidates");
  read(json, "num_candidates", identity.num_candidates);
  read(json, "top", identity.top);
  read(json, "least_rounds", identity.least_rounds);
  identity.objective = read_objective(json);
  for (const Json& name : list_member(json, "baselines")) {
    if (!name.IsString()) throw Damage("'baselines' is not a list of names");
    identity.baselines.emplace_back(view(name));
  }
  read(json, "cublas", identity.cublas);
  if (const Json* precision = find(json, "precision_ratio")) {
    const double ratio = number(*precision, "precision_ratio");
    if (!(ratio >= 0 && ratio < 1)) throw Damage("'precision_ratio' is not 0 or a ratio below 1");
    identity.precision_ratio = ratio;
  }
  return identity;
}

KernelVersion read_kernel(const Json& json) {
  return supported(KernelVersion{text(json, "name"), text(json, "op"), text(json, "source_hash"),
                                 text(json, "contract_hash")});
}

Toolchain read_toolchain(const Json& json) {
  return supported(Toolchain{text(json, "nvrtc"), text(json, "arch"), text(json, "options"),
                             text(json, "driver")});
}

Protocol read_protocol(const Json& json) {
  return supported(
      Protocol{text(json, "name"), number(member(json, "precision_ratio"), "precision_ratio")});
}

std::vector<VerificationCheck> read_checks(const Json& object) {
  std::vector<VerificationCheck> checks;
  for (const Json& json : list_member(object, "checks")) {
    const auto result = parse_check_result(text(json, "result"));
    if (!result) throw Damage("'result' of a check is not passed, failed or skipped");
    checks.push_back({text(json, "name"), *result});
    read(json, "message", checks.back().message);
  }
  return checks;
}

}  // namespace assay::recording_parts
