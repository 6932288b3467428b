#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay {

/// Numbers that no kernel can foresee: each is 64 bits of the operating system's randomness. A
/// generator with a state could be found from what a kernel sees, as from the inputs that it makes.
class Secret {
 public:
  /// Throws Error when the operating system has none.
  std::uint64_t operator()();

 private:
  std::array<std::uint64_t, 32> drawn_{};  // as many bytes as getentropy gives at once
  std::size_t num_left_ = 0;
};

}  // namespace assay
