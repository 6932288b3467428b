#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace assay {

/// The first item with this `name`, or null.
template <typename List>
auto find_named(List& list, std::string_view name) {
  auto* found = std::data(list);
  for (auto* const end = found + std::size(list); found != end; ++found) {
    if (found->name == name) return found;
  }
  return decltype(found){nullptr};
}

/// Appends what is not there yet.
template <typename List, typename Item>
void add_once(List& list, const Item& item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

/// What a configuration, a problem or another list of names and values has for `name`, or null.
template <typename Pairs>
auto find_value(Pairs& pairs, std::string_view name) -> decltype(&pairs.front().second) {
  for (auto& [key, value] : pairs) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace assay
