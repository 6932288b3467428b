#include "spec/choices.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"

namespace assay {

Location Choices::where(std::size_t index) const {
  return {source, static_cast<int>(index / static_cast<std::size_t>(per_row)) + 1, columns[index]};
}

Choices read_choices(std::shared_ptr<const SourceText> source) {
  Choices choices{.source = std::move(source)};
  std::string_view rest = choices.source->text;
  if (rest.empty()) throw SpecError({choices.source, 1, 1}, "expected rows of numbers, found none");
  for (int line = 1; !rest.empty(); ++line) {
    const std::string_view row = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), row.size() + 1));
    std::set<std::int32_t> in_row;
    for (std::size_t at = row.find_first_not_of(" \t"); at < row.size();
         at = row.find_first_not_of(" \t", at)) {
      const Location where{choices.source, line, static_cast<int>(at) + 1};
      const std::string_view word = row.substr(at, row.find_first_of(" \t", at) - at);
      const auto number = number_of<std::int32_t>(word).value_or(-1);
      if (number < 0) {
        throw SpecError(where, "expected a number from 0 to 2147483647, found \"{}\"", word);
      }
      if (!in_row.insert(number).second) {
        throw SpecError(where, "expected different numbers in a row, found {} again", number);
      }
      choices.numbers.push_back(number);
      choices.columns.push_back(where.column);
      at += word.size();
    }
    const auto length = static_cast<std::int64_t>(in_row.size());
    if (line == 1) choices.per_row = length;
    if (length == 0 || length != choices.per_row) {
      throw SpecError(
          {choices.source, line, static_cast<int>(row.size()) + 1},
          fmt::format("expected {} in each row, found {}",
                      choices.per_row == 0 ? "numbers" : fmt::format("{} numbers", choices.per_row),
                      length));
    }
    choices.rows = line;
  }
  return choices;
}

void check_choices(const Choices& choices, std::int64_t of) {
  if (choices.per_row > of) {
    const auto beyond = static_cast<std::size_t>(std::max<std::int64_t>(of, 0));
    throw SpecError(
        choices.where(beyond),
        "expected at most {} numbers in a row, as there are no more to choose of, found {}", of,
        choices.per_row);
  }
  const auto wrong =
      std::ranges::find_if(choices.numbers, [&](std::int32_t number) { return number >= of; });
  if (wrong == choices.numbers.end()) return;
  const auto index = static_cast<std::size_t>(wrong - choices.numbers.begin());
  throw SpecError(choices.where(index), "expected 0 to {}, found {}", of - 1, *wrong);
}

}  // namespace assay
