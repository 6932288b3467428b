#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace assay {

/// Nothing where the text is no JSON. Takes linear time, whatever stands in it.
std::optional<nlohmann::ordered_json> parse_document(std::string_view text);

}  // namespace assay
