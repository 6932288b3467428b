#pragma once

#include <algorithm>
#include <cstdint>

namespace assay {

/// The bytes of a value that is passed to a kernel, and what its address is a multiple of.
struct Layout {
  std::int64_t bytes = 0, alignment = 1;
};

inline constexpr Layout kPointerLayout{8, 8}, kTensorMapLayout{128, 64};

/// Where the members of a struct lie in C, one behind the other, each at a multiple of its
/// alignment.
class StructLayout {
 public:
  /// Adds a member and says where it lies.
  std::int64_t add(const Layout& member) {
    const std::int64_t offset = up(layout_.bytes, member.alignment);
    layout_ = {offset + member.bytes, std::max(layout_.alignment, member.alignment)};
    return offset;
  }
  Layout layout() const { return {up(layout_.bytes, layout_.alignment), layout_.alignment}; }

 private:
  static std::int64_t up(std::int64_t value, std::int64_t unit) {
    return (value + unit - 1) / unit * unit;
  }

  Layout layout_;
};

}  // namespace assay
