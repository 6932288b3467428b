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

struct Fma {
  template <class T>
  T operator()(T a, T b, T c) const {
    return canonical(std::fma(a, b, c));
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
             : ternary<float, float, float, float, Fma>;
}
#else
Handler fma_handler() { return ternary<float, float, float, float, Fma>; }
#endif

FloatMode mode_of(const Op& op) { return {op.rounding, op.is_ftz, op.is_saturated}; }

// With all modifiers, one lane after the other. op.bytes: .NaN (1), .xorsign (2).

float min_max(const Op& op, float a, float b, bool is_max) {
  return min_max_f32(a, b, {is_max, (op.bytes & 1) != 0, op.is_ftz, (op.bytes & 2) != 0});
}
float flushed(const Op& op, float a) {
  return op.is_ftz && std::fabs(a) < 0x1p-126f ? std::copysign(0.0f, a) : a;
}

template <class F>
void modified_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto value = [&](std::int32_t slot, int lane) {
    return slot == kNoSlot ? 0.0f : std::bit_cast<float>(warp.in(slot)[lane]);
  };
  for (; lanes != 0; lanes &= lanes - 1) {
    const int i = std::countr_zero(lanes);
    const float result = F()(op, value(op.a, i), value(op.b, i), value(op.c, i));
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

/// An operation: rounded to nearest in both formats, and of f32 with all modifiers. Null: none.
struct FloatForm {
  Handler f32, f64, modified;
};

template <class F>
constexpr Handler modified(F) {
  return modified_lanes<F>;
}
template <class F, class M>
FloatForm one(F, M) {
  return {unary<float, float, F>, unary<double, double, F>, modified_lanes<M>};
}
template <class F, class M>
FloatForm two(F, M) {
  return {binary<float, float, float, F>, binary<double, double, double, F>, modified_lanes<M>};
}

const FloatForm* find_float_form(std::string_view name) {
  using O = const Op&;
  using F = float;
  static const FloatForm kFma{
      fma_handler(), ternary<double, double, double, double, Fma>,
      modified([](O op, F a, F b, F c) { return fma_f32(a, b, c, mode_of(op)); })};
  static const std::map<std::string_view, FloatForm> kForms{
      {"add", two([](auto a, auto b) { return canonical(a + b); },
                  [](O op, F a, F b, F) { return add_f32(a, b, mode_of(op)); })},
      {"sub", two([](auto a, auto b) { return canonical(a - b); },
                  [](O op, F a, F b, F) { return add_f32(a, -b, mode_of(op)); })},
      {"mul", two([](auto a, auto b) { return canonical(a * b); },
                  [](O op, F a, F b, F) { return multiply_f32(a, b, mode_of(op)); })},
      {"div", two([](auto a, auto b) { return canonical(a / b); },
                  [](O op, F a, F b, F) { return divide_f32(a, b, mode_of(op)); })},
      {"fma", kFma},
      {"mad", kFma},
      {"sqrt", one([](auto a) { return canonical(std::sqrt(a)); },
                   [](O op, F a, F, F) { return sqrt_f32(a, mode_of(op)); })},
      {"rcp", one([](auto a) { return canonical(decltype(a){1} / a); },
                  [](O op, F a, F, F) { return reciprocal_f32(a, mode_of(op)); })},
      {"neg", one([](auto a) { return -a; }, [](O op, F a, F, F) { return -flushed(op, a); })},
      {"abs", one([](auto a) { return std::fabs(a); },
                  [](O op, F a, F, F) { return std::fabs(flushed(op, a)); })},
      {"min", two([](auto a, auto b) { return min_max_f64(a, b, false); },
                  [](O op, F a, F b, F) { return min_max(op, a, b, false); })},
      {"max", two([](auto a, auto b) { return min_max_f64(a, b, true); },
                  [](O op, F a, F b, F) { return min_max(op, a, b, true); })},
      {"copysign", two([](auto sign, auto a) { return std::copysign(a, sign); },
                       [](O, F sign, F a, F) { return std::copysign(a, sign); })},
  };
  const auto found = kForms.find(name);
  return found == kForms.end() ? nullptr : &found->second;
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
  const FloatForm* const found = find_float_form(name);
  if (found == nullptr) throw UnknownForm();
  op.bytes = (form.has("NaN") ? 1u : 0u) | (form.has("xorsign") ? 2u : 0u);
  const bool is_nearest = op.rounding == Rounding::nearest_even;
  if (type == PtxType::f64) {
    if (!is_nearest) throw UnknownForm();
    op.run = found->f64;
  } else if (name == "div" && form.has("approx")) {
    op.run = modified([](const Op& of, float a, float b, float) {
      return approximate_divide_f32(a, b, of.is_ftz, false);
    });
  } else {
    const bool is_modified = !is_nearest || op.is_ftz || op.is_saturated || name == "min" ||
                             name == "max" || form.has("approx");
    op.run = is_modified ? found->modified : found->f32;
  }
}

}  // namespace assay::emulator
