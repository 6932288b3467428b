#include <array>
#include <cmath>

#include "emulator/ops.h"

// Arithmetic of floats, to the bit where PTX says so. What kernels do most (f32 rounded to nearest)
// has loops of its own; the rest is computed in double, lane by lane, and rounded once.

namespace assay::emulator {
namespace {

/// A double that rounds to every shorter format, in every direction, as nearest + error does: if it
/// is not exact, its last bit is 1 ("rounding to odd").
double to_odd(double nearest, double error) {
  const auto bits = std::bit_cast<std::uint64_t>(nearest);
  if (error == 0 || std::isnan(error) || std::isinf(nearest) || (bits & 1) != 0) return nearest;
  // Away from zero if the rest has the sign, else one step towards zero.
  return std::bit_cast<double>(std::signbit(nearest) == std::signbit(error) ? bits + 1 : bits - 1);
}

/// A sum that is 0 is -0 when rounding is down, unless both terms are +0.
double sum(double a, double b, Rounding rounding) {
  const double sum = a + b, part = sum - a;
  const bool down = rounding == Rounding::down && (std::signbit(a) || std::signbit(b));
  return sum == 0 && down ? -0.0 : to_odd(sum, (a - (sum - part)) + (b - part));
}

double quotient(double a, double b) {
  const double quotient = a / b;
  if (std::isinf(quotient) || std::isnan(quotient) || quotient == 0) return quotient;
  const double rest = std::fma(-quotient, b, a);
  return to_odd(quotient, b < 0 ? -rest : rest);
}

double root(double a) {
  const double root = std::sqrt(a);
  return root > 0 && !std::isinf(root) ? to_odd(root, std::fma(-root, root, a)) : root;
}

/// A NaN gives way to a number; -0 is less than +0.
inline double min_max(double a, double b, bool is_max, const Modifiers& how) {
  const double sign = std::signbit(a) != std::signbit(b) ? -1 : 1;
  if (how.xor_sign) a = std::abs(a), b = std::abs(b);
  double result = (a < b || (a == b && std::signbit(a))) == is_max ? b : a;
  if (std::isnan(a) || std::isnan(b)) {
    result = how.propagate_nan ? NAN : std::isnan(a) ? b : a;
    if (std::isnan(result)) return -NAN;
  }
  return how.xor_sign ? std::copysign(result, sign) : result;
}

/// A NaN that f32 arithmetic makes has one pattern.
inline float canonical(float value) {
  return value != value ? std::bit_cast<float>(0x7fffffffu) : value;
}
inline double canonical(double value) { return value; }

struct Fma {
  template <class T>
  T operator()(T a, T b, T c) const {
    return canonical(std::fma(a, b, c));
  }
};

template <bool kIsMax>
struct Extreme {
  template <class T>
  T operator()(T a, T b) const {
    return canonical(static_cast<T>(min_max(a, b, kIsMax, {})));
  }
};

#if defined(__x86_64__)
/// Where the compiler may not use the instruction, std::fma is a call, ten times as slow.
__attribute__((target("avx2,fma"))) void fma_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t *const a = warp.in(op.a), *const b = warp.in(op.b), *const c = warp.in(op.c);
  std::array<std::uint32_t, 32> made;
  for (std::size_t i = 0; i < 32; ++i) {
    const auto value = [i](const std::uint32_t* of) { return std::bit_cast<float>(of[i]); };
    const float sum = canonical(__builtin_fmaf(value(a), value(b), value(c)));
    made[i] = std::bit_cast<std::uint32_t>(sum);
  }
  each_lane(lanes, [&, out = warp.at(op.out)](int i) { out[i] = made[i]; });
}
#endif

Handler fma_handler() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("avx2") != 0) return fma_lanes;
#endif
  return lanewise<Fma, float, float, float, float>;
}

/// With all modifiers, one lane after the other; f16, bf16 and pairs, too.
void modified_lane(Warp& warp, const Op& op, int i) {
  const auto value = [&](std::int32_t slot, int lane) {
    return slot == kNoSlot ? 0u : warp.in(slot)[lane];
  };
  warp.at(op.out)[i] =
      compute(op.function, op.type, op.modifiers, value(op.a, i), value(op.b, i), value(op.c, i));
}

/// rcp and rsqrt .approx.ftz.f64 (op.mode: rsqrt), with 20 bits of fraction and no subnormals.
void approximate_wide(Warp& warp, const Op& op, int i) {
  const auto flushed = [](double value) {
    return std::abs(value) < 0x1p-1022 ? std::copysign(0.0, value) : value;
  };
  const double a = flushed(std::bit_cast<double>(warp.get(op.a, i, true)));
  const double result = flushed(1.0 / (op.mode == 0 ? a : std::sqrt(a)));
  const std::uint64_t kept = std::isnan(result) ? ~std::uint64_t{0} : 0xFFFFFFFF00000000u;
  warp.put(op.out, i, true, std::bit_cast<std::uint64_t>(result) & kept);
}

/// An operation, and how it is done rounded to nearest without modifiers; null: as with modifiers.
struct FloatForm {
  std::size_t num_operands;
  FloatFunction function;
  Handler f32 = nullptr, f64 = nullptr;
};

/// F of as many operands as it takes.
template <class F>
double call(double a, double b, double c, const Modifiers& how) {
  constexpr F kCall{};
  if constexpr (std::is_invocable_v<F, double>) {
    return kCall(a);
  } else if constexpr (std::is_invocable_v<F, double, double>) {
    return kCall(a, b);
  } else {
    return kCall(a, b, c, how);
  }
}
/// How it is done in double: exact, or rounded so that it can be rounded again.
template <class Exact>
FloatForm one(Exact) {
  return {1, call<Exact>};
}
template <class Exact, class F>
FloatForm one(Exact, F) {
  return {1, call<Exact>, lanewise<F, float, float>, lanewise<F, double, double>};
}
template <class Exact, class F>
FloatForm two(Exact, F) {
  return {2, call<Exact>, lanewise<F, float, float, float>, lanewise<F, double, double, double>};
}

