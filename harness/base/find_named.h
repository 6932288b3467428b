#pragma once

#include <string_view>

namespace assay {

/// The first item with this `name`, or null.
template <typename List>
auto find_named(List& list, std::string_view name) {
  auto* found = list.data();
  for (auto* const end = found + list.size(); found != end; ++found) {
    if (found->name == name) return found;
  }
  return decltype(found){nullptr};
}

}  // namespace assay
