#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

/// Whether this byte of UTF-8 text goes on with a character that began before it.
bool continues_character(char c);

/// The length of the UTF-8 character that `text`, which is not empty, starts with, or 0 when it
/// starts with none.
std::size_t character_length(std::string_view text);

}  // namespace assay