/// From ex2 on functions that a GPU approximates. The results here are the exact ones rounded to
/// nearest, which are within every documented error, and differ from a GPU's in their last bits.
const FloatForm* find_float_form(std::string_view name) {
  using How = const Modifiers&;
  constexpr auto kProduct = [](auto a, auto b) { return canonical(a * b); };
  constexpr auto kSign = [](auto sign, auto a) { return std::copysign(a, sign); };
  constexpr auto kMinus = [](auto a) { return -a; };
  constexpr auto kSize = [](auto a) { return std::fabs(a); };
  static const FloatForm kFma{
      3, [](double a, double b, double c, How how) { return sum(a * b, c, how.rounding); },
      fma_handler(), lanewise<Fma, double, double, double, double>};
  static const std::map<std::string_view, FloatForm> kForms{
      {"add", two([](double a, double b, double, How how) { return sum(a, b, how.rounding); },
                  [](auto a, auto b) { return canonical(a + b); })},
      {"sub", two([](double a, double b, double, How how) { return sum(a, -b, how.rounding); },
                  [](auto a, auto b) { return canonical(a - b); })},
      {"mul", two(kProduct, kProduct)},
      {"div", two([](double a, double b) { return quotient(a, b); },
                  [](auto a, auto b) { return canonical(a / b); })},
      {"min", two([](double a, double b, double, How how) { return min_max(a, b, false, how); },
                  Extreme<false>())},
      {"max", two([](double a, double b, double, How how) { return min_max(a, b, true, how); },
                  Extreme<true>())},
      {"copysign", two(kSign, kSign)},
      {"fma", kFma},
      {"mad", kFma},
      {"sqrt",
       one([](double a) { return root(a); }, [](auto a) { return canonical(std::sqrt(a)); })},
      {"rcp", one([](double a) { return quotient(1, a); },
                  [](auto a) { return canonical(decltype(a){1} / a); })},
      {"neg", one(kMinus, kMinus)},
      {"abs", one(kSize, kSize)},
      {"ex2", one([](double a) { return std::exp2(a); })},
      {"lg2", one([](double a) { return std::log2(a); })},
      {"sin", one([](double a) { return std::sin(a); })},
      {"cos", one([](double a) { return std::cos(a); })},
      {"tanh", one([](double a) { return std::tanh(a); })},
      {"rsqrt", one([](double a) { return 1.0 / std::sqrt(a); })},
  };
  const auto found = kForms.find(name);
  return found == kForms.end() ? nullptr : &found->second;
}

/// 0 of very large divisors.
double approximate_quotient(double a, double b, double, const Modifiers&) {
  return std::isfinite(b) && std::abs(b) > 0x1p126 && std::isfinite(a) ? std::copysign(0.0, a * b)
                                                                       : quotient(a, b);
}

}  // namespace

FloatFunction float_function(std::string_view name) { return find_float_form(name)->function; }

std::uint32_t compute(FloatFunction function, PtxType type, const Modifiers& modifiers,
                      std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  if (is_pair(type)) {
    const PtxType one = type == PtxType::f16x2 ? PtxType::f16 : PtxType::bf16;
    return compute(function, one, modifiers, a >> 16, b >> 16, c >> 16) << 16 |
           compute(function, one, modifiers, a, b, c);
  }
  const FloatFields fields = fields_of(type);
  const std::uint32_t sign = 1u << (fields.exponent_bits + fields.fraction_bits);
  const std::uint32_t exponent = sign - (1u << fields.fraction_bits);
  const auto flushed = [&](std::uint32_t bits) {
    return modifiers.flush_subnormals && (bits & exponent) == 0 ? bits & sign : bits;
  };
  const auto read = [&](std::uint32_t bits) { return decode(type, flushed(bits)); };
  Modifiers rounded = modifiers;
  rounded.flush_subnormals = false;
  const double result = function(read(a), read(b), read(c), modifiers);
  return flushed(static_cast<std::uint32_t>(encode(type, result, rounded)));
}

void decode_float(Form& form) {
  form.allow({"rn", "rz", "rm", "rp", "ftz", "sat", "approx", "full", "NaN", "xorsign", "abs",
              "relu", "noftz"});
  const FloatForm* const found = find_float_form(form.parts[0]);
  if (found == nullptr || form.num_operands() != found->num_operands + 1) throw UnknownForm();
  Op& op = form.op;
  op.type = form.type();
  form.take(std::string_view("tttt").substr(0, form.num_operands()), op.type);
  op.function = found->function;
  const bool approximates = form.has("approx");
  if (op.type == PtxType::f64) {
    const bool is_root = form.parts[0] == "rsqrt";
    op.mode = is_root ? 1 : 0;
    op.run = approximates ? each<approximate_wide> : found->f64;
    if (op.modifiers.rounding != Rounding::nearest_even || op.run == nullptr ||
        (approximates && !is_root && form.parts[0] != "rcp")) {
      throw UnknownForm();
    }
    return;
  }
  if (form.parts[0] == "div" && approximates) op.function = approximate_quotient;
  const bool is_plain = op.type == PtxType::f32 && op.modifiers == Modifiers() && !approximates;
  op.run = is_plain && found->f32 != nullptr ? found->f32 : each<modified_lane>;
}

}  // namespace assay::emulator
