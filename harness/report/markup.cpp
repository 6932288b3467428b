#include "report/markup.h"

#include <string_view>

#include "base/terminal.h"

namespace assay {

std::string markdown_cell(const std::string& text) {
  constexpr std::string_view kObeyed = "|<`*_\\[]!#";
  std::string escaped;
  for (const char c : printable_line(text)) {
    if (kObeyed.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string xml_text(const std::string& text) {
  std::string escaped;
  for (const char c : printable_line(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace assay
