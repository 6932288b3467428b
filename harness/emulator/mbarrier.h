#pragma once

#include <bit>
#include <cstdint>

namespace assay::emulator {

/// An mbarrier, as it lies in shared memory; programs may not look into it. Bits 0 to 19: arrivals
/// that are pending; 20 to 39: arrivals of a phase; 40: the phase's parity; 41 to 62: bytes that
/// are pending, with a sign; 63: it is initialised.
class Mbarrier {
 public:
  Mbarrier() = default;
  explicit Mbarrier(std::uint32_t count)
      : bits_(count | std::uint64_t{count} << 20 | std::uint64_t{1} << 63) {}
  static Mbarrier of(std::uint64_t bits) {
    Mbarrier barrier;
    barrier.bits_ = bits;
    return barrier;
  }

  std::uint64_t bits() const { return bits_; }
  bool is_valid() const { return bits_ >> 63 != 0 && count() != 0 && pending() <= count(); }
  std::uint32_t pending() const { return static_cast<std::uint32_t>(bits_ & 0xfffff); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(bits_ >> 20 & 0xfffff); }
  std::uint32_t parity() const { return static_cast<std::uint32_t>(bits_ >> 40 & 1); }
  std::int32_t pending_bytes() const {
    return static_cast<std::int32_t>(static_cast<std::int64_t>(bits_ << 1) >> 42);
  }

  /// Bytes are announced, or (negative) have come.
  void expect(std::int64_t bytes) {
    const auto sum = static_cast<std::uint64_t>(pending_bytes() + bytes) & 0x3fffff;
    bits_ = (bits_ & ~(std::uint64_t{0x3fffff} << 41)) | sum << 41;
    check_phase();
  }
  /// False: nobody was pending.
  bool arrive(std::uint32_t times) {
    if (times > pending()) return false;
    bits_ -= times;
    check_phase();
    return true;
  }

 private:
  void check_phase() {
    if (pending() != 0 || pending_bytes() != 0) return;
    bits_ = (bits_ ^ std::uint64_t{1} << 40) | count();
  }

  std::uint64_t bits_ = 0;
};

}  // namespace assay::emulator
