#include <cmath>

#include "emulator/lane_loops.h"

// setp, set, selp, slct, testp.

namespace assay::emulator {
namespace {

// What a comparison is true of, as bits: less, equal, greater, unordered.
constexpr std::uint32_t kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8;

std::uint32_t comparison_of(std::string_view word, bool of_floats) {
  static const std::map<std::string_view, std::uint32_t> kWords{
      {"eq", kEqual},
      {"ne", kLess | kGreater},
      {"lt", kLess},
      {"le", kLess | kEqual},
      {"gt", kGreater},
      {"ge", kGreater | kEqual},
      {"lo", kLess},
      {"ls", kLess | kEqual},
      {"hi", kGreater},
      {"hs", kGreater | kEqual},
      {"equ", kEqual | kUnordered},
      {"neu", kLess | kGreater | kUnordered},
      {"ltu", kLess | kUnordered},
      {"leu", kLess | kEqual | kUnordered},
      {"gtu", kGreater | kUnordered},
      {"geu", kGreater | kEqual | kUnordered},
      {"num", kLess | kEqual | kGreater},
      {"nan", kUnordered},
  };
  const auto found = kWords.find(word);
  if (found == kWords.end() || (!of_floats && (found->second & kUnordered) != 0)) {
    throw UnknownForm();
  }
  return found->second;
}

/// A value of a lane as C++ compares it.
template <class T, FloatFormat kFormat>
auto compared_value(Stored<T> bits) {
  if constexpr (kFormat == FloatFormat::f16 || kFormat == FloatFormat::bf16) {
    return decode(kFormat, bits);
  } else {
    return from_stored<T>(bits);
  }
}

/// Lanes of which a comparison is true. `kFormat` is that of 16-bit floats.
template <class T, FloatFormat kFormat = FloatFormat::f64>
std::uint32_t compared(const Warp& warp, const Op& op) {
  const auto* const a = lanes_in<T>(warp, op.a);
  const auto* const b = lanes_in<T>(warp, op.b);
  const std::uint32_t what = op.mode;
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 32; ++i) {
    const auto x = compared_value<T, kFormat>(a[i]), y = compared_value<T, kFormat>(b[i]);
    const std::uint32_t is = (x < y ? kLess : 0) | (x == y ? kEqual : 0) | (x > y ? kGreater : 0);
    result |= static_cast<std::uint32_t>(((is != 0 ? is : kUnordered) & what) != 0) << i;
  }
  return result;
}

/// With a predicate: bits 4 and 5 of op.mode say how.
std::uint32_t combined(const Warp& warp, const Op& op, std::uint32_t holds) {
  if (op.c == kNoSlot) return holds;
  const std::uint32_t with = warp.predicate(op.c, op.is_negated);
  const std::uint32_t how = op.mode >> 4 & 3;
  return how == 0 ? holds & with : how == 1 ? holds | with : holds ^ with;
}

template <std::uint32_t (*kCompared)(const Warp&, const Op&)>
void set_predicate(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t holds = kCompared(warp, op);
  const std::uint32_t result = combined(warp, op, holds), opposite = combined(warp, op, ~holds);
  warp.set_predicate(op.out, lanes, result);
  if (op.d != kNoSlot) warp.set_predicate(op.d, lanes, opposite);
}

/// set: all ones, or 1.0 of f32 (op.bytes).
template <std::uint32_t (*kCompared)(const Warp&, const Op&)>
void set_value(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t holds = combined(warp, op, kCompared(warp, op)), yes = op.bytes;
  std::uint32_t* const out = warp.at(op.out);
  each_lane(lanes, [=](int i) { out[i] = (holds >> i & 1) != 0 ? yes : 0; });
}

template <std::uint32_t (*kCompared)(const Warp&, const Op&)>
Handler setting(bool is_value) {
  return is_value ? set_value<kCompared> : set_predicate<kCompared>;
}

Handler handler_of(PtxType type, bool is_value) {
  if (type == PtxType::f32) return setting<compared<float>>(is_value);
  if (type == PtxType::f64) return setting<compared<double>>(is_value);
  if (type == PtxType::f16) return setting<compared<std::uint16_t, FloatFormat::f16>>(is_value);
  if (type == PtxType::bf16) return setting<compared<std::uint16_t, FloatFormat::bf16>>(is_value);
  return for_integer(type, [&](auto x) { return setting<compared<decltype(x)>>(is_value); });
}

template <class T>
void select(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<T>(warp, op.a);
  const auto* const b = lanes_in<T>(warp, op.b);
  auto* const out = lanes_out<T>(warp, op.out);
  const std::uint32_t yes = warp.predicate(op.c, op.is_negated);
  each_lane(lanes, [=](int i) { out[i] = (yes >> i & 1) != 0 ? a[i] : b[i]; });
}

/// slct, with c a float if op.mode is set.
template <class T>
void select_by_sign(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<T>(warp, op.a);
  const auto* const b = lanes_in<T>(warp, op.b);
  const std::uint32_t* const c = warp.in(op.c);
  auto* const out = lanes_out<T>(warp, op.out);
  const bool is_float = op.mode != 0;
  each_lane(lanes, [=](int i) {
    const bool is_first =
        is_float ? std::bit_cast<float>(c[i]) >= 0 : static_cast<std::int32_t>(c[i]) >= 0;
    out[i] = is_first ? a[i] : b[i];
  });
}

template <class T>
void test(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<T>(warp, op.a);
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 32; ++i) {
    const T x = from_stored<T>(a[i]);
    const bool holds[] = {std::isfinite(x), std::isinf(x),
                          !std::isnan(x),   std::isnan(x),
                          std::isnormal(x), x != 0 && std::fpclassify(x) == FP_SUBNORMAL};
    result |= static_cast<std::uint32_t>(holds[op.mode]) << i;
  }
  warp.set_predicate(op.out, lanes, result);
}

}  // namespace

