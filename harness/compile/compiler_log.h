#pragma once

#include <string>
#include <string_view>

#include "base/trial.h"

namespace assay {

/// Reads the resources that ptxas reports (`--ptxas-options=-v`) from a compiler's log into
/// `report`. Returns the log without those lines. Warnings and advice stay, such as C7504: wgmma
/// serialised.
std::string take_ptxas_report(std::string_view log, CompileReport& report);

/// What to write instead, a line for each mistake in NVRTC's log that comes of code for the host: a
/// header that NVRTC has not got, or a name from such a header. Empty where there is none.
std::string hints(std::string_view log);

}  // namespace assay
