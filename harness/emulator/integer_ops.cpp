#include <algorithm>
#include <bit>
#include <limits>

#include "emulator/lane_loops.h"

// Integer arithmetic.

namespace assay::emulator {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

// 16-bit values are multiplied as unsigned int: int would overflow.
template <class T>
using Product = std::conditional_t<sizeof(T) < 4, std::uint32_t, Unsigned<T>>;

template <class T>
struct WideOf {
  __extension__ using Signed128 = __int128;
  __extension__ using Unsigned128 = unsigned __int128;
  using type = std::conditional_t<
      sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, Signed128, Unsigned128>,
      std::conditional_t<sizeof(T) == 4,
                         std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                         std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>>;
};
template <class T>
using Wide = typename WideOf<T>::type;

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(Product<T>(static_cast<Unsigned<T>>(a)) + static_cast<Unsigned<T>>(b));
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(Product<T>(static_cast<Unsigned<T>>(a)) - static_cast<Unsigned<T>>(b));
  }
};
struct MulLo {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(Product<T>(static_cast<Unsigned<T>>(a)) * static_cast<Unsigned<T>>(b));
  }
};
struct MulHi {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
  }
};
struct MulWide {
  template <class T>
  Wide<T> operator()(T a, T b) const {
    return static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b);
  }
};
struct MadLo {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add()(MulLo()(a, b), c);
  }
};
struct MadHi {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add()(MulHi()(a, b), c);
  }
};
struct MadWide {
  template <class T>
  Wide<T> operator()(T a, T b, Wide<T> c) const {
    return Add()(MulWide()(a, b), c);
  }
};
template <bool kIsHigh>
struct Mul24 {
  template <class T>
  T operator()(T a, T b) const {
    const auto low = [](T value) {
      return static_cast<std::int64_t>(static_cast<T>(static_cast<std::uint32_t>(value) << 8)) >> 8;
    };
    return static_cast<T>((low(a) * low(b)) >> (kIsHigh ? 16 : 0));
  }
};
struct Mad24 {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add()(Mul24<false>()(a, b), c);
  }
};
// What the hardware does where PTX says nothing: all bits of a division by 0.
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(-1);
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Sub()(T{0}, a);
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    return Sub()(T{0}, a);
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    return a < 0 ? Neg()(a) : a;
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};
struct MinRelu {
  template <class T>
  T operator()(T a, T b) const {
    return std::max<T>(std::min(a, b), 0);
  }
};
struct MaxRelu {
  template <class T>
  T operator()(T a, T b) const {
    return std::max<T>(std::max(a, b), 0);
  }
};
struct Sad {
  template <class T>
  T operator()(T a, T b, T c) const {
    return Add()(c, a < b ? Sub()(b, a) : Sub()(a, b));
  }
};
template <class T>
struct AddSaturated {
  T operator()(T a, T b) const {
    const std::int64_t sum = std::int64_t{a} + b;
    return static_cast<T>(std::clamp<std::int64_t>(sum, std::numeric_limits<T>::min(),
                                                   std::numeric_limits<T>::max()));
  }
};
template <class T>
struct SubSaturated {
  T operator()(T a, T b) const {
    const std::int64_t sum = std::int64_t{a} - b;
    return static_cast<T>(std::clamp<std::int64_t>(sum, std::numeric_limits<T>::min(),
                                                   std::numeric_limits<T>::max()));
  }
};
template <class A, class B>
struct Dp4a {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    for (int i = 0; i < 4; ++i) {
      c += static_cast<std::uint32_t>(static_cast<A>(a >> (8 * i)) * static_cast<B>(b >> (8 * i)));
    }
    return c;
  }
};
template <class A, class B, int kFirst>
struct Dp2a {
  using A16 = std::conditional_t<std::is_signed_v<A>, std::int16_t, std::uint16_t>;
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    for (int i = 0; i < 2; ++i) {
      c += static_cast<std::uint32_t>(static_cast<A16>(a >> (16 * i)) *
                                      static_cast<B>(b >> (8 * (i + kFirst))));
    }
    return c;
  }
};

