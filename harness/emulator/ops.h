#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>

#include "emulator/decode.h"
#include "emulator/warp.h"

// What instructions have in common: loops over lanes, where addresses lead, and work that goes on
// beside the warps, and ends at once, at any moment, or only when somebody waits for it.

namespace assay::emulator {

// Handlers out of functors: F is a type whose call is the operation on one lane.

template <class F, class R, class... A>
void lane_loop(std::uint32_t lanes, Stored<R>* out, const Stored<A>*... in) {
  each_lane(lanes,
            [=](int i) { out[i] = to_stored<R>(static_cast<R>(F()(from_stored<A>(in[i])...))); });
}
template <class F, class R, class... A>
void lanewise(Warp& warp, const Op& op, std::uint32_t lanes) {
  auto next = [slot = std::array{op.a, op.b, op.c, op.d}, i = std::size_t{0}]() mutable {
    return slot[i++];
  };
  // In braces operands are evaluated in their order.
  std::apply(lane_loop<F, R, A...>,
             std::tuple{lanes, lanes_out<R>(warp, op.out), lanes_in<A>(warp, next())...});
}

/// Carries out an instruction lane by lane.
template <void (*kOfLane)(Warp&, const Op&, int)>
void each(Warp& warp, const Op& op, std::uint32_t lanes) {
  for (const int lane : Lanes(lanes)) kOfLane(warp, op, lane);
}

/// f of a value of the C++ type that a type of integers or bits is.
template <class F>
auto for_integer(PtxType type, F f) {
  if (is_float(type)) throw UnknownForm();
  const bool has_sign = is_signed(type);
  const int bits = bits_of(type);
  if (bits == 16) return has_sign ? f(std::int16_t()) : f(std::uint16_t());
  if (bits == 32) return has_sign ? f(std::int32_t()) : f(std::uint32_t());
  if (bits == 64) return has_sign ? f(std::int64_t()) : f(std::uint64_t());
  throw UnknownForm();
}

// Where an address leads. Accesses that lead nowhere are findings; reads give 0, writes vanish.

/// How an address is accessed, for the words of a finding.
/// `sync`: an mbarrier or a strong load, which do not race with their like.
enum class Access : std::uint8_t { read, write, update, sync };

/// The bytes behind an address, or null after a finding. `written`: what a plain write puts there.
std::byte* resolve(Warp& warp, Window window, int lane, std::uint64_t address, std::uint32_t bytes,
                   Access access, std::uint32_t align, const std::byte* written = nullptr);

/// The address of an operand [x + n] in a lane.
inline std::uint64_t address_of(const Warp& warp, const Address& at, int lane) {
  return warp.get(at.slot, lane, !at.is_narrow) + at.offset;
}

/// Likewise of an operand [x + n], which is aligned to its size.
inline std::byte* resolve(Warp& warp, const Address& at, int lane, std::uint32_t bytes,
                          Access access, const std::byte* written = nullptr) {
  return resolve(warp, at.window, lane, address_of(warp, at, lane), bytes, access, bytes, written);
}

/// An offset in shared memory, of the block of a rank.
inline std::uint32_t in_block(std::uint64_t address, std::uint32_t rank) {
  return (static_cast<std::uint32_t>(address) & kOffsetMask) | rank << kRankShift;
}
/// An address of the block's own shared memory, in the cluster's window.
inline std::uint32_t own_address(const Warp& warp, std::uint64_t address) {
  return in_block(address, warp.block->rank);
}

/// What atom, red and cp.reduce do to a place.
enum class AtomicOperation { add, min, max, inc, dec, bit_and, bit_or, bit_xor, exch, cas };

/// The one that a part of the opcode names. Refuses a form without one.
AtomicOperation operation_of(const Form& form);

/// The new value of a place, of the bits that are there and those of the operands.
std::uint64_t updated(AtomicOperation operation, PtxType type, std::uint64_t old, std::uint64_t b,
                      std::uint64_t c = 0);

/// destination = destination op source, for each element, atomically. False: no type has such an
/// op.
bool reduce_elements(AtomicOperation operation, PtxType type, std::byte* destination,
                     const std::byte* source, std::size_t bytes);

/// An mbarrier, as it lies in shared memory; programs may not look into it.
struct Mbarrier {
  std::uint64_t pending : 20 = 0;  // arrivals
  std::uint64_t count : 20 = 0;    // arrivals of a phase
  std::uint64_t parity : 1 = 0;
  std::uint64_t pending_bytes : 22 = 0;  // more may have come than were announced: modulo 2^22
  std::uint64_t is_initialised : 1 = 0;

  Mbarrier() = default;
  explicit Mbarrier(std::uint32_t arrivals)
      : pending(arrivals & 0xfffff), count(arrivals & 0xfffff), is_initialised(1) {}

  /// More may be pending than a phase counts: a cp.async.mbarrier.arrive adds the one it takes.
  bool is_valid() const { return is_initialised != 0 && count != 0; }
  /// Bytes are announced, or (negative) have come.
  void expect(SyncPoint& point, std::int64_t bytes) {
    pending_bytes = (pending_bytes + bytes) & 0x3fffff;
    check_phase(point);
  }
  /// So many of a warp's lane arrive; a finding where fewer are pending.
  void arrive(Warp& warp, int lane, SyncPoint& point, std::uint32_t times) {
    if (times > pending) {
      return warp.misuse(lane, "arrives at an mbarrier that expects nobody more");
    }
    pending = (pending - times) & 0xfffff;
    check_phase(point);
  }

 private:
  void check_phase(SyncPoint& point) {
    if (pending != 0 || pending_bytes != 0) return;
    parity = parity == 0;
    pending = count;
    complete_phase(point);
  }
};

/// The mbarrier at an address; null after a finding: there is none.
Mbarrier* mbarrier_at(Warp& warp, Window window, int lane, std::uint64_t address,
                      std::string_view verb = "uses");

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

}  // namespace assay::emulator
