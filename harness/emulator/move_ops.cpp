#include <algorithm>
#include <array>
#include <functional>

#include "emulator/ops.h"

// mov, cvta, mapa and what else only carries bits; and what lanes of a warp do with each other's
// values: shfl, vote, match, redux, elect, where op.d is the slot of the member mask.

namespace assay::emulator {
namespace {

/// {a, b} into one, the first lowest. op.bytes: of each part.
void pack(Warp& warp, const Op& op, int i) {
  const std::uint32_t bits = op.bytes * 8;
  std::uint64_t value = 0;
  for (std::size_t part = 0; part < op.list.size(); ++part) {
    const std::uint64_t bits_of_part = warp.in(op.list[part])[i];
    value |= (bits_of_part & ((std::uint64_t{1} << bits) - 1)) << (bits * part);
  }
  warp.put(op.out, i, bits * op.list.size() == 64, value);
}

void unpack(Warp& warp, const Op& op, int i) {
  const std::uint32_t bits = op.bytes * 8;
  const std::uint64_t value = warp.get(op.a, i, bits * op.list.size() == 64);
  for (std::size_t part = 0; part < op.list.size(); ++part) {
    warp.at(op.list[part])[i] =
        static_cast<std::uint32_t>(value >> (bits * part) & ((std::uint64_t{1} << bits) - 1));
  }
}

/// %clock and its like: when the cluster began, and how much it has done.
template <class T>
void read_clock(Warp& warp, const Op& op, std::uint32_t lanes) {
  const ClusterState& cluster = *warp.block->cluster;
  const std::uint64_t now = cluster.begun_at + cluster.round * 4096 + warp.counts.instructions;
  const T value = static_cast<T>(op.mode == 1 ? now >> 32 : now);
  for (const int lane : Lanes(lanes)) lanes_out<T>(warp, op.out)[lane] = value;
}

/// Between addresses of a window and generic ones.
void convert_address(Warp& warp, const Op& op, std::uint32_t lanes) {
  for (const int i : Lanes(lanes)) warp.put(op.out, i, true, address_of(warp, op.at, i));
}

/// What generic addresses have that addresses in a window have not.
std::uint64_t base_of(Window window) {
  constexpr std::uint64_t kBases[] = {
      0, 0, kSharedWindow, kSharedWindow, kLocalWindow, kParamWindow, 0};
  return kBases[static_cast<std::size_t>(window)];
}

void is_in_window(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<std::uint64_t>(warp, op.a);
  const std::uint64_t all = kSharedWindow | kLocalWindow | kParamWindow;
  const auto holds = [&](int i) {
    // A block's own shared memory only.
    const bool is_own = op.window != Window::shared ||
                        static_cast<std::uint32_t>(a[i]) >> kRankShift == warp.block->rank;
    return is_own && (a[i] & all) == base_of(op.window);
  };
  warp.set_predicate(op.out, lanes, lanes_where(holds));
}

/// mapa: the same place in the shared memory of another block of the cluster.
struct Mapped {
  template <class T>
  T operator()(T address, std::uint32_t rank) const {
    return (address & ~(T{0xff} << kRankShift)) | static_cast<T>(rank & 0xff) << kRankShift;
  }
};
struct RankOf {
  std::uint32_t operator()(std::uint64_t address) const {
    return static_cast<std::uint32_t>(address) >> kRankShift;
  }
};

void decode_mov(Form& form) {
  using OperandKind = PtxOperand::Kind;
  Op& op = form.op;
  const PtxType type = form.type();
  const PtxOperand &to = form.operand(0), &from = form.operand(1);
  const bool packs = from.kind == OperandKind::list;
  if (packs || to.kind == OperandKind::list) {
    const std::size_t parts = (packs ? from : to).parts.size();
    if (bits_of(type) > 64 || parts == 0 || parts > 8) throw UnknownForm();
    op.bytes = bytes_of(type) / static_cast<std::uint32_t>(parts);
    if (op.bytes == 0 || op.bytes > 4) throw UnknownForm();
    op.list = packs ? form.in_each(1, PtxType::b32) : form.out_each(0, PtxType::b32);
    (packs ? op.out : op.a) = packs ? form.out(to, type) : form.in(from, type);
    op.run = packs ? each<pack> : each<unpack>;
    return;
  }
  op.out = form.out(to, type);
  if (from.kind == OperandKind::special &&
      (from.name.starts_with("%clock") || from.name.starts_with("%globaltimer"))) {
    op.mode = from.name.ends_with("_hi") ? 1 : 0;
    op.run = bits_of(type) == 64 ? read_clock<std::uint64_t> : read_clock<std::uint32_t>;
    return;
  }
  op.a = form.in(from, type);
  op.run = bits_of(type) == 64 ? lanewise<std::identity, std::uint64_t, std::uint64_t>
                               : lanewise<std::identity, std::uint32_t, std::uint32_t>;
}

void decode_cvta(Form& form) {
  Op& op = form.op;
  form.allow({"to", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry",
              "global", "const"});
  if (bits_of(form.type()) != 64) throw UnknownForm();
  const bool is_narrow = form.bits(form.operand(1)) == 32;
  op.out = form.out(0, form.type());
  const std::int64_t base = base_of(form.window());
  op.at = {form.in(1, is_narrow ? PtxType::b32 : form.type()), form.has("to") ? -base : base,
           is_narrow};
  op.run = convert_address;
}

void fence_all(Warp& warp, const Op&, std::uint32_t) {
  note_strong(warp);
  warp.fenced = order_now(warp);
  order_lanes(warp);
}

void shuffle(Warp& warp, const Op& op, std::uint32_t lanes) {
  std::array<std::uint32_t, 32> from;
  std::copy(warp.in(op.a), warp.in(op.a) + 32, from.begin());
  std::uint32_t valid = 0;
  const std::array<int, 32> sources = shuffle_sources(warp, op, lanes, valid);
  std::uint32_t* const out = warp.at(op.out);
  // Of a lane that does not take part PTX leaves the value open.
  each_lane(lanes, [&](int i) {
    const int source = sources[i];
    out[i] = (lanes >> source & 1) != 0 ? from[source] : 0xdeadbeefu;
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
  for (const int lane : Lanes(lanes)) {
    alike[lane] = lanes & lanes_where([&](int other) { return a[other] == a[lane]; });
  }
  const bool is_all = op.mode == 1, all_alike = alike[std::countr_zero(lanes)] == lanes;
  for (const int lane : Lanes(lanes)) {
    warp.at(op.out)[lane] = !is_all ? alike[lane] : all_alike ? lanes : 0;
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
  warp.put_all(op.out, lanes, leader);
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
    const int by_mode[] = {lane - amount, lane + amount, lane ^ amount, first | (amount & ~mask)};
    const int source = by_mode[op.mode];
    const bool holds = op.mode == 0 ? source >= last : source <= last;
    if (holds) valid |= 1u << lane;
    sources[lane] = holds ? source : lane;
  }
  return sources;
}

std::vector<Rule> move_rules() {
  using B32 = std::uint32_t;
  using B64 = std::uint64_t;
  return {{"mov *", "", decode_mov},
          {"cvta *", "", decode_cvta},
          {"isspacep *", "px", is_in_window},
          {"mapa", "ttu", lanewise<Mapped, B32, B32, B32>, 0, lanewise<Mapped, B64, B64, B32>},
          {"getctarank", "ut", lanewise<RankOf, B32, B32>, 0, lanewise<RankOf, B32, B64>},
          {"fence proxy async|async::global|async::shared::cta *", "",
           [](Warp& warp, const Op&, std::uint32_t) { fence_async(warp); }},
          {"fence proxy *", "", do_nothing},
          {"fence|membar *", "", fence_all},
          {"prefetch|prefetchu|griddepcontrol|setmaxnreg|nanosleep|applypriority|discard|"
           "createpolicy|pmevent *",
           "", do_nothing},
          {"activemask", "u", active_mask},
          {"elect sync", "um", elect},
          {"shfl sync up|down|bfly|idx", "uuuum", shuffle},
          {"vote sync all|any|uni", "ppm", vote},
          {"vote sync ballot", "upm", ballot},
          {"match sync any|all", "utm", match<std::uint32_t>, 0, match<std::uint64_t>},
          // As AtomicOperation.
          {"redux sync add|min|max|inc|dec|and|or|xor", "ttm", reduce}};
}

}  // namespace assay::emulator