void decode_comparison(Form& form) {
  const std::string_view name = form.parts[0];
  Op& op = form.op;
  if (name == "selp" || name == "slct") {
    const PtxType type = form.type();
    const bool is_wide = bits_of(type) == 64;
    op.out = form.out(0, type);
    op.a = form.in(1, type);
    op.b = form.in(2, type);
    op.c = form.in(3, name == "selp" ? PtxType::pred : PtxType::b32);
    op.is_negated = form.operand(3).is_negated;
    op.mode = form.types.back() == PtxType::f32 ? 1 : 0;
    op.run = name == "selp" ? (is_wide ? select<std::uint64_t> : select<std::uint32_t>)
             : is_wide      ? select_by_sign<std::uint64_t>
                            : select_by_sign<std::uint32_t>;
    return;
  }
  if (name == "testp") {
    const PtxType type = form.type();
    constexpr std::string_view kTests[] = {"finite",     "infinite", "number",
                                           "notanumber", "normal",   "subnormal"};
    for (std::uint32_t i = 0; i < 6; ++i) {
      if (form.has(kTests[i])) op.mode = i;
    }
    op.out = form.out(0, PtxType::pred);
    op.a = form.in(1, type);
    op.run = type == PtxType::f64 ? test<double> : test<float>;
    return;
  }
  const bool is_value = name == "set";
  if (form.types.size() != (is_value ? 2u : 1u) || form.parts.size() < 3) throw UnknownForm();
  const PtxType type = form.types.back();
  op.mode = comparison_of(form.parts[1], is_float(type));
  if (form.has("or")) op.mode |= 1 << 4;
  if (form.has("xor")) op.mode |= 2 << 4;
  if (form.has("ftz") && type == PtxType::f32) throw UnknownForm();
  op.a = form.in(1, type);
  op.b = form.in(2, type);
  if (form.num_operands() > 3) {
    op.c = form.in(3, PtxType::pred);
    op.is_negated = form.operand(3).is_negated;
  }
  if (is_value) {
    op.out = form.out(0, form.type());
    op.bytes = form.type() == PtxType::f32 ? 0x3f800000u : ~0u;
  } else if (form.operand(0).kind == PtxOperand::Kind::pair) {
    op.out = form.out(form.operand(0).parts[0], PtxType::pred);
    op.d = form.out(form.operand(0).parts[1], PtxType::pred);
  } else {
    op.out = form.out(0, PtxType::pred);
  }
  op.run = handler_of(type, is_value);
}

}  // namespace assay::emulator
