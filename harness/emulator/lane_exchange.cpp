#include <algorithm>
#include <array>

#include "emulator/atomics.h"
#include "emulator/lane_loops.h"

// What lanes of a warp do with each other's values: shfl, vote, match, redux, elect, barriers of a
// warp. Control::meet brings the lanes together; op.d is the slot of the member mask.

namespace assay::emulator {
namespace {

enum class Shuffle : std::uint32_t { up, down, butterfly, index };

void shuffle(Warp& warp, const Op& op, std::uint32_t lanes) {
  std::array<std::uint32_t, 32> from;
  std::copy(warp.in(op.a), warp.in(op.a) + 32, from.begin());
  std::uint32_t valid = 0;
  const std::array<int, 32> sources = shuffle_sources(warp, op, lanes, valid);
  std::uint32_t* const out = warp.at(op.out);
  // Of a lane that does not take part PTX leaves the value open.
  each_lane(lanes, [&](int i) {
    const int source = sources[static_cast<std::size_t>(i)];
    out[i] = (lanes >> source & 1) != 0 ? from[static_cast<std::size_t>(source)] : 0xdeadbeefu;
  });
  if (op.target >= 0) warp.set_predicate(op.target, lanes, valid);
}

/// op.mode: all, any, or all alike.
void vote(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t yes = warp.predicate(op.a) & lanes;
  const bool holds[] = {yes == lanes, yes != 0, yes == lanes || yes == 0};
  warp.set_predicate(op.out, lanes, holds[op.mode] ? ~0u : 0);
}

void ballot(Warp& warp, const Op& op, std::uint32_t lanes) {
  warp.put_all(op.out, lanes, warp.predicate(op.a) & lanes);
}

template <class T>
void match(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<T>(warp, op.a);
  std::array<std::uint32_t, 32> alike{};
  bool all_alike = true;
  for (const int lane : Lanes(lanes)) {
    std::uint32_t& result = alike[static_cast<std::size_t>(lane)];
    for (const int other : Lanes(lanes)) {
      if (a[other] == a[lane]) result |= 1u << other;
    }
    all_alike = all_alike && result == lanes;
  }
  const bool is_all = op.mode == 1;
  for (const int lane : Lanes(lanes)) {
    const std::uint32_t any = alike[static_cast<std::size_t>(lane)];
    warp.at(op.out)[lane] = !is_all ? any : all_alike ? lanes : 0;
  }
  if (is_all && op.target >= 0) warp.set_predicate(op.target, lanes, all_alike ? ~0u : 0);
}

void reduce(Warp& warp, const Op& op, std::uint32_t lanes) {
  std::uint64_t result = warp.in(op.a)[std::countr_zero(lanes)];
  for (const int lane : Lanes(lanes & (lanes - 1))) {
    result = updated(static_cast<AtomicOperation>(op.mode), op.type, result, warp.in(op.a)[lane]);
  }
  warp.put_all(op.out, lanes, static_cast<std::uint32_t>(result));
}

void elect(Warp& warp, const Op& op, std::uint32_t lanes) {
  const int leader = std::countr_zero(lanes);
  warp.put_all(op.out, lanes, static_cast<std::uint32_t>(leader));
  if (op.target >= 0) warp.set_predicate(op.target, lanes, 1u << leader);
}

void active_mask(Warp& warp, const Op& op, std::uint32_t lanes) {
  warp.put_all(op.out, lanes, lanes);
}

}  // namespace

bool is_shuffle(const Op& op) { return op.run == shuffle; }

std::array<int, 32> shuffle_sources(const Warp& warp, const Op& op, std::uint32_t lanes,
                                    std::uint32_t& valid) {
  const std::uint32_t *const amounts = warp.in(op.b), *const clamps = warp.in(op.c);
  std::array<int, 32> sources{};
  for (const int lane : Lanes(lanes)) {
    const int amount = static_cast<int>(amounts[lane] & 31);
    const int clamp = static_cast<int>(clamps[lane] & 31);
    const int mask = static_cast<int>(clamps[lane] >> 8 & 31);
    const int last = (lane & mask) | (clamp & ~mask), first = lane & mask;
    const auto how = static_cast<Shuffle>(op.mode);
    const int source = how == Shuffle::up          ? lane - amount
                       : how == Shuffle::down      ? lane + amount
                       : how == Shuffle::butterfly ? lane ^ amount
                                                   : first | (amount & ~mask);
    const bool holds = how == Shuffle::up ? source >= last : source <= last;
    if (holds) valid |= 1u << lane;
    sources[static_cast<std::size_t>(lane)] = holds ? source : lane;
  }
  return sources;
}

std::vector<Rule> lane_rules() {
  return {{"activemask", "u", active_mask},
          {"elect sync", "um", elect},
          {"shfl sync up|down|bfly|idx", "uuuum", shuffle},
          {"vote sync all|any|uni", "ppm", vote},
          {"vote sync ballot", "upm", ballot},
          {"match sync any|all", "utm", match<std::uint32_t>, 0, match<std::uint64_t>},
          // As AtomicOperation.
          {"redux sync add|min|max|inc|dec|and|or|xor", "ttm", reduce}};
}

}  // namespace assay::emulator
