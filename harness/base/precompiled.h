#pragma once

// Headers that nearly every file includes and that we never edit. They are parsed once for the
// whole build.

#include <nlohmann/json.hpp>

// json_definitions.cpp has the code of these once for the whole program.
extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
extern template class nlohmann::detail::serializer<nlohmann::json>;
extern template class nlohmann::detail::serializer<nlohmann::ordered_json>;
