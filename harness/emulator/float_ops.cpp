#include <array>
#include <cmath>
#include <cstring>

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

struct FloatAdd {
  template <class T>
  T operator()(T a, T b) const {
    return canonical(a + b);
  }
};
struct FloatSub {
  template <class T>
  T operator()(T a, T b) const {
    return canonical(a - b);
  }
};
struct FloatMul {
  template <class T>
  T operator()(T a, T b) const {
    return canonical(a * b);
  }
};
struct FloatDiv {
  template <class T>
  T operator()(T a, T b) const {
    return canonical(a / b);
  }
};
struct FloatFma {
  template <class T>
  T operator()(T a, T b, T c) const {
    return canonical(std::fma(a, b, c));
  }
};
struct FloatSqrt {
  template <class T>
  T operator()(T a) const {
    return canonical(std::sqrt(a));
  }
};
struct FloatRcp {
  template <class T>
  T operator()(T a) const {
    return canonical(T{1} / a);
  }
};
struct FloatNeg {
  template <class T>
  T operator()(T a) const {
    return -a;
  }
};
struct FloatAbs {
  template <class T>
  T operator()(T a) const {
    return std::fabs(a);
  }
};
struct FloatCopysign {
  template <class T>
  T operator()(T sign, T a) const {
    return std::copysign(a, sign);
  }
};
struct Min64 {
  double operator()(double a, double b) const { return min_max_f64(a, b, false); }
};
struct Max64 {
  double operator()(double a, double b) const { return min_max_f64(a, b, true); }
};

#if defined(__x86_64__)
/// std::fma calls a function for each lane, ten times as slow, unless the compiler may use the
/// instruction.
__attribute__((target("avx2,fma"))) void fma_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  std::array<float, 32> a, b, c;
  std::memcpy(a.data(), warp.in(op.a), sizeof a);
  std::memcpy(b.data(), warp.in(op.b), sizeof b);
  std::memcpy(c.data(), warp.in(op.c), sizeof c);
  const float nan = std::bit_cast<float>(0x7fffffffu);
  for (std::size_t i = 0; i < 32; ++i) {
    const float result = __builtin_fmaf(a[i], b[i], c[i]);
    a[i] = result != result ? nan : result;
  }
  if (lanes == ~0u) {
    std::memcpy(warp.at(op.out), a.data(), sizeof a);
    return;
  }
  for (; lanes != 0; lanes &= lanes - 1) {
    const int i = std::countr_zero(lanes);
    warp.at(op.out)[i] = std::bit_cast<std::uint32_t>(a[static_cast<std::size_t>(i)]);
  }
}
Handler fma_handler() {
  return __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("avx2") != 0
             ? fma_lanes
             : ternary<float, float, float, float, FloatFma>;
}
#else
Handler fma_handler() { return ternary<float, float, float, float, FloatFma>; }
#endif

FloatMode mode_of(const Op& op) { return {op.rounding, op.is_ftz, op.is_saturated}; }

enum class Which : std::uint32_t {
  add,
  sub,
  mul,
  fma,
  div,
  div_approx,
  sqrt,
  rcp,
  min,
  max,
  neg,
  abs
};

/// One lane, with all modifiers.
float modified(const Op& op, float a, float b, float c) {
  const FloatMode mode = mode_of(op);
  switch (static_cast<Which>(op.mode)) {
    case Which::add:
      return add_f32(a, b, mode);
    case Which::sub:
      return add_f32(a, -b, mode);
    case Which::mul:
      return multiply_f32(a, b, mode);
    case Which::fma:
      return fma_f32(a, b, c, mode);
    case Which::div:
      return divide_f32(a, b, mode);
    case Which::div_approx:
      return approximate_divide_f32(a, b, op.is_ftz, false);
    case Which::sqrt:
      return sqrt_f32(a, mode);
    case Which::rcp:
      return reciprocal_f32(a, mode);
    case Which::min:
    case Which::max: {
      const bool is_max = static_cast<Which>(op.mode) == Which::max;
      return min_max_f32(a, b, {is_max, (op.bytes & 1) != 0, op.is_ftz, (op.bytes & 2) != 0});
    }
    case Which::neg:
    case Which::abs: {
      if (op.is_ftz && std::fabs(a) < 0x1p-126f) a = std::copysign(0.0f, a);
      return static_cast<Which>(op.mode) == Which::neg ? -a : std::fabs(a);
    }
  }
  return 0;
}

