#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "spec/source_text.h"

namespace assay {

/// Stands where a fill has a derivation's name.
inline constexpr std::string_view kFillChoices = "choices";

/// What somebody has written down of who chose what: a line of numbers for each row, such as the
/// experts of each token. Rows are equally long, and no number stands twice in one.
struct Choices {
  std::shared_ptr<const SourceText> source;
  std::int64_t rows = 0, per_row = 0;
  std::vector<std::int32_t> numbers = {};  // row after row
  std::vector<int> columns = {};           // where each begins in its line, from 1

  Location where(std::size_t index) const;
};

/// Numbers from 0 on, with blanks between them. Throws SpecError at what is something else, at a
/// number that its row has already, and at a row that is longer or shorter than the first.
Choices read_choices(std::shared_ptr<const SourceText> source);

/// Throws SpecError at a number that is not below `of`, which is how many there are to choose of,
/// and at a row of more numbers than these.
void check_choices(const Choices& choices, std::int64_t of);

}  // namespace assay
