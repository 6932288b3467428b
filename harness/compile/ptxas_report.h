#pragma once

#include <string>
#include <string_view>

#include "base/trial.h"

namespace assay {

/// Reads the resources that ptxas reports (`--ptxas-options=-v`) from a compiler's log into
/// `report`, and returns the log without those lines. Warnings and advice (C7504: wgmma serialised,
/// and the like) stay.
std::string take_ptxas_report(std::string_view log, CompileReport& report);

}  // namespace assay
