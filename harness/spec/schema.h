#pragma once

#include <nlohmann/json_fwd.hpp>

namespace assay {

/// The JSON Schemas (draft 7) of kernel files, of op files and of sweep files, for editors. They
/// know every key and every word that the loaders take. What an expression or a name means they do
/// not know.
nlohmann::ordered_json kernel_schema();
nlohmann::ordered_json op_schema();
nlohmann::ordered_json sweep_schema();

}  // namespace assay