// With a carry: op.mode has whether it is read (1), written (2), and a difference (4).
template <class T>
void add_with_carry(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<T>(warp, op.a);
  const auto* const b = lanes_in<T>(warp, op.b);
  auto* const out = lanes_out<T>(warp, op.out);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int i = std::countr_zero(lanes);
    const bool is_difference = (op.mode & 4) != 0;
    const std::uint32_t bit = 1u << i;
    const bool carry = (op.mode & 1) != 0 && (warp.carry & bit) != 0;
    const Wide<T> wide =
        is_difference ? Wide<T>{a[i]} - b[i] - carry : Wide<T>{a[i]} + b[i] + carry;
    out[i] = static_cast<T>(wide);
    if ((op.mode & 2) == 0) continue;
    warp.carry = (wide >> (8 * sizeof(T)) & 1) != 0 ? warp.carry | bit : warp.carry & ~bit;
  }
}

/// mad with a carry: a product, then a sum.
template <class T, class F>
void mad_with_carry(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<T>(warp, op.a);
  const auto* const b = lanes_in<T>(warp, op.b);
  const auto* const c = lanes_in<T>(warp, op.c);
  auto* const out = lanes_out<T>(warp, op.out);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int i = std::countr_zero(lanes);
    const std::uint32_t bit = 1u << i;
    const bool carry = (op.mode & 1) != 0 && (warp.carry & bit) != 0;
    const Wide<T> wide = Wide<T>{F()(from_stored<T>(a[i]), from_stored<T>(b[i]))} + c[i] + carry;
    out[i] = static_cast<T>(wide);
    if ((op.mode & 2) == 0) continue;
    warp.carry = (wide >> (8 * sizeof(T)) & 1) != 0 ? warp.carry | bit : warp.carry & ~bit;
  }
}

void decode_carry(Form& form, bool reads) {
  Op& op = form.op;
  const std::string_view name = form.parts[0];
  const bool is_wide = bits_of(form.type()) == 64;
  const bool is_product = name.starts_with("mad");
  const PtxType type = form.type();
  op.mode = (reads ? 1u : 0u) | (form.has("cc") ? 2u : 0u) | (name.starts_with("sub") ? 4u : 0u);
  op.out = form.out(0, type);
  op.a = form.in(1, type);
  op.b = form.in(2, type);
  if (!is_product) {
    op.run = is_wide ? add_with_carry<std::uint64_t> : add_with_carry<std::uint32_t>;
    return;
  }
  if (is_signed(type)) throw UnknownForm();
  op.c = form.in(3, type);
  const bool is_high = form.has("hi");
  op.run =
      is_wide
          ? (is_high ? mad_with_carry<std::uint64_t, MulHi> : mad_with_carry<std::uint64_t, MulLo>)
          : (is_high ? mad_with_carry<std::uint32_t, MulHi> : mad_with_carry<std::uint32_t, MulLo>);
}

template <template <class, class> class F>
Handler dot(PtxType a, PtxType b) {
  using S = std::int8_t;
  using U = std::uint8_t;
  using T = std::uint32_t;
  if (is_signed(a)) {
    return is_signed(b) ? ternary<T, T, T, T, F<S, S>> : ternary<T, T, T, T, F<S, U>>;
  }
  return is_signed(b) ? ternary<T, T, T, T, F<U, S>> : ternary<T, T, T, T, F<U, U>>;
}
template <class A, class B>
using Dp2aLow = Dp2a<A, B, 0>;
template <class A, class B>
using Dp2aHigh = Dp2a<A, B, 2>;

template <class F>
Handler widening(PtxType type, bool has_three) {
  const auto handler = [&](auto x) -> Handler {
    using T = decltype(x);
    if constexpr (sizeof(T) == 8) {
      throw UnknownForm();
    } else if constexpr (std::is_same_v<F, MulWide>) {
      return binary<Wide<T>, T, T, MulWide>;
    } else {
      return ternary<Wide<T>, T, T, Wide<T>, MadWide>;
    }
  };
  (void)has_three;
  return for_integer(type, handler);
}

