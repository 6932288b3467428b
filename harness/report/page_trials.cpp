#include "report/page_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

/// Texts that are written once and referred to by their place.
class Words {
 public:
  int place_of(const std::string& text) {
    const auto [at, is_new] = places_.try_emplace(text, static_cast<int>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, int> places_;
};

/// Seconds of a time like "2026-11-22T18:59:58Z"; 0 for anything else.
std::int64_t seconds_of(const std::string& time) {
  std::tm parts{};
  if (::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return 0;
  return ::timegm(&parts);
}

/// A parameter of any of the kernels: its values, small ones first, and the trials' values.
Json param_json(const std::string& name, const std::vector<const Value*>& column) {
  std::map<Value, int> places;
  for (const Value* value : column) {
    if (value != nullptr) places.emplace(*value, 0);
  }
  Json values = Json::array();
  for (auto& [value, place] : places) {
    place = static_cast<int>(values.size());
    std::visit([&values](const auto& v) { values.push_back(v); }, value);
  }
  std::vector<int> at;
  at.reserve(column.size());
  for (const Value* value : column) at.push_back(value == nullptr ? -1 : places.at(*value));
  Json param{{"name", name}, {"values", std::move(values)}};
  // A column of zeros says nothing.
  if (std::any_of(at.begin(), at.end(), [](int place) { return place != 0; })) param["at"] = at;
  return param;
}

Json params_json(const std::vector<const TrialRow*>& rows) {
  std::vector<std::string> names;  // in the order of the kernels
  std::map<std::string, std::vector<const Value*>> columns;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [name, value] : rows[i]->record.config) {
      auto [column, is_new] = columns.try_emplace(name);
      if (is_new) {
        names.push_back(name);
        column->second.resize(rows.size(), nullptr);
      }
      column->second[i] = &value;
    }
  }
  Json params = Json::array();
  for (const std::string& name : names) params.push_back(param_json(name, columns.at(name)));
  return params;
}

/// The first line of a message, and not all of a long one: the program shows the rest.
std::string short_message(const std::string& message) {
  constexpr std::size_t kMost = 200;
  return message.substr(0, std::min(message.find('\n'), kMost));
}

}  // namespace

Json page_trials_json(const std::vector<const TrialRow*>& rows) {
  Words kernels, statuses, kinds, messages;
  std::vector<int> kernel, status, kind, message, registers, spills;
  std::vector<std::int64_t> seconds, ids;
  Json times = Json::array();
  const std::int64_t start = seconds_of(rows.front()->record.finished_at);
  std::int64_t last_id = 0;
  for (const TrialRow* row : rows) {
    const TrialRecord& trial = row->record;
    const Outcome& outcome = trial.outcome;
    const bool timed = outcome.status == Status::correct && outcome.timing.has_value();
    const bool raced = timed && outcome.timing->censored();
    kernel.push_back(kernels.place_of(trial.kernel.name));
    status.push_back(statuses.place_of(raced ? "raced" : std::string(to_text(outcome.status))));
    kind.push_back(kinds.place_of(outcome.kind));
    message.push_back(messages.place_of(short_message(outcome.message)));
    registers.push_back(trial.compile.registers);
    spills.push_back(trial.compile.spill_bytes);
    seconds.push_back(seconds_of(trial.finished_at) - start);
    // Numbers mostly follow each other; what lies between two is short, and much alike.
    ids.push_back(row->id - last_id);
    last_id = row->id;
    if (timed) {
      times.push_back(
          std::strtod(fmt::format("{:.5g}", outcome.timing->median_ns).c_str(), nullptr));
    } else {
      times.push_back(nullptr);
    }
  }
  return {{"count", rows.size()},
          {"started_at", rows.front()->record.finished_at},
          {"kernels", kernels.texts()},
          {"statuses", statuses.texts()},
          {"kinds", kinds.texts()},
          {"messages", messages.texts()},
          {"kernel", kernel},
          {"status", status},
          {"kind", kind},
          {"message", message},
          {"registers", registers},
          {"spill_bytes", spills},
          {"seconds", seconds},
          {"id_steps", ids},
          {"time_ns", std::move(times)},
          {"params", params_json(rows)}};
}

}  // namespace assay
