#pragma once

#include <string>
#include <string_view>

namespace assay {

/// The page as it is built, with a place for its data; empty if this program was built without it.
extern const std::string_view kPageTemplate;

/// One HTML file that shows `data`, a JSON document, and needs nothing else: no network and no
/// other file. Throws Error if this program was built without the page.
std::string page_html(std::string_view data);

}  // namespace assay
