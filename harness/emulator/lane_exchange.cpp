#include <algorithm>
#include <array>

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
  if (op.out != kNoSlot) {
    std::uint32_t* const out = warp.at(op.out);
    // Of a lane that does not take part PTX leaves the value open.
    each_lane(lanes, [&](int i) {
      const int source = sources[static_cast<std::size_t>(i)];
      out[i] = (lanes >> source & 1) != 0 ? from[static_cast<std::size_t>(source)] : 0xdeadbeefu;
    });
  }
  if (op.to_window == Window::shared) {  // has a predicate
    warp.set_predicate(op.target, lanes, valid);
  }
}

enum class Vote : std::uint32_t { all, any, uni, ballot };

void vote(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t yes = warp.predicate(op.a, op.is_negated) & lanes;
  if (static_cast<Vote>(op.mode) == Vote::ballot) {
    std::uint32_t* const out = warp.at(op.out);
    each_lane(lanes, [=](int i) { out[i] = yes; });
    return;
  }
  const bool holds = static_cast<Vote>(op.mode) == Vote::all   ? yes == lanes
                     : static_cast<Vote>(op.mode) == Vote::any ? yes != 0
                                                               : yes == lanes || yes == 0;
  warp.set_predicate(op.out, lanes, holds ? ~0u : 0);
}

template <class T>
void match(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<T>(warp, op.a);
  std::array<std::uint32_t, 32> result{};
  bool all_alike = true;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    for (std::uint32_t others = lanes; others != 0; others &= others - 1) {
      const int other = std::countr_zero(others);
      if (a[other] == a[lane]) result[static_cast<std::size_t>(lane)] |= 1u << other;
    }
    all_alike = all_alike && result[static_cast<std::size_t>(lane)] == lanes;
  }
  const bool is_all = op.mode == 1;
  if (op.out != kNoSlot) {
    std::uint32_t* const out = warp.at(op.out);
    each_lane(lanes, [&](int i) {
      out[i] = is_all ? (all_alike ? lanes : 0) : result[static_cast<std::size_t>(i)];
    });
  }
  if (is_all && op.target >= 0) {
    warp.set_predicate(op.target, lanes, all_alike ? ~0u : 0);
  }
}

enum class Reduction : std::uint32_t { add, min, max, bit_and, bit_or, bit_xor };

void reduce(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t* const a = warp.in(op.a);
  std::uint32_t result = a[std::countr_zero(lanes)];
  const bool of_signed = is_signed(op.type);
  for (std::uint32_t rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {
    const std::uint32_t value = a[std::countr_zero(rest)];
    const bool is_less = of_signed
                             ? static_cast<std::int32_t>(value) < static_cast<std::int32_t>(result)
                             : value < result;
    switch (static_cast<Reduction>(op.mode)) {
      case Reduction::add:
        result += value;
        break;
      case Reduction::min:
        result = is_less ? value : result;
        break;
      case Reduction::max:
        result = is_less ? result : value;
        break;
      case Reduction::bit_and:
        result &= value;
        break;
      case Reduction::bit_or:
        result |= value;
        break;
      case Reduction::bit_xor:
        result ^= value;
        break;
    }
  }
  std::uint32_t* const out = warp.at(op.out);
  each_lane(lanes, [=](int i) { out[i] = result; });
}

void elect(Warp& warp, const Op& op, std::uint32_t lanes) {
  const int leader = std::countr_zero(lanes);
  if (op.out != kNoSlot) {
    std::uint32_t* const out = warp.at(op.out);
    each_lane(lanes, [=](int i) { out[i] = static_cast<std::uint32_t>(leader); });
  }
  warp.set_predicate(op.target, lanes, 1u << leader);
}

void active_mask(Warp& warp, const Op& op, std::uint32_t lanes) {
  std::uint32_t* const out = warp.at(op.out);
  each_lane(lanes, [=](int i) { out[i] = lanes; });
}

/// The index of a part among words; refuses others.
template <std::size_t kCount>
std::uint32_t which(const Form& form, const std::string_view (&words)[kCount]) {
  for (std::uint32_t i = 0; i < kCount; ++i) {
    if (form.has(words[i])) return i;
  }
  throw UnknownForm();
}

}  // namespace

