#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "emulator/float_arithmetic.h"
#include "emulator/lane_loops.h"

// Arithmetic of floats. What kernels do most (f32 rounded to nearest) has loops of its own; the
// rest goes through float_arithmetic.h lane by lane.

namespace assay::emulator {
namespace {

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

/// A NaN gives way to a number; -0 is less than +0.
template <bool kIsMax>
struct Extreme {
  template <class T>
  T operator()(T a, T b) const {
    if (a != a && b != b) return canonical(-std::numeric_limits<T>::quiet_NaN());
    if (a != a || b != b) return a != a ? b : a;
    return (a < b || (a == b && std::signbit(a))) == kIsMax ? b : a;
  }
};

#if defined(__x86_64__)
/// std::fma calls a function for each lane, ten times as slow, unless the compiler may use the
/// instruction.
__attribute__((target("avx2,fma"))) void fma_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  std::array<float, 32> a, b, c;
  std::memcpy(a.data(), warp.in(op.a), sizeof a);
  std::memcpy(b.data(), warp.in(op.b), sizeof b);
  std::memcpy(c.data(), warp.in(op.c), sizeof c);
  for (std::size_t i = 0; i < 32; ++i) a[i] = canonical(__builtin_fmaf(a[i], b[i], c[i]));
  if (lanes == ~0u) {
    std::memcpy(warp.at(op.out), a.data(), sizeof a);
    return;
  }
  for (const int i : Lanes(lanes)) {
    warp.at(op.out)[i] = std::bit_cast<std::uint32_t>(a[static_cast<std::size_t>(i)]);
  }
}
Handler fma_handler() {
  return __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("avx2") != 0
             ? fma_lanes
             : lanewise<Fma, float, float, float, float>;
}
#else
Handler fma_handler() { return lanewise<Fma, float, float, float, float>; }
#endif

/// With all modifiers, one lane after the other; f16, bf16 and pairs, too. op.mode is the
/// FloatOperation; op.bytes: .NaN (1), .xorsign (2), .relu (4).
void modified_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  const FloatMode mode{.type = op.type,
                       .rounding = op.rounding,
                       .flush_subnormals = op.is_ftz,
                       .saturate = op.is_saturated,
                       .relu = (op.bytes & 4) != 0,
                       .propagate_nan = (op.bytes & 1) != 0,
                       .xor_sign = (op.bytes & 2) != 0};
  const auto value = [&](std::int32_t slot, int lane) {
    return slot == kNoSlot ? 0u : warp.in(slot)[lane];
  };
  const auto operation = static_cast<FloatOperation>(op.mode);
  for (const int i : Lanes(lanes)) {
    warp.at(op.out)[i] = compute(operation, mode, value(op.a, i), value(op.b, i), value(op.c, i));
  }
}

void approximate_wide(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<double>(warp, op.a);
  auto* const out = lanes_out<double>(warp, op.out);
  for (const int i : Lanes(lanes)) {
    out[i] = std::bit_cast<std::uint64_t>(
        approximate_f64(static_cast<FloatOperation>(op.mode), std::bit_cast<double>(a[i])));
  }
}

/// An operation, and how it is done rounded to nearest without modifiers: null: as with modifiers.
struct FloatForm {
  FloatOperation operation;
  std::size_t num_operands;
  Handler f32 = nullptr, f64 = nullptr;
};

template <class F>
FloatForm one(FloatOperation operation, F) {
  return {operation, 1, lanewise<F, float, float>, lanewise<F, double, double>};
}
template <class F>
FloatForm two(FloatOperation operation, F) {
  return {operation, 2, lanewise<F, float, float, float>, lanewise<F, double, double, double>};
}

const FloatForm* find_float_form(std::string_view name) {
  using Of = FloatOperation;
  static const FloatForm kFma{Of::fma, 3, fma_handler(),
                              lanewise<Fma, double, double, double, double>};
  static const std::map<std::string_view, FloatForm> kForms{
      {"add", two(Of::add, [](auto a, auto b) { return canonical(a + b); })},
      {"sub", two(Of::sub, [](auto a, auto b) { return canonical(a - b); })},
      {"mul", two(Of::mul, [](auto a, auto b) { return canonical(a * b); })},
      {"div", two(Of::div, [](auto a, auto b) { return canonical(a / b); })},
      {"min", two(Of::min, Extreme<false>())},
      {"max", two(Of::max, Extreme<true>())},
      {"copysign", two(Of::copysign, [](auto sign, auto a) { return std::copysign(a, sign); })},
      {"fma", kFma},
      {"mad", kFma},
      {"sqrt", one(Of::sqrt, [](auto a) { return canonical(std::sqrt(a)); })},
      {"rcp", one(Of::rcp, [](auto a) { return canonical(decltype(a){1} / a); })},
      {"neg", one(Of::neg, [](auto a) { return -a; })},
      {"abs", one(Of::abs, [](auto a) { return std::fabs(a); })},
      {"ex2", {Of::ex2, 1}},
      {"lg2", {Of::lg2, 1}},
      {"sin", {Of::sin, 1}},
      {"cos", {Of::cos, 1}},
      {"tanh", {Of::tanh, 1}},
      {"rsqrt", {Of::rsqrt, 1}},
  };
  const auto found = kForms.find(name);
  return found == kForms.end() ? nullptr : &found->second;
}

}  // namespace

void decode_float(Form& form) {
  form.allow({"rn", "rz", "rm", "rp", "ftz", "sat", "approx", "full", "NaN", "xorsign", "abs",
              "relu", "noftz"});
  const FloatForm* const found = find_float_form(form.parts[0]);
  if (found == nullptr || form.num_operands() != found->num_operands + 1) throw UnknownForm();
  Op& op = form.op;
  op.type = form.type();
  form.take(std::string_view("tttt").substr(0, form.num_operands()), op.type);
  op.mode = static_cast<std::uint32_t>(found->operation);
  op.rounding = form.rounding();
  op.is_ftz = form.has("ftz");
  op.is_saturated = form.has("sat");
  op.bytes =
      (form.has("NaN") ? 1u : 0u) | (form.has("xorsign") ? 2u : 0u) | (form.has("relu") ? 4u : 0u);
  const bool is_nearest = op.rounding == Rounding::nearest_even, approximates = form.has("approx");
  if (op.type == PtxType::f64) {
    op.run = approximates ? approximate_wide : found->f64;
    const bool can_approximate =
        found->operation == FloatOperation::rcp || found->operation == FloatOperation::rsqrt;
    if (!is_nearest || op.run == nullptr || (approximates && !can_approximate)) throw UnknownForm();
    return;
  }
  if (found->operation == FloatOperation::div && approximates) {
    op.mode = static_cast<std::uint32_t>(FloatOperation::div_approx);
  }
  const bool is_plain = op.type == PtxType::f32 && is_nearest && !op.is_ftz && !op.is_saturated &&
                        op.bytes == 0 && !approximates;
  op.run = is_plain && found->f32 != nullptr ? found->f32 : modified_lanes;
}

}  // namespace assay::emulator