void modified_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto value = [&](std::int32_t slot, int lane) {
    return slot == kNoSlot ? 0.0f : std::bit_cast<float>(warp.in(slot)[lane]);
  };
  for (; lanes != 0; lanes &= lanes - 1) {
    const int i = std::countr_zero(lanes);
    const float result = modified(op, value(op.a, i), value(op.b, i), value(op.c, i));
    warp.at(op.out)[i] = std::bit_cast<std::uint32_t>(result);
  }
}

void approximate_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int i = std::countr_zero(lanes);
    const auto a = std::bit_cast<float>(warp.in(op.a)[i]);
    warp.at(op.out)[i] = std::bit_cast<std::uint32_t>(
        approximate_f32(static_cast<Approximation>(op.mode), a, op.is_ftz));
  }
}

void approximate_wide(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<double>(warp, op.a);
  auto* const out = lanes_out<double>(warp, op.out);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int i = std::countr_zero(lanes);
    out[i] = std::bit_cast<std::uint64_t>(
        approximate_f64(static_cast<Approximation>(op.mode), std::bit_cast<double>(a[i])));
  }
}

/// f16, bf16 and pairs: op.mode is the HalfOperation, op.bytes the flags.
void half_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  const bool is_pair = op.type == PtxType::f16x2 || op.type == PtxType::bf16x2;
  HalfMode mode;
  mode.format =
      op.type == PtxType::f16 || op.type == PtxType::f16x2 ? FloatFormat::f16 : FloatFormat::bf16;
  mode.flush_subnormals = op.is_ftz;
  mode.saturate = op.is_saturated;
  mode.propagate_nan = (op.bytes & 1) != 0;
  mode.xor_sign = (op.bytes & 2) != 0;
  mode.relu = (op.bytes & 4) != 0;
  const auto operation = static_cast<HalfOperation>(op.mode);
  const auto value = [&](std::int32_t slot, int lane) {
    return slot == kNoSlot ? 0u : warp.in(slot)[lane];
  };
  for (; lanes != 0; lanes &= lanes - 1) {
    const int i = std::countr_zero(lanes);
    const std::uint32_t a = value(op.a, i), b = value(op.b, i), c = value(op.c, i);
    warp.at(op.out)[i] = is_pair
                             ? half_pair(operation, mode, a, b, c)
                             : half(operation, mode, static_cast<std::uint16_t>(a),
                                    static_cast<std::uint16_t>(b), static_cast<std::uint16_t>(c));
  }
}

Rounding rounding_of(const Form& form) {
  return form.has("rz")   ? Rounding::to_zero
         : form.has("rm") ? Rounding::down
         : form.has("rp") ? Rounding::up
                          : Rounding::nearest_even;
}

void decode_half(Form& form, std::string_view name) {
  static const std::map<std::string_view, HalfOperation> kOperations{
      {"add", HalfOperation::add},  {"sub", HalfOperation::sub}, {"mul", HalfOperation::mul},
      {"fma", HalfOperation::fma},  {"min", HalfOperation::min}, {"max", HalfOperation::max},
      {"neg", HalfOperation::neg},  {"abs", HalfOperation::abs}, {"ex2", HalfOperation::ex2},
      {"tanh", HalfOperation::tanh}};
  const auto found = kOperations.find(name);
  if (found == kOperations.end()) throw UnknownForm();
  form.op.mode = static_cast<std::uint32_t>(found->second);
  form.op.bytes =
      (form.has("NaN") ? 1u : 0u) | (form.has("xorsign") ? 2u : 0u) | (form.has("relu") ? 4u : 0u);
  form.op.run = half_lanes;
}