bool is_shuffle(const Op& op) { return op.run == shuffle; }

std::array<int, 32> shuffle_sources(const Warp& warp, const Op& op, std::uint32_t lanes,
                                    std::uint32_t& valid) {
  const std::uint32_t *const amounts = warp.in(op.b), *const clamps = warp.in(op.c);
  std::array<int, 32> sources{};
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const int amount = static_cast<int>(amounts[lane] & 31);
    const int clamp = static_cast<int>(clamps[lane] & 31);
    const int mask = static_cast<int>(clamps[lane] >> 8 & 31);
    const int last = (lane & mask) | (clamp & ~mask), first = lane & mask;
    int source = lane;
    bool holds = false;
    switch (static_cast<Shuffle>(op.mode)) {
      case Shuffle::up:
        source = lane - amount;
        holds = source >= last;
        break;
      case Shuffle::down:
        source = lane + amount;
        holds = source <= last;
        break;
      case Shuffle::butterfly:
        source = lane ^ amount;
        holds = source <= last;
        break;
      case Shuffle::index:
        source = first | (amount & ~mask);
        holds = source <= last;
        break;
    }
    if (!holds) source = lane;
    if (holds) valid |= 1u << lane;
    sources[static_cast<std::size_t>(lane)] = source;
  }
  return sources;
}

void decode_lanes(Form& form) {
  const std::string_view name = form.parts[0];
  Op& op = form.op;
  if (name == "activemask") {
    op.out = form.out(0, PtxType::b32);
    op.run = active_mask;
    return;
  }
  op.control = Control::meet;
  // value|predicate
  const PtxOperand& to = form.operand(0);
  const bool has_two = to.kind == PtxOperand::Kind::pair;
  const auto take_results = [&] {
    op.out = form.out(has_two ? to.parts[0] : to, PtxType::b32);
    if (has_two) op.target = form.out(to.parts[1], PtxType::pred);
  };
  const auto members = [&](std::size_t index) { op.d = form.in(index, PtxType::b32); };
  if (name == "elect") {
    if (!has_two) throw UnknownForm();
    take_results();
    if (op.target == kNoSlot) throw UnknownForm();
    members(1);
    op.run = elect;
    return;
  }
  if (!form.has("sync")) throw UnknownForm();  // of older architectures
  if (name == "shfl") {
    op.mode = which(form, {"up", "down", "bfly", "idx"});
    take_results();
    if (has_two && op.target != kNoSlot) op.to_window = Window::shared;
    op.a = form.in(1, PtxType::b32);
    op.b = form.in(2, PtxType::b32);
    op.c = form.in(3, PtxType::b32);
    members(4);
    op.run = shuffle;
  } else if (name == "vote") {
    op.mode = which(form, {"all", "any", "uni", "ballot"});
    op.out = form.out(0, static_cast<Vote>(op.mode) == Vote::ballot ? PtxType::b32 : PtxType::pred);
    op.a = form.in(1, PtxType::pred);
    op.is_negated = form.operand(1).is_negated;
    members(2);
    op.run = vote;
  } else if (name == "match") {
    op.mode = which(form, {"any", "all"});
    take_results();
    op.a = form.in(1, form.type());
    members(2);
    op.run = bits_of(form.type()) == 64 ? match<std::uint64_t> : match<std::uint32_t>;
  } else {  // redux
    op.mode = which(form, {"add", "min", "max", "and", "or", "xor"});
    op.type = form.type();
    if (is_float(op.type)) throw UnknownForm();
    op.out = form.out(0, op.type);
    op.a = form.in(1, op.type);
    members(2);
    op.run = reduce;
  }
}

}  // namespace assay::emulator
