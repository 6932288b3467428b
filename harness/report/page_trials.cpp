#include "report/page_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <variant>

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

/// Seconds of a time like "2026-11-22T18:59:58Z"; 0 for anything else.
std::int64_t seconds_of(const std::string& time) {
  std::tm parts{};
  if (::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return 0;
  return ::timegm(&parts);
}

/// The first line of a message, and not all of a long one: the program shows the rest.
std::string short_message(const std::string& message) {
  constexpr std::size_t kMost = 200;
  return message.substr(0, std::min(message.find('\n'), kMost));
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// A list of numbers. As values of the library, 10^6 of them would take 16 MB.
template <class Number>
std::string list(const std::vector<Number>& numbers) {
  std::string text = "[";
  for (const Number number : numbers) {
    if (text.size() > 1) text += ',';
    if (std::is_floating_point_v<Number> && std::isnan(static_cast<double>(number))) {
      text += "null";
    } else {
      fmt::format_to(std::back_inserter(text), "{}", number);
    }
  }
  return text + ']';
}

}  // namespace

int Words::place_of(const std::string& text) {
  const auto [at, is_new] = places_.try_emplace(text, static_cast<int>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return at->second;
}

PageTrials::Param& PageTrials::param(const std::string& name) {
  for (Param& each : params_) {
    if (each.name == name) return each;
  }
  return params_.emplace_back(Param{name, {}, {}});
}

void PageTrials::add(const TrialRow& row) {
  const TrialRecord& trial = row.record;
  const Outcome& outcome = trial.outcome;
  const bool timed = outcome.status == Status::correct && outcome.timing.has_value();
  const bool is_censored = timed && outcome.timing->censored();
  const std::int64_t seconds = seconds_of(trial.finished_at);
  if (times_ns_.empty()) {
    started_at_ = trial.finished_at;
    started_ = seconds;
  }
  kernel_.push_back(kernels_.place_of(trial.kernel.name));
  status_.push_back(
      statuses_.place_of(is_censored ? "stopped early" : std::string(to_text(outcome.status))));
  kind_.push_back(kinds_.place_of(outcome.kind));
  message_.push_back(messages_.place_of(short_message(outcome.message)));
  registers_.push_back(trial.compile.registers);
  spills_.push_back(trial.compile.spill_bytes);
  seconds_.push_back(seconds - started_);
  // Numbers mostly follow each other; what lies between two is short, and much alike.
  id_steps_.push_back(row.id - last_id_);
  last_id_ = row.id;
  times_ns_.push_back(
      timed ? std::strtod(fmt::format("{:.5g}", outcome.timing->median_ns).c_str(), nullptr)
            : std::numeric_limits<double>::quiet_NaN());
  for (const auto& [name, value] : trial.config) {
    Param& own = param(name);
    own.at.resize(size() - 1, -1);
    const int next = static_cast<int>(own.places.size());
    own.at.push_back(own.places.try_emplace(value, next).first->second);
  }
}

std::string PageTrials::json() const {
  std::string params;
  for (const Param& each : params_) {
    // Small values first.
    std::vector<int> place_of(each.places.size());
    Json values = Json::array();
    for (const auto& [value, met] : each.places) {
      place_of[static_cast<std::size_t>(met)] = static_cast<int>(values.size());
      std::visit([&values](const auto& held) { values.push_back(held); }, value);
    }
    std::vector<int> at = each.at;
    at.resize(size(), -1);
    for (int& place : at) place = place < 0 ? -1 : place_of[static_cast<std::size_t>(place)];
    params += fmt::format("{}{{\"name\":{},\"values\":{}", params.empty() ? "" : ",",
                          text_of(each.name), text_of(values));
    // A column of zeros says nothing.
    if (std::any_of(at.begin(), at.end(), [](int place) { return place != 0; })) {
      params += ",\"at\":" + list(at);
    }
    params += '}';
  }
  std::string text = fmt::format("{{\"count\":{},\"params\":[{}]", size(), params);
  const auto add = [&text](const char* key, const std::string& json) {
    text += fmt::format(",\"{}\":{}", key, json);
  };
  add("started_at", text_of(started_at_));
  add("kernels", text_of(kernels_.texts()));
  add("statuses", text_of(statuses_.texts()));
  add("kinds", text_of(kinds_.texts()));
  add("messages", text_of(messages_.texts()));
  add("kernel", list(kernel_));
  add("status", list(status_));
  add("kind", list(kind_));
  add("message", list(message_));
  add("registers", list(registers_));
  add("spill_bytes", list(spills_));
  add("seconds", list(seconds_));
  add("id_steps", list(id_steps_));
  add("time_ns", list(times_ns_));
  return text + '}';
}

}  // namespace assay
