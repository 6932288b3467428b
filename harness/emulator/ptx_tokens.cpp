#include "emulator/ptx_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace assay::emulator {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

}  // namespace

void fail_ptx(int line, const std::string& what) {
  throw UsageError(fmt::format("PTX:{}: {}", line, what));
}

std::vector<PtxToken> ptx_tokens(std::string_view text) {
  std::vector<PtxToken> tokens;
  int line = 1;
  std::size_t at = 0;
  const auto peek = [&](std::size_t ahead) {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  };
  while (at < text.size()) {
    const char c = text[at];
    if (c == '\n') ++line;
    if (static_cast<unsigned char>(c) <= ' ') {
      ++at;
    } else if (c == '/' && peek(1) == '/') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '/' && peek(1) == '*') {
      const std::size_t end = std::min(text.find("*/", at + 2), text.size());
      line += static_cast<int>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                          text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      at = std::min(end + 2, text.size());
    } else if (c == '"') {
      const std::size_t end = text.find('"', at + 1);
      if (end == std::string_view::npos) fail_ptx(line, "the file ends within quotes");
      tokens.push_back({PtxToken::Kind::text, text.substr(at + 1, end - at - 1), line});
      line +=
          static_cast<int>(std::count(tokens.back().text.begin(), tokens.back().text.end(), '\n'));
      at = end + 1;
    } else if (is_word(c)) {
      const std::size_t begin = at;
      const bool is_number = is_digit(c);
      while (is_word(peek(0)) || (!is_number && peek(0) == ':' && peek(1) == ':')) {
        at += peek(0) == ':' ? 2 : 1;
      }
      tokens.push_back({is_number ? PtxToken::Kind::number : PtxToken::Kind::word,
                        text.substr(begin, at - begin), line});
    } else {
      tokens.push_back({PtxToken::Kind::sign, text.substr(at, 1), line});
      ++at;
    }
  }
  tokens.push_back({PtxToken::Kind::end, {}, line});
  return tokens;
}

}  // namespace assay::emulator
