#pragma once

#include <string>
#include <string_view>

#include "base/trial.h"

namespace assay {

/// Reads the resources that ptxas reports (`--ptxas-options=-v`) from a compiler's log into
/// `report`. Returns the log without those lines. Warnings and advice stay, such as C7504: wgmma
/// serialised.
std::string take_ptxas_report(std::string_view log, CompileReport& report);

}  // namespace assay
