#include <algorithm>
#include <cmath>

#include "emulator/ops.h"

// setp, set, selp, slct, testp; and cvt, through float_formats.h.

namespace assay::emulator {
namespace {

// What a comparison is true of, as bits: less, equal, greater, unordered.
constexpr std::uint32_t kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8;

std::uint32_t comparison_of(std::string_view word, bool of_floats) {
  constexpr std::uint32_t kAtMost = kLess | kEqual, kAtLeast = kGreater | kEqual;
  constexpr std::string_view kWords[] = {"eq", "ne", "lt", "le", "gt",  "ge",
                                         "lo", "ls", "hi", "hs", "num", "nan"};
  constexpr std::uint32_t kMeanings[] = {
      kEqual, kLess | kGreater, kLess,    kAtMost,  kGreater,           kAtLeast,
      kLess,  kAtMost,          kGreater, kAtLeast, kAtMost | kGreater, kUnordered};
  const bool or_unordered = of_floats && word.size() == 3 && word.ends_with('u');  // ltu
  const auto* const found = std::ranges::find(kWords, or_unordered ? word.substr(0, 2) : word);
  if (found == std::end(kWords) || (!of_floats && word == "nan")) throw UnknownForm();
  return kMeanings[found - kWords] | (or_unordered ? kUnordered : 0);
}

template <class T>
std::uint32_t relation(T x, T y) {
  const std::uint32_t is = (x < y ? kLess : 0) | (x == y ? kEqual : 0) | (x > y ? kGreater : 0);
  return is != 0 ? is : kUnordered;
}

/// With a predicate: bits 4 and 5 of op.mode say how.
std::uint32_t combined(const Warp& warp, const Op& op, std::uint32_t holds) {
  if (op.c == kNoSlot) return holds;
  const std::uint32_t with = warp.predicate(op.c);
  const std::uint32_t how = op.mode >> 4 & 3;
  return how == 0 ? holds & with : how == 1 ? holds | with : holds ^ with;
}

/// setp, and set, which puts op.bytes. `kFormat` is that of 16-bit floats, and of f32 with .ftz.
template <class T, PtxType kFormat = PtxType::none>
void compare(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<T>(warp, op.a);
  const auto* const b = lanes_in<T>(warp, op.b);
  const auto value = [](Stored<T> bits) {
    if constexpr (kFormat == PtxType::f32) {  // .ftz
      const auto x = std::bit_cast<float>(bits);
      return std::abs(x) < 0x1p-126f ? 0.0f : x;
    } else if constexpr (kFormat != PtxType::none) {
      return decode(kFormat, bits);
    } else {
      return from_stored<T>(bits);
    }
  };
  const std::uint32_t what = op.mode, yes = op.bytes;
  const std::uint32_t holds =
      lanes_where([=](int i) { return (relation(value(a[i]), value(b[i])) & what) != 0; });
  const std::uint32_t result = combined(warp, op, holds), opposite = combined(warp, op, ~holds);
  if (yes != 0) {
    std::uint32_t* const out = warp.at(op.out);
    each_lane(lanes, [=](int i) { out[i] = (result >> i & 1) != 0 ? yes : 0; });
    return;
  }
  warp.set_predicate(op.out, lanes, result);
  if (op.target >= 0) warp.set_predicate(op.target, lanes, opposite);
}

/// set of a 16-bit float, or of the two of a pair.
void compare_halves(Warp& warp, const Op& op, int i) {
  std::uint32_t result = 0;
  for (int shift = 0; shift < bits_of(op.from_type); shift += 16) {
    const auto value = [&](std::int32_t slot) {
      return decode(op.from_type, warp.in(slot)[i] >> shift & 0xffff);
    };
    if ((relation(value(op.a), value(op.b)) & op.mode) != 0) result |= op.bytes << shift;
  }
  warp.at(op.out)[i] = result;
}

Handler comparison(PtxType type, bool flushes) {
  if (type == PtxType::f32 && flushes) return compare<std::uint32_t, PtxType::f32>;
  if (type == PtxType::f32) return compare<float>;
  if (type == PtxType::f64) return compare<double>;
  if (type == PtxType::f16) return compare<std::uint16_t, PtxType::f16>;
  if (type == PtxType::bf16) return compare<std::uint16_t, PtxType::bf16>;
  return for_integer(type, [](auto x) -> Handler { return compare<decltype(x)>; });
}

/// selp; slct by the sign of an integer (op.mode 1) or a float (2).
template <class T>
void select(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<T>(warp, op.a);
  const auto* const b = lanes_in<T>(warp, op.b);
  auto* const out = lanes_out<T>(warp, op.out);
  const auto is_first = [&](int i) {
    const std::uint32_t c = warp.in(op.c)[i];
    return op.mode == 1 ? static_cast<std::int32_t>(c) >= 0 : std::bit_cast<float>(c) >= 0;
  };
  const std::uint32_t yes = op.mode == 0 ? warp.predicate(op.c) : lanes_where(is_first);
  each_lane(lanes, [=](int i) { out[i] = (yes >> i & 1) != 0 ? a[i] : b[i]; });
}

template <class T>
void test(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<T>(warp, op.a);
  const auto holds = [&](int i) {
    const T x = from_stored<T>(a[i]);
    const bool by_mode[] = {std::isfinite(x), std::isinf(x),
                            !std::isnan(x),   std::isnan(x),
                            std::isnormal(x), x != 0 && std::fpclassify(x) == FP_SUBNORMAL};
    return by_mode[op.mode];
  };
  warp.set_predicate(op.out, lanes, lanes_where(holds));
}

void decode_by_sign(Form& form) {
  form.take("tttu", form.type());
  form.op.mode = form.types.back() == PtxType::f32 ? 2 : 1;
  form.op.run = bits_of(form.type()) == 64 ? select<std::uint64_t> : select<std::uint32_t>;
}

void decode_comparison(Form& form) {
  Op& op = form.op;
  const bool is_value = form.parts[0] == "set";
  if (form.types.size() != (is_value ? 2u : 1u) || form.parts.size() < 3) throw UnknownForm();
  const PtxType type = form.types.back();
  op.mode = comparison_of(form.parts[1], is_float(type));
  if (form.has("or")) op.mode |= 1 << 4;
  if (form.has("xor")) op.mode |= 2 << 4;
  const bool of_halves = is_value && type >= PtxType::f16 && type <= PtxType::bf16x2;
  const std::uint64_t yes = is_float(form.type()) ? encode(form.type(), 1)
                            : is_pair(type)       ? 0xffff
                                                  : ~0u;
  if (is_value) op.bytes = static_cast<std::uint32_t>(yes);
  const std::string_view letters = is_value ? "uttp" : "pttp";
  form.take(letters.substr(0, form.num_operands()), type);
  op.from_type = type;
  if (of_halves && op.c != kNoSlot) throw UnknownForm();
  op.run = of_halves ? each<compare_halves> : comparison(type, op.modifiers.flush_subnormals);
}

/// The value of an integer type, extended to 64 bits.
std::uint64_t extended(PtxType type, std::uint64_t bits) {
  const int width = bits_of(type);
  if (width == 64) return bits;
  bits &= (std::uint64_t{1} << width) - 1;
  if (is_signed(type) && (bits >> (width - 1) & 1) != 0) bits |= ~std::uint64_t{0} << width;
  return bits;
}

/// Bits of op.mode: rounds to integers, the result is wide.
constexpr std::uint32_t kIntegral = 1, kWideOut = 2;

std::uint64_t converted(const Op& op, std::uint64_t bits) {
  const PtxType to = op.type, from = op.from_type;
  if (!is_float(from) && !is_float(to)) {
    const std::uint64_t value = extended(from, bits);
    if (!op.modifiers.saturate) return extended(to, value);
    // Clamped to the range of the result.
    const int width = bits_of(to);
    const auto top =
        is_signed(to) ? (std::uint64_t{1} << (width - 1)) - 1 : ~std::uint64_t{0} >> (64 - width);
    const bool is_below_zero = is_signed(from) && static_cast<std::int64_t>(value) < 0;
    if (!is_below_zero) return std::min(value, top);
    if (!is_signed(to)) return 0;
    return std::max(static_cast<std::int64_t>(value), -static_cast<std::int64_t>(top) - 1);
  }
  const Modifiers& how = op.modifiers;
  if (!is_float(from)) {
    return encode_from_integer(to, extended(from, bits), is_signed(from), how);
  }
  double value = decode(from, bits);
  if (how.flush_subnormals && from == PtxType::f32 && std::abs(value) < 0x1p-126) value *= 0;
  if (!is_float(to)) return encode_integer(value, how.rounding, bits_of(to), is_signed(to));
  if ((op.mode & kIntegral) != 0) value = round_to_integral(value, how.rounding);
  return encode(to, value, how);
}

void convert(Warp& warp, const Op& op, int i) {
  const bool is_wide = (op.mode & kWideOut) != 0;
  warp.put(op.out, i, is_wide, converted(op, warp.get(op.a, i, op.bytes == 8)));
}

/// Two values, or a pair of another format, into a pair: the first operand is the upper one.
void convert_pair(Warp& warp, const Op& op, int i) {
  const PtxType to = op.type, from = op.from_type;
  const int out_bits = bits_of(op.type) / 2, in_bits = bits_of(op.from_type) / 2;
  const std::uint32_t first = warp.in(op.a)[i];
  const std::uint32_t high = op.b != kNoSlot ? first : first >> in_bits;
  const std::uint32_t low = op.b != kNoSlot ? warp.in(op.b)[i] : first & ((1u << in_bits) - 1);
  warp.at(op.out)[i] =
      static_cast<std::uint32_t>(encode(to, decode(from, high), op.modifiers) << out_bits |
                                 encode(to, decode(from, low), op.modifiers));
}

void decode_conversion(Form& form) {
  form.allow({"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "satfinite",
              "relu"});
  if (form.types.size() != 2) throw UnknownForm();
  Op& op = form.op;
  op.type = form.types[0];
  op.from_type = form.types[1];
  if (form.has("rni") || form.has("rzi") || form.has("rmi") || form.has("rpi")) {
    op.mode |= kIntegral;
  }
  if (is_pair(op.type)) {
    op.out = form.out(0, op.type);
    op.a = form.in(1, op.from_type);
    if (!is_pair(op.from_type)) {
      if (op.from_type != PtxType::f32) throw UnknownForm();
      op.b = form.in(2, op.from_type);
    }
    op.run = each<convert_pair>;
    return;
  }
  if (is_pair(op.from_type)) throw UnknownForm();
  // Registers may be wider than their types.
  const bool wide_in = form.bits(form.operand(1)) == 64 || bits_of(op.from_type) == 64;
  const bool wide_out = form.bits(form.operand(0)) == 64;
  op.a = form.in(1, wide_in ? PtxType::b64 : PtxType::b32);
  op.out = form.out(0, wide_out ? PtxType::b64 : PtxType::b32);
  op.bytes = wide_in ? 8 : 4;
  if (wide_out) op.mode |= kWideOut;
  op.run = each<convert>;
}

}  // namespace

std::vector<Rule> comparison_rules() {
  return {{"setp|set *", "", decode_comparison},
          {"selp", "tttp", select<std::uint32_t>, 0, select<std::uint64_t>},
          {"slct *", "", decode_by_sign},
          {"testp finite|infinite|number|notanumber|normal|subnormal", "pt", test<float>, 0,
           test<double>},
          {"cvt *", "", decode_conversion}};
}

}  // namespace assay::emulator
