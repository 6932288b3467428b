#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "report/tuned_table.h"

namespace assay {

/// A document, whose keys stay in the order in which they are put.
using Json = nlohmann::ordered_json;

/// JSON has no infinity, which stands for an interval that too few samples leave open.
Json finite_or_null(double value);
/// A figure that is 0 where it is not known.
Json known_or_null(double value);
/// Likewise.
Json count_or_null(std::int64_t count);
/// A text that is empty where there is none.
Json text_or_null(const std::string& text);

/// A list of what `json_of` makes of each.
template <typename Range, typename JsonOf>
Json json_list(const Range& range, const JsonOf& json_of) {
  Json list = Json::array();
  for (const auto& each : range) list.push_back(json_of(each));
  return list;
}

/// A value of a configuration or a problem: a number or a word.
template <class... Held>
Json value_json(const std::variant<Held...>& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}
/// {"BLOCK_M": 128, "SCHEDULE": "row"}
Json config_json(const Config& config);
Json problem_json(const Problem& problem);
Json device_json(const DeviceInfo& device);
/// {"op": ..., "problem": {...}, "device": its name, "protocol": ...}
Json question_json(const Question& question);

/// {"kernel": ..., "config": {...}}
Json choice_json(const KernelConfig& choice);
Json verification_check_json(const VerificationCheck& check);

Json measurement_json(const Measurement& measurement);

/// What preparing cost, or null.
Json prepared_json(const std::optional<Prepared>& prepared);

/// {"nvrtc": ..., "arch": ..., "options": ..., "driver": ...}; a text that is not known is null.
Json toolchain_json(const Toolchain& toolchain);

/// Indented by two, in ASCII, with a final newline; bytes that are not UTF-8 (a compiler's log may
/// hold any) become U+FFFD.
std::string dump(const Json& json);
/// The same in one line, without its end.
std::string line_of(const Json& json);

/// What a verb prints for `--json`: `body` behind its schema, "assay-" and `name`, and the version.
/// docs/json.md lists every document and every key.
std::string document(std::string_view name, const Json& body);

/// An entry of a tuned table as `best --json` and `export --format json` write it; a field that is
/// not known is null.
Json entry_json(const TunedRow& entry);

}  // namespace assay
