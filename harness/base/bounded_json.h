#pragma once

#include <string_view>

namespace assay {

/// Call this before parsing JSON text that somebody else wrote: the library's recursion and memory
/// know no bound. Throws UsageError "WHERE: ..." when the text nests too deep, is too long
/// (base/limits.h) or has too many values; whether it is JSON at all is the parser's to say.
void check_json(std::string_view text, std::string_view where);

/// The same for CBOR, with which the processes of a sweep talk; throws Error. Also throws where
/// `bytes` are not one whole item, or one of an indefinite length or with a tag, which our own
/// messages never have.
void check_cbor(std::string_view bytes, std::string_view where);

}  // namespace assay
