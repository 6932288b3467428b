#pragma once

#include <string>
#include <string_view>

namespace assay {

/// What to write instead, a line for each mistake in NVRTC's log that comes of code for the host: a
/// header that NVRTC has not got, or a name from such a header. Empty where there is none.
std::string hints(std::string_view log);

}  // namespace assay
