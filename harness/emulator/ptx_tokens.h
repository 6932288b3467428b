#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::emulator {

struct PtxToken {
  enum class Kind { word, number, text, sign, end };  // `text`: what is in quotes
  Kind kind = Kind::end;
  std::string_view text = {};
  int line = 0;

  bool is(std::string_view what) const { return text == what && kind != Kind::text; }
};

/// The tokens without comments, and a last one of kind `end`. They point into the text.
std::vector<PtxToken> ptx_tokens(std::string_view text);

[[noreturn]] void fail_ptx(int line, const std::string& what);

}  // namespace assay::emulator
