#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/terminal.h"
#include "report/explain.h"

namespace assay {

/// The headline, then each cause with its figures, what may lie behind, and what is missing.
std::string explain_text(const Figures& figures, const Explanation& explanation,
                         const Terminal& terminal = {});
nlohmann::ordered_json explain_json(const Figures& figures, const Explanation& explanation);

/// Which of two is faster, what of their explanations differs, and which figures.
std::string faster_text(const Figures& before, const Figures& after, const Terminal& terminal = {});
nlohmann::ordered_json faster_json(const Figures& before, const Figures& after);

}  // namespace assay
