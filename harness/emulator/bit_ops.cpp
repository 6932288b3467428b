#include <algorithm>
#include <bit>

#include "emulator/lane_loops.h"

// Logic, shifts, and what else looks at bits.

namespace assay::emulator {
namespace {

template <class T>
using UnsignedBits = std::make_unsigned_t<T>;
// A shift of fewer bits than an int's is one of an int.
template <class T>
using ShiftedBits = std::conditional_t<sizeof(T) < 4, std::uint32_t, UnsignedBits<T>>;

struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
struct Cnot {
  template <class T>
  T operator()(T a) const {
    return a == 0;
  }
};
// Shifts by the width and more give 0, or the sign.
struct Shl {
  template <class T>
  T operator()(T a, std::uint32_t b) const {
    return b >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<ShiftedBits<T>>(a) << b);
  }
};
struct Shr {
  template <class T>
  T operator()(T a, std::uint32_t b) const {
    const std::uint32_t most = 8 * sizeof(T) - 1;
    if (b > most) return std::is_signed_v<T> ? static_cast<T>(a >> most) : T{0};
    return static_cast<T>(a >> b);
  }
};
template <bool kIsLeft, bool kWraps>
struct Funnel {
  std::uint32_t operator()(std::uint32_t low, std::uint32_t high, std::uint32_t by) const {
    const std::uint32_t count = kWraps ? by & 31 : std::min(by, 32u);
    const std::uint64_t both = std::uint64_t{high} << 32 | low;
    return static_cast<std::uint32_t>(kIsLeft ? (both << count) >> 32 : both >> count);
  }
};
struct Popc {
  template <class T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::popcount(a));
  }
};
struct Clz {
  template <class T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::countl_zero(a));
  }
};
struct Brev {
  template <class T>
  T operator()(T a) const {
    T result = 0;
    for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit) {
      result = static_cast<T>(result | ((a >> bit & 1) << (8 * sizeof(T) - 1 - bit)));
    }
    return result;
  }
};
template <bool kShiftAmount>
struct Bfind {
  template <class T>
  std::uint32_t operator()(T a) const {
    const auto bits = static_cast<UnsignedBits<T>>(a < 0 ? ~a : a);
    if (bits == 0) return ~0u;
    const int zeros = std::countl_zero(bits);
    return static_cast<std::uint32_t>(kShiftAmount ? zeros
                                                   : static_cast<int>(8 * sizeof(T)) - 1 - zeros);
  }
};
struct Bfe {
  template <class T>
  T operator()(T a, std::uint32_t begin, std::uint32_t length) const {
    constexpr std::uint32_t kTop = 8 * sizeof(T) - 1;
    begin &= 0xff;
    length &= 0xff;
    // The sign is the field's highest bit, or the value's where the field goes beyond.
    const std::uint32_t sign_at = std::min(begin + length - 1, kTop);
    const bool sign = std::is_signed_v<T> && length != 0 && (a >> sign_at & 1) != 0;
    UnsignedBits<T> result = sign ? static_cast<UnsignedBits<T>>(-1) : UnsignedBits<T>{0};
    for (std::uint32_t i = 0; i <= kTop && i < length && begin + i <= kTop; ++i) {
      const UnsignedBits<T> bit = static_cast<UnsignedBits<T>>(UnsignedBits<T>{1} << i);
      result = (a >> (begin + i) & 1) != 0 ? result | bit : result & ~bit;
    }
    return static_cast<T>(result);
  }
};
template <class T>
void insert_bits(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<T>(warp, op.a);
  const auto* const b = lanes_in<T>(warp, op.b);
  const std::uint32_t *const begins = warp.in(op.c), *const lengths = warp.in(op.d);
  auto* const out = lanes_out<T>(warp, op.out);
  each_lane(lanes, [=](int i) {
    const std::uint32_t begin = begins[i] & 0xff;
    const std::uint32_t length = std::min<std::uint32_t>(lengths[i] & 0xff, 8 * sizeof(T));
    if (begin >= 8 * sizeof(T) || length == 0) {
      out[i] = b[i];
      return;
    }
    const T field = static_cast<T>(length == 8 * sizeof(T) ? ~T{0} : (T{1} << length) - 1) << begin;
    out[i] = (b[i] & ~field) | (static_cast<T>(a[i] << begin) & field);
  });
}
/// prmt, with its mode in op.mode.
std::uint32_t permuted(std::uint32_t a, std::uint32_t b, std::uint32_t selector,
                       std::uint32_t mode) {
  const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
  const std::uint32_t by = selector & 3;
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::uint32_t pick = selector >> (4 * i) & 15;
    if (mode == 1) pick = by + i;                  // f4e
    if (mode == 2) pick = (by - i) & 7;            // b4e
    if (mode == 3) pick = by;                      // rc8
    if (mode == 4) pick = std::max(i, by);         // ecl
    if (mode == 5) pick = std::min(i, by);         // ecr
    if (mode == 6) pick = (by & 1) * 2 + (i & 1);  // rc16
    auto byte = static_cast<std::uint32_t>(bytes >> (8 * (pick & 7)) & 0xff);
    if ((pick & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}
void permute(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t *const a = warp.in(op.a), *const b = warp.in(op.b), *const c = warp.in(op.c);
  std::uint32_t* const out = warp.at(op.out);
  const std::uint32_t mode = op.mode;
  each_lane(lanes, [=](int i) { out[i] = permuted(a[i], b[i], c[i], mode); });
}

/// Any function of three bits: op.mode is its table.
void lop3(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t *const a = warp.in(op.a), *const b = warp.in(op.b), *const c = warp.in(op.c);
  std::uint32_t* const out = warp.at(op.out);
  const std::uint32_t table = op.mode;
  each_lane(lanes, [=](int i) {
    std::uint32_t result = 0;
    for (std::uint32_t row = 0; row < 8; ++row) {
      if ((table >> row & 1) == 0) continue;
      result |= ((row & 4) != 0 ? a[i] : ~a[i]) & ((row & 2) != 0 ? b[i] : ~b[i]) &
                ((row & 1) != 0 ? c[i] : ~c[i]);
    }
    out[i] = result;
  });
}

template <int kKind>  // 0: and, 1: or, 2: xor, 3: not, 4: mov
void predicate_logic(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t a = warp.predicate(op.a, op.is_negated);
  const std::uint32_t b = op.b == kNoSlot ? 0 : warp.predicate(op.b, op.is_ftz);
  const std::uint32_t result = kKind == 0   ? a & b
                               : kKind == 1 ? a | b
                               : kKind == 2 ? a ^ b
                               : kKind == 3 ? ~a
                                            : a;
  std::uint32_t& out = warp.predicates[op.out];
  out = (out & ~lanes) | (result & lanes);
}

void decode_predicate_logic(Form& form) {
  const std::string_view name = form.parts[0];
  Op& op = form.op;
  op.out = form.out(0, PtxType::pred);
  op.a = form.in(1, PtxType::pred);
  op.is_negated = form.operand(1).is_negated;
  if (name != "not" && name != "mov") {
    op.b = form.in(2, PtxType::pred);
    op.is_ftz = form.operand(2).is_negated;  // the second operand's
  }
  if (op.out == kNoSlot || op.a == kNoSlot) throw UnknownForm();
  op.run = name == "and"   ? predicate_logic<0>
           : name == "or"  ? predicate_logic<1>
           : name == "xor" ? predicate_logic<2>
           : name == "not" ? predicate_logic<3>
                           : throw UnknownForm();
}

template <class F>
Handler counting(PtxType type) {
  return bits_of(type) == 64 ? unary<std::uint32_t, std::uint64_t, F>
                             : unary<std::uint32_t, std::uint32_t, F>;
}

}  // namespace

void decode_bits(Form& form) {
  const std::string_view name = form.parts[0];
  const PtxType type = form.type();
  Op& op = form.op;
  if (type == PtxType::pred) return decode_predicate_logic(form);
  const auto operands = [&](std::size_t count) {
    op.out = form.out(0, type);
    op.a = form.in(1, type);
    if (count > 1) op.b = form.in(2, type);
    if (count > 2) op.c = form.in(3, type);
  };
  if (name == "shl" || name == "shr") {
    form.allow({});
    op.out = form.out(0, type);
    op.a = form.in(1, type);
    op.b = form.in(2, PtxType::u32);
    op.run = for_integer(type, [&](auto x) -> Handler {
      using T = decltype(x);
      if (name == "shl") return binary<T, T, std::uint32_t, Shl>;
      return binary<T, T, std::uint32_t, Shr>;
    });
  } else if (name == "popc" || name == "clz") {
    form.allow({});
    op.out = form.out(0, PtxType::u32);
    op.a = form.in(1, type);
    op.run = name == "popc" ? counting<Popc>(type) : counting<Clz>(type);
  } else if (name == "bfind") {
    form.allow({"shiftamt"});
    op.out = form.out(0, PtxType::u32);
    op.a = form.in(1, type);
    op.run = for_integer(type, [&](auto x) -> Handler {
      using T = decltype(x);
      if (form.has("shiftamt")) return unary<std::uint32_t, T, Bfind<true>>;
      return unary<std::uint32_t, T, Bfind<false>>;
    });
  } else if (name == "bfe") {
    form.allow({});
    op.out = form.out(0, type);
    op.a = form.in(1, type);
    op.b = form.in(2, PtxType::u32);
    op.c = form.in(3, PtxType::u32);
    op.run = for_integer(type, [](auto x) -> Handler {
      using T = decltype(x);
      return ternary<T, T, std::uint32_t, std::uint32_t, Bfe>;
    });
  } else if (name == "bfi") {
    form.allow({});
    op.out = form.out(0, type);
    op.a = form.in(1, type);
    op.b = form.in(2, type);
    op.c = form.in(3, PtxType::u32);
    op.d = form.in(4, PtxType::u32);
    op.run = bits_of(type) == 64 ? insert_bits<std::uint64_t> : insert_bits<std::uint32_t>;
  } else if (name == "prmt") {
    form.allow({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
    operands(3);
    op.mode = form.has("f4e")    ? 1u
              : form.has("b4e")  ? 2u
              : form.has("rc8")  ? 3u
              : form.has("ecl")  ? 4u
              : form.has("ecr")  ? 5u
              : form.has("rc16") ? 6u
                                 : 0u;
    op.run = permute;
  } else if (name == "lop3") {
    form.allow({});
    operands(3);
    if (form.operand(4).kind != PtxOperand::Kind::integer) throw UnknownForm();
    op.mode = static_cast<std::uint32_t>(form.operand(4).value);
    op.run = lop3;
  } else if (name == "shf") {
    form.allow({"l", "r", "wrap", "clamp"});
    operands(3);
    using T = std::uint32_t;
    op.run = form.has("l") ? (form.has("wrap") ? ternary<T, T, T, T, Funnel<true, true>>
                                               : ternary<T, T, T, T, Funnel<true, false>>)
                           : (form.has("wrap") ? ternary<T, T, T, T, Funnel<false, true>>
                                               : ternary<T, T, T, T, Funnel<false, false>>);
  } else {
    form.allow({});
    operands(name == "not" || name == "cnot" || name == "brev" ? 1 : 2);
    const auto of_brev = [](auto x) -> Handler {
      using T = std::make_unsigned_t<decltype(x)>;
      return unary<T, T, Brev>;
    };
    op.run = name == "and"    ? binary_integer<And>(type)
             : name == "or"   ? binary_integer<Or>(type)
             : name == "xor"  ? binary_integer<Xor>(type)
             : name == "not"  ? unary_integer<Not>(type)
             : name == "cnot" ? unary_integer<Cnot>(type)
             : name == "brev" ? for_integer(type, of_brev)
                              : throw UnknownForm();
  }
}

}  // namespace assay::emulator
