#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "report/tuned_table.h"

namespace assay {

/// JSON has no infinity, which stands for an interval that too few samples leave open.
nlohmann::ordered_json finite_or_null(double value);
/// A figure that is 0 where it is not known.
nlohmann::ordered_json known_or_null(double value);
/// Likewise.
nlohmann::ordered_json bytes_or_null(std::int64_t bytes);
/// A text that is empty where there is none.
nlohmann::ordered_json text_or_null(const std::string& text);

/// A list of what `json_of` makes of each.
template <typename Range, typename JsonOf>
nlohmann::ordered_json json_list(const Range& range, const JsonOf& json_of) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& each : range) list.push_back(json_of(each));
  return list;
}

/// {"BLOCK_M": 128, "SCHEDULE": "row"}
nlohmann::ordered_json config_json(const Config& config);
nlohmann::ordered_json problem_json(const Problem& problem);
nlohmann::ordered_json device_json(const DeviceInfo& device);
/// {"op": ..., "problem": {...}, "device": its name, "protocol": ...}
nlohmann::ordered_json question_json(const Question& question);

/// {"kernel": ..., "config": {...}}
nlohmann::ordered_json choice_json(const KernelConfig& choice);
nlohmann::ordered_json verification_check_json(const VerificationCheck& check);

nlohmann::ordered_json measurement_json(const Measurement& measurement);

/// What preparing cost, or null.
nlohmann::ordered_json prepared_json(const std::optional<Prepared>& prepared);

/// {"nvrtc": ..., "arch": ..., "options": ..., "driver": ...}; a text that is not known is null.
nlohmann::ordered_json toolchain_json(const Toolchain& toolchain);

/// Indented by two, in ASCII, with a final newline; bytes that are not UTF-8 (a compiler's log may
/// hold any) become U+FFFD.
std::string dump(const nlohmann::ordered_json& json);

/// What a verb prints for `--json`: `body` behind its schema, "assay-" and `name`, and the version.
/// docs/json.md lists every document and every key.
std::string document(std::string_view name, const nlohmann::ordered_json& body);

/// An entry of a tuned table as `best --json` and `export --format json` write it; a field that is
/// not known is null.
nlohmann::ordered_json entry_json(const TunedRow& entry);

}  // namespace assay
