#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "spec/sweep_spec.h"
#include "store/gzip.h"
#include "store/recording_format.h"
#include "store/store.h"

// The format is described in results/README.md. What a whole line leaves out is zero, empty or
// false. What another line leaves out is as in the line before.

namespace assay {
namespace {

using OrderedJson = nlohmann::ordered_json;

// JSON has no digits for these numbers. They do occur: an output full of NaN has a NaN for its
// error, and a median of few samples has an infinite interval.
OrderedJson real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

// Milliseconds with the digits down to a tenth of a nanosecond; events resolve 32 ns on an H200.
// The quotient is the double nearest to that decimal, so JSON prints no more digits.
OrderedJson milliseconds(double ns) { return real(std::round(ns * 10) / 1e7); }

double to_microseconds(double ms) { return std::round(ms * 1e3) / 1e3; }

// Errors of a check and ratios of a re-rank mean nothing beyond these digits.
OrderedJson significant(double value) {
  return real(std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr));
}

// So many samples are a list, which people and programs read more easily.
constexpr std::size_t kMostListed = 8;

OrderedJson runtimes(const std::vector<double>& samples_ns) {
  if (samples_ns.size() > kMostListed) {
    if (auto packed = pack_samples(samples_ns, kPartsPerNs)) return *std::move(packed);
  }
  OrderedJson list = OrderedJson::array();
  for (const double ns : samples_ns) list.push_back(milliseconds(ns));
  return list;
}

// Whole megahertz: clocks move in steps of 15, and stamps of a short kernel are no finer.
OrderedJson clocks(const std::vector<double>& clocks_mhz) {
  if (clocks_mhz.size() > kMostListed) {
    if (auto packed = pack_samples(clocks_mhz, kPartsPerMhz)) return *std::move(packed);
  }
  OrderedJson list = OrderedJson::array();
  for (const double mhz : clocks_mhz) list.push_back(std::lround(mhz));
  return list;
}

OrderedJson ratio(const Interval& interval) {
  return OrderedJson::array(
      {significant(interval.value), significant(interval.low), significant(interval.high)});
}

template <class Value>
void put_unless_empty(OrderedJson& object, const char* key, const Value& value) {
  if (value != Value{}) object[key] = value;
}

OrderedJson to_json(const Value& value) {
  return std::visit([](const auto& held) { return OrderedJson(held); }, value);
}

OrderedJson to_json(const VerificationCheck& check) {
  OrderedJson json = {{"name", check.name}, {"result", to_text(check.result)}};
  put_unless_empty(json, "message", check.message);
  return json;
}

OrderedJson to_json(const Number& number) {
  return std::visit([](auto value) { return OrderedJson(value); }, number);
}

template <class Pairs>
OrderedJson object_of(const Pairs& pairs) {
  OrderedJson object = OrderedJson::object();
  for (const auto& [name, value] : pairs) object[name] = to_json(value);
  return object;
}

OrderedJson to_json(const KernelVersion& kernel) {
  return {{"name", kernel.name},
          {"op", kernel.op},
          {"source_hash", kernel.source_hash},
          {"contract_hash", kernel.contract_hash}};
}

OrderedJson to_json(const Toolchain& toolchain) {
  return {{"nvrtc", toolchain.nvrtc},
          {"arch", toolchain.arch},
          {"options", toolchain.options},
          {"driver", toolchain.driver}};
}

OrderedJson to_json(const Protocol& protocol) {
  return {{"name", protocol.name}, {"precision_ratio", protocol.precision_ratio}};
}

OrderedJson to_json(const CompileReport& report) {
  OrderedJson json = OrderedJson::object();
  put_unless_empty(json, "cached", report.cached);
  put_unless_empty(json, "registers", report.registers);
  put_unless_empty(json, "spill_bytes", report.spill_bytes);
  put_unless_empty(json, "stack_bytes", report.stack_bytes);
  put_unless_empty(json, "static_smem_bytes", report.static_smem_bytes);
  put_unless_empty(json, "cubin_hash", report.cubin_hash);
  return json;
}

OrderedJson to_json(const Validation& validation) {
  OrderedJson json = {{"error", significant(validation.relative_error)},
                      {"limit", significant(validation.relative_limit)},
                      {"worst", significant(validation.worst_element_ratio)},
                      {"elements", validation.elements}};
  put_unless_empty(json, "reference", validation.reference);
  return json;
}

OrderedJson to_json(const RankIdentity& identity) {
  OrderedJson json = {{"candidates", identity.candidates},
                      {"num_candidates", identity.num_candidates},
                      {"top", identity.top},
                      {"least_rounds", identity.least_rounds},
                      {"objective", to_text(identity.objective)},
                      {"baselines", identity.baselines}};
  put_unless_empty(json, "cublas", identity.cublas);
  if (identity.precision_ratio != RankIdentity{}.precision_ratio) {
    json["precision_ratio"] = identity.precision_ratio;
  }
  return json;
}

void put_roofline(OrderedJson& object, double roofline_ns) {
  const OrderedJson time = milliseconds(roofline_ns);
  if (time != 0.0) object["roofline"] = time;
}

// What a line says about a time, apart from `times.runtimes`.
void put_summary(OrderedJson& line, const Timing& timing) {
  line["time"] = milliseconds(timing.median_ns);
  line["interval"] =
      OrderedJson::array({milliseconds(timing.ci_low_ns), milliseconds(timing.ci_high_ns)});
  line["stop"] = to_text(timing.stop);
  if (!timing.clocks_mhz.empty()) line["clocks_mhz"] = clocks(timing.clocks_mhz);
  if (const auto& state = timing.state) {
    line["gpu_state"] = {{"throttle_reasons", state->throttle_reasons},
                         {"power_w", significant(state->power_w)},
                         {"temperature_c", significant(state->temperature_c)}};
  }
  put_unless_empty(line, "num_throttled", timing.num_throttled);
  // A recording that does not say is taken to have had the default.
  if (timing.time_limit_s != 0 && timing.time_limit_s != MeasureSpec{}.max_seconds_per_config) {
    line["time_limit_s"] = significant(timing.time_limit_s);
  }
  put_roofline(line, timing.roofline_ns);
}

// `kernel`, `toolchain` and `protocol` are the numbers of the lines that define them.
OrderedJson trial_line(const TrialRecord& trial, std::size_t kernel, std::size_t toolchain,
                       std::size_t protocol) {
  const Outcome& outcome = trial.outcome;
  OrderedJson line;
  line["timestamp"] = trial.finished_at;
  line["kernel"] = kernel;
  line["toolchain"] = toolchain;
  line["protocol"] = protocol;
  line["problem"] = object_of(trial.problem);
  line["configuration"] = object_of(trial.config);
  OrderedJson times = OrderedJson::object();
  times["compilation_time"] = real(to_microseconds(trial.compile.compile_ms));
  if (outcome.timing) times["runtimes"] = runtimes(outcome.timing->samples_ns);
  line["times"] = std::move(times);
  line["invalidity"] = to_text(outcome.status);
  if (outcome.status != Status::compiled) {
    line["correctness"] = outcome.status == Status::correct ? 1 : 0;
  }
  put_unless_empty(line, "detail", outcome.kind);
  put_unless_empty(line, "message", outcome.message);
  if (outcome.timing) put_summary(line, *outcome.timing);
  for (const Measurement& measurement : trial.measurements) {
    line["measurements"].push_back({{"name", measurement.name},
                                    {"value", real(measurement.value)},
                                    {"unit", measurement.unit}});
  }
  if (outcome.validation) line["validation"] = to_json(*outcome.validation);
  if (OrderedJson report = to_json(trial.compile); !report.empty())
    line["compile"] = std::move(report);
  if (outcome.prepared) {
    line["prepared"] = {{"time", milliseconds(outcome.prepared->time_ns)},
                        {"bytes", outcome.prepared->bytes}};
  }
  put_unless_empty(line, "same_as", outcome.same_as);
  if (outcome.device_ms != 0) line["device_ms"] = real(to_microseconds(outcome.device_ms));
  return line;
}

OrderedJson rank_entry(const RankEntry& entry) {
  OrderedJson json = {{"kernel", entry.kernel},
                      {"config", entry.config},
                      {"time", milliseconds(entry.median_ns)},
                      {"ratio_to_best", ratio(entry.ratio_to_best)},
                      {"speedup", ratio(entry.speedup_over_baseline)}};
  put_unless_empty(json, "winner", entry.winner);
  put_unless_empty(json, "tied", entry.tied);
  put_unless_empty(json, "failure", entry.failure);
  put_unless_empty(json, "eliminated", entry.eliminated);
  json["runtimes"] = runtimes(entry.samples_ns);
  if (!entry.clocks_mhz.empty()) json["clocks_mhz"] = clocks(entry.clocks_mhz);
  if (entry.cycles_ratio_to_best.value != 0) {
    json["cycles_ratio_to_best"] = ratio(entry.cycles_ratio_to_best);
  }
  if (entry.energy_j != 0) json["energy_j"] = significant(entry.energy_j);
  put_roofline(json, entry.roofline_ns);
  if (!entry.figures.empty()) json["figures"] = object_of(entry.figures);
  return json;
}

bool has_same_names(const OrderedJson& a, const OrderedJson& b) {
  const auto& names = a.get_ref<const OrderedJson::object_t&>();
  const auto& others = b.get_ref<const OrderedJson::object_t&>();
  return std::equal(names.begin(), names.end(), others.begin(), others.end(),
                    [](const auto& one, const auto& other) { return one.first == other.first; });
}

// What of `line` is otherwise than in `before`, as a JSON merge patch (RFC 7396).
OrderedJson changes(const OrderedJson& before, const OrderedJson& line) {
  OrderedJson patch = OrderedJson::object();
  for (const auto& [key, value] : line.items()) {
    const auto old = before.find(key);
    if (old != before.end() && *old == value) continue;
    const bool goes_on = old != before.end() && old->is_object() && value.is_object();
    patch[key] = goes_on ? changes(*old, value) : value;
  }
  for (const auto& [key, value] : before.items()) {
    if (!line.contains(key)) patch[key] = nullptr;
  }
  return patch;
}

std::string dumped(const OrderedJson& line) {
  // A compile log may hold any bytes; JSON is UTF-8.
  return line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

// Builds the text. Before its first use a kernel, toolchain or protocol gets a line of its own.
// From then on it is its number among the lines of its kind.
class Writer {
 public:
  explicit Writer(const Recording& recording) {
    const DeviceInfo& device = recording.device;
    add({{"assay_recording", 2},
         {"sweep", recording.sweep},
         {"recorded_at", recording.recorded_at},
         {"device",
          {{"name", device.name},
           {"uuid", device.uuid},
           {"driver", device.driver},
           {"cc", device.cc},
           {"sm_count", device.sm_count},
           {"smem_optin_bytes", device.smem_optin_bytes},
           {"l2_bytes", device.l2_bytes},
           {"memory_bytes", device.memory_bytes}}}});
    for (const TrialRecord& trial : recording.trials) {
      const std::size_t kernel = number("define_kernel", trial.kernel, kernels_);
      const std::size_t toolchain = number("define_toolchain", trial.toolchain, toolchains_);
      const std::size_t protocol = number("define_protocol", trial.protocol, protocols_);
      OrderedJson line = trial_line(trial, kernel, toolchain, protocol);
      if (const auto& verification = trial.verification) {
        OrderedJson checks = OrderedJson::array();
        for (const VerificationCheck& check : verification->checks)
          checks.push_back(to_json(check));
        line["verification"] = {
            {"timestamp", verification->finished_at},
            {"toolchain", number("define_toolchain", verification->toolchain, toolchains_)},
            {"checks", std::move(checks)}};
      }
      add_changes(std::move(line), trial_, "kernel", "configuration");
    }
    for (const BaselineRecord& baseline : recording.baselines) add(baseline);
    for (const RankRecord& rank : recording.ranks) add(rank);
  }

  const std::string& text() const { return text_; }

 private:
  /// The last line of a kind. A reader keeps no more of it than kMaxContinuedBytes.
  struct Before {
    OrderedJson line = {};
    std::size_t num_bytes = 0;  // since the last whole line, with it
  };

  /// Adds what is otherwise than in the line before, or the whole line, which alone says `first`.
  /// All lines say `kind`.
  void add_changes(OrderedJson line, Before& before, const char* first, const char* kind) {
    OrderedJson patch = changes(before.line, line);
    if (!patch.contains(kind)) {
      patch[kind] = line[kind].is_object() ? OrderedJson::object() : line[kind];
    }
    std::string text = dumped(patch);
    // A patch would leave the names in the order of the line before.
    const auto is_in_order = [&](const char* key) {
      return !line.contains(key) || has_same_names(before.line[key], line[key]);
    };
    const std::size_t num_bytes = before.num_bytes + text.size();
    const bool is_whole = patch.contains(first) || num_bytes > kMaxContinuedBytes ||
                          !is_in_order("problem") || !is_in_order("configuration");
    if (is_whole) text = dumped(line);
    add(text);
    before = {std::move(line), is_whole ? text.size() : num_bytes};
  }

  void add(const OrderedJson& line) { add(dumped(line)); }

  void add(const std::string& line) {
    text_ += line;
    text_ += '\n';
    if (text_.size() > kMaxStreamedBytes) {
      throw UsageError(
          fmt::format("a recording has at most {} bytes, and this sweep's would have more; let "
                      "several sweeps share its problems",
                      kMaxStreamedBytes));
    }
  }

  void add(const BaselineRecord& baseline) {
    const OrderedJson toolchain = number("define_toolchain", baseline.toolchain, toolchains_);
    const OrderedJson protocol = number("define_protocol", baseline.protocol, protocols_);
    OrderedJson line = {{"timestamp", baseline.finished_at},
                        {"baseline", baseline.name},
                        {"op", baseline.op},
                        {"toolchain", toolchain},
                        {"protocol", protocol},
                        {"problem", object_of(baseline.problem)},
                        {"detail", baseline.detail},
                        {"times", {{"runtimes", runtimes(baseline.timing.samples_ns)}}}};
    put_unless_empty(line, "cublas", baseline.cublas);
    put_unless_empty(line, "contract_hash", baseline.contract_hash);
    put_summary(line, baseline.timing);
    add_changes(std::move(line), baseline_, "op", "baseline");
  }

  void add(const RankRecord& rank) {
    const OrderedJson protocol = number("define_protocol", rank.protocol, protocols_);
    OrderedJson entries = OrderedJson::array();
    for (const RankEntry& entry : rank.entries) entries.push_back(rank_entry(entry));
    OrderedJson line = {{"timestamp", rank.finished_at}, {"op", rank.op},
                        {"protocol", protocol},          {"problem", object_of(rank.problem)},
                        {"rounds", rank.rounds},         {"rank", std::move(entries)}};
    if (rank.objective != Objective::time) line["objective"] = to_text(rank.objective);
    if (!rank.identity.candidates.empty()) {
      line["identity"] = to_json(rank.identity);
      line["toolchain"] = number("define_toolchain", rank.toolchain, toolchains_);
      OrderedJson kernels = OrderedJson::array();
      for (const KernelVersion& kernel : rank.kernels) {
        kernels.push_back(number("define_kernel", kernel, kernels_));
      }
      line["kernels"] = std::move(kernels);
    }
    if (const auto& noise = rank.noise) {
      line["noise"] = {{"kernel", noise->kernel},
                       {"config", noise->config},
                       {"ratio", ratio(noise->ratio)},
                       {"runtimes", runtimes(noise->samples_ns)}};
    }
    add(line);
  }

  template <class Thing>
  std::size_t number(const char* define, const Thing& thing, std::vector<Thing>& known) {
    const auto found = std::find(known.begin(), known.end(), thing);
    const auto index = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      add(OrderedJson::object({{define, to_json(thing)}}));
      known.push_back(thing);
    }
    return index;
  }

  std::string text_;
  Before trial_, baseline_;
  std::vector<KernelVersion> kernels_;
  std::vector<Toolchain> toolchains_;
  std::vector<Protocol> protocols_;
};

}  // namespace

void write_recording(const Recording& recording, const std::filesystem::path& path) {
  const Writer writer(recording);
  const bool packed = path.extension() == ".gz";
  write_file_atomic(path, packed ? gzip(writer.text()) : writer.text());
}

}  // namespace assay
