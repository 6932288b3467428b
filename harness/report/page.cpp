#include "report/page.h"

#include <cstdint>

#include "base/error.h"
#include "store/gzip.h"

namespace assay {
namespace {

constexpr std::string_view kPlace = "<!-- the data -->";

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      three = three << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      const bool is_padding = i + j > bytes.size();
      text += is_padding ? '=' : kDigits[three >> (18 - 6 * j) & 63u];
    }
  }
  return text;
}

}  // namespace

std::string page_html(std::string_view data) {
  const std::size_t place = kPageTemplate.find(kPlace);
  if (place == std::string_view::npos) {
    throw Error(
        "this assay was built without the page; scripts/setup.sh installs what it is built with, "
        "then scripts/build.sh");
  }
  std::string html(kPageTemplate.substr(0, place));
  html += "<script id=\"data\" type=\"text/plain\">" + base64(gzip(data)) + "</script>";
  html += kPageTemplate.substr(place + kPlace.size());
  return html;
}

}  // namespace assay
