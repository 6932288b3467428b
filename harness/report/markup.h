#pragma once

#include <string>

namespace assay {

/// A text in a heading, a paragraph or a cell of a Markdown table: on one line, and without what
/// Markdown would obey. Links and images begin with a bracket.
std::string markdown_cell(const std::string& text);

/// A text in an attribute or between tags of XML, on one line.
std::string xml_text(const std::string& text);

}  // namespace assay