PtxType widened(PtxType type) {
  if (type == PtxType::s16) return PtxType::s32;
  if (type == PtxType::u16) return PtxType::u32;
  if (type == PtxType::s32) return PtxType::s64;
  if (type == PtxType::u32) return PtxType::u64;
  throw UnknownForm();
}

}  // namespace

void decode_integer(Form& form) {
  const std::string_view name = form.parts[0];
  const PtxType type = form.type();
  Op& op = form.op;
  if (is_float(type)) return decode_float(form);
  const bool reads_carry = name == "addc" || name == "subc" || name == "madc";
  if (reads_carry || form.has("cc")) return decode_carry(form, reads_carry);
  const auto operands = [&](std::size_t count) {
    op.out = form.out(0, type);
    op.a = form.in(1, type);
    if (count > 1) op.b = form.in(2, type);
    if (count > 2) op.c = form.in(3, type);
  };
  if (name == "mul" || name == "mad") {
    const bool is_wide = form.has("wide");
    const PtxType result = is_wide ? widened(type) : type;
    form.allow({"lo", "hi", "wide"});
    op.out = form.out(0, result);
    op.a = form.in(1, type);
    op.b = form.in(2, type);
    if (name == "mad") op.c = form.in(3, result);
    if (is_wide) {
      op.run = name == "mul" ? widening<MulWide>(type, false) : widening<MadWide>(type, true);
    } else if (form.has("hi")) {
      op.run = name == "mul" ? binary_integer<MulHi>(type) : ternary_integer<MadHi>(type);
    } else {
      op.run = name == "mul" ? binary_integer<MulLo>(type) : ternary_integer<MadLo>(type);
    }
  } else if (name == "mul24" || name == "mad24") {
    form.allow({"lo", "hi"});
    if (bits_of(type) != 32 || (name == "mad24" && form.has("hi"))) throw UnknownForm();
    operands(name == "mul24" ? 2 : 3);
    op.run = name == "mad24"  ? ternary_integer<Mad24>(type)
             : form.has("hi") ? binary_integer<Mul24<true>>(type)
                              : binary_integer<Mul24<false>>(type);
  } else if (name == "dp4a" || name == "dp2a") {
    form.allow({"lo", "hi"});
    op.out = form.out(0, PtxType::u32);
    op.a = form.in(1, PtxType::u32);
    op.b = form.in(2, PtxType::u32);
    op.c = form.in(3, PtxType::u32);
    op.run = name == "dp4a"   ? dot<Dp4a>(form.types.at(0), form.types.at(1))
             : form.has("hi") ? dot<Dp2aHigh>(form.types.at(0), form.types.at(1))
                              : dot<Dp2aLow>(form.types.at(0), form.types.at(1));
  } else if ((name == "add" || name == "sub") && form.has("sat")) {
    using T = std::int32_t;
    if (type != PtxType::s32) throw UnknownForm();
    operands(2);
    op.run = name == "add" ? binary<T, T, T, AddSaturated<T>> : binary<T, T, T, SubSaturated<T>>;
  } else if ((name == "min" || name == "max") && form.has("relu")) {
    operands(2);
    op.run = name == "min" ? binary_integer<MinRelu>(type) : binary_integer<MaxRelu>(type);
  } else {
    form.allow({});
    const bool is_unary =
        name == "abs" || name == "neg" || name == "not" || name == "cnot" || name == "brev";
    operands(is_unary ? 1 : name == "sad" ? 3 : 2);
    op.run = name == "add"   ? binary_integer<Add>(type)
             : name == "sub" ? binary_integer<Sub>(type)
             : name == "div" ? binary_integer<Div>(type)
             : name == "rem" ? binary_integer<Rem>(type)
             : name == "min" ? binary_integer<Min>(type)
             : name == "max" ? binary_integer<Max>(type)
             : name == "abs" ? unary_integer<Abs>(type)
             : name == "neg" ? unary_integer<Neg>(type)
             : name == "sad" ? ternary_integer<Sad>(type)
                             : throw UnknownForm();
  }
}

}  // namespace assay::emulator