Handler plain(std::string_view name, bool is_wide) {
  using F = float;
  using D = double;
  if (name == "add") return is_wide ? binary<D, D, D, FloatAdd> : binary<F, F, F, FloatAdd>;
  if (name == "sub") return is_wide ? binary<D, D, D, FloatSub> : binary<F, F, F, FloatSub>;
  if (name == "mul") return is_wide ? binary<D, D, D, FloatMul> : binary<F, F, F, FloatMul>;
  if (name == "div") return is_wide ? binary<D, D, D, FloatDiv> : binary<F, F, F, FloatDiv>;
  if (name == "fma" || name == "mad") {
    return is_wide ? ternary<D, D, D, D, FloatFma> : fma_handler();
  }
  if (name == "sqrt") return is_wide ? unary<D, D, FloatSqrt> : unary<F, F, FloatSqrt>;
  if (name == "rcp") return is_wide ? unary<D, D, FloatRcp> : unary<F, F, FloatRcp>;
  if (name == "neg") return is_wide ? unary<D, D, FloatNeg> : unary<F, F, FloatNeg>;
  if (name == "abs") return is_wide ? unary<D, D, FloatAbs> : unary<F, F, FloatAbs>;
  if (name == "copysign")
    return is_wide ? binary<D, D, D, FloatCopysign> : binary<F, F, F, FloatCopysign>;
  if (is_wide && name == "min") return binary<D, D, D, Min64>;
  if (is_wide && name == "max") return binary<D, D, D, Max64>;
  return nullptr;
}

}  // namespace

void decode_float(Form& form) {
  form.allow({"rn", "rz", "rm", "rp", "ftz", "sat", "approx", "full", "NaN", "xorsign", "abs",
              "relu", "noftz"});
  const std::string_view name = form.parts[0];
  const PtxType type = form.type();
  Op& op = form.op;
  op.type = type;
  op.out = form.out(0, type);
  op.a = form.in(1, type);
  if (form.num_operands() > 2) op.b = form.in(2, type);
  if (form.num_operands() > 3) op.c = form.in(3, type);
  const bool wants_two = name == "add" || name == "sub" || name == "mul" || name == "div" ||
                         name == "min" || name == "max" || name == "copysign";
  const bool wants_three = name == "fma" || name == "mad";
  if (form.num_operands() != (wants_three ? 4u : wants_two ? 3u : 2u)) throw UnknownForm();
  op.rounding = rounding_of(form);
  op.is_ftz = form.has("ftz");
  op.is_saturated = form.has("sat");
  if (type != PtxType::f32 && type != PtxType::f64) return decode_half(form, name);
  static const std::map<std::string_view, Approximation> kApproximations{
      {"ex2", Approximation::ex2}, {"lg2", Approximation::lg2},   {"sin", Approximation::sin},
      {"cos", Approximation::cos}, {"tanh", Approximation::tanh}, {"rsqrt", Approximation::rsqrt},
      {"rcp", Approximation::rcp}, {"sqrt", Approximation::sqrt}};
  const auto approximation = kApproximations.find(name);
  if (approximation != kApproximations.end() &&
      (form.has("approx") || (name != "rcp" && name != "sqrt"))) {
    op.mode = static_cast<std::uint32_t>(approximation->second);
    op.run = type == PtxType::f32 ? approximate_lanes : approximate_wide;
    return;
  }
  const bool is_modified = op.rounding != Rounding::nearest_even || op.is_ftz || op.is_saturated ||
                           name == "min" || name == "max" || form.has("approx");
  if (type == PtxType::f64) {
    if (op.rounding != Rounding::nearest_even) throw UnknownForm();
    op.run = plain(name, true);
  } else if (!is_modified || name == "copysign") {
    op.run = plain(name, false);
  } else {
    static const std::map<std::string_view, Which> kNames{
        {"add", Which::add}, {"sub", Which::sub}, {"mul", Which::mul},   {"fma", Which::fma},
        {"mad", Which::fma}, {"div", Which::div}, {"sqrt", Which::sqrt}, {"rcp", Which::rcp},
        {"min", Which::min}, {"max", Which::max}, {"neg", Which::neg},   {"abs", Which::abs}};
    const auto found = kNames.find(name);
    if (found == kNames.end()) throw UnknownForm();
    const bool is_approximate = found->second == Which::div && form.has("approx");
    op.mode = static_cast<std::uint32_t>(is_approximate ? Which::div_approx : found->second);
    op.bytes = (form.has("NaN") ? 1u : 0u) | (form.has("xorsign") ? 2u : 0u);
    op.run = modified_lanes;
  }
  if (op.run == nullptr) throw UnknownForm();
}

}  // namespace assay::emulator
