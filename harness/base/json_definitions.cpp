// The part of the JSON library whose types do not depend on who uses it, compiled once into this
// program. Every file that touches JSON would else make its own, in 1 to 3 s.
#include <nlohmann/json.hpp>

template class nlohmann::basic_json<>;
template class nlohmann::basic_json<nlohmann::ordered_map>;
template class nlohmann::detail::serializer<nlohmann::json>;
template class nlohmann::detail::serializer<nlohmann::ordered_json>;
