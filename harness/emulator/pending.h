#pragma once

#include <functional>
#include <utility>

#include "emulator/addressing.h"

// Work that goes on beside the warps. When a piece is carried out is drawn: at once, at any moment,
// or only when somebody waits for it.

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

/// An actor begins something that completes at once, or later.
void begin_work(Warp& warp, const Actor& actor, std::function<void()> complete);

/// Completes what an actor has begun, up to a number.
void complete_work(Warp& warp, std::uint32_t actor, std::uint32_t number);

/// Copies of the warp that it waits for by groups: cp.async (0) or bulk stores (1).
Actor own_actor(Warp& warp, std::size_t which);
/// Copies that signal an mbarrier.
Actor signal_actor(Warp& warp, std::uint32_t mbarrier);

/// The mbarrier at an address; null after a finding: there is none.
Mbarrier* mbarrier_at(Warp& warp, Window window, int lane, std::uint64_t address,
                      std::string_view verb = "uses");

/// An mbarrier at an address of the cluster's window gets bytes from an actor.
void signal_mbarrier(Warp& warp, int lane, std::uint32_t address, std::int32_t bytes);

/// Work goes on for a warp that does something else by now: findings name where it began.
class AsBegun {
 public:
  AsBegun(Warp& warp, const Op* op, const Actor& actor)
      : warp_(warp), op_(std::exchange(warp.op, op)), actor_(std::exchange(warp.actor, &actor)) {}
  ~AsBegun() {
    warp_.op = op_;
    warp_.actor = actor_;
  }
  AsBegun(const AsBegun&) = delete;
  AsBegun& operator=(const AsBegun&) = delete;

 private:
  Warp& warp_;
  const Op* op_;
  const Actor* actor_;
};

template <int kWhich>
void commit_copies(Warp& warp, const Op&, std::uint32_t) {
  warp.copy_groups[kWhich].push_back(warp.num_copies[kWhich]);
}

constexpr std::uint32_t kUncommitted = ~0u;

/// All but the last op.mode groups complete, or also what is not committed. Groups are counted by
/// warp: lanes that commit apart complete more than they asked for.
template <int kWhich>
void wait_for_copies(Warp& warp, const Op& op, std::uint32_t) {
  const std::uint32_t actor = kWhich == 0 ? copies_of(warp) : bulk_stores_of(warp);
  const std::vector<std::uint32_t>& groups = warp.copy_groups[kWhich];
  std::uint32_t last = warp.num_copies[kWhich];
  if (op.mode != kUncommitted) {
    if (groups.size() <= op.mode) return;
    last = groups[groups.size() - 1 - op.mode];
  }
  complete_work(warp, actor, last);
  order_work(warp, actor, last);
}

}  // namespace assay::emulator
