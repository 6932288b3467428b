#include "emulator/lane_loops.h"

// cvt: the common pairs in loops of their own, the rest through float_formats.h.

namespace assay::emulator {
namespace {

template <class R, class A>
struct Cast {
  R operator()(A a) const { return static_cast<R>(a); }
};

FloatFormat format_of(PtxType type) {
  static const std::map<PtxType, FloatFormat> kFormats{
      {PtxType::f64, FloatFormat::f64},     {PtxType::f32, FloatFormat::f32},
      {PtxType::tf32, FloatFormat::tf32},   {PtxType::f16, FloatFormat::f16},
      {PtxType::f16x2, FloatFormat::f16},   {PtxType::bf16, FloatFormat::bf16},
      {PtxType::bf16x2, FloatFormat::bf16}, {PtxType::e4m3, FloatFormat::e4m3},
      {PtxType::e4m3x2, FloatFormat::e4m3}, {PtxType::e5m2, FloatFormat::e5m2},
      {PtxType::e5m2x2, FloatFormat::e5m2}};
  const auto found = kFormats.find(type);
  return found == kFormats.end() ? throw UnknownForm() : found->second;
}

std::uint64_t raw(const Warp& warp, std::int32_t slot, PtxType type, int lane) {
  if (bits_of(type) == 64) return lanes_in<std::uint64_t>(warp, slot)[lane];
  return warp.in(slot)[lane];
}
void put_raw(Warp& warp, std::int32_t slot, PtxType type, int lane, std::uint64_t value) {
  if (bits_of(type) == 64) {
    lanes_out<std::uint64_t>(warp, slot)[lane] = value;
  } else {
    warp.at(slot)[lane] = static_cast<std::uint32_t>(value);
  }
}

/// The value of an integer type, extended to 64 bits.
std::uint64_t extended(PtxType type, std::uint64_t bits) {
  const int width = bits_of(type);
  if (width == 64) return bits;
  bits &= (std::uint64_t{1} << width) - 1;
  if (is_signed(type) && (bits >> (width - 1) & 1) != 0) bits |= ~std::uint64_t{0} << width;
  return bits;
}

/// Bits 0 to 3 of op.mode: relu, satfinite, rounds to integers, the result is wide.
constexpr std::uint32_t kRelu = 1, kSatfinite = 2, kIntegral = 4, kWideOut = 8;

Conversion conversion_of(const Op& op) {
  Conversion how;
  how.rounding = op.rounding;
  how.relu = (op.mode & kRelu) != 0;
  how.saturate_finite = (op.mode & kSatfinite) != 0;
  how.saturate_to_one = op.is_saturated;
  how.flush_subnormals = op.is_ftz;
  return how;
}

std::uint64_t converted(const Op& op, std::uint64_t bits) {
  const PtxType to = op.type, from = op.from;
  if (!is_float(from) && !is_float(to)) {
    const std::uint64_t value = extended(from, bits);
    if (!op.is_saturated) return extended(to, value);
    // Clamped to the range of the result.
    const int width = bits_of(to);
    const auto top =
        is_signed(to) ? (std::uint64_t{1} << (width - 1)) - 1 : ~std::uint64_t{0} >> (64 - width);
    const bool is_below_zero = is_signed(from) && static_cast<std::int64_t>(value) < 0;
    if (!is_below_zero) return std::min(value, top);
    if (!is_signed(to)) return 0;
    return static_cast<std::uint64_t>(
        std::max(static_cast<std::int64_t>(value), -static_cast<std::int64_t>(top) - 1));
  }
  const Conversion how = conversion_of(op);
  if (!is_float(from)) {
    return encode_from_integer(format_of(to), extended(from, bits), is_signed(from), how);
  }
  double value = decode(format_of(from), bits);
  if (op.is_ftz && from == PtxType::f32 && std::abs(value) < 0x1p-126) value *= 0;
  if (!is_float(to)) return encode_integer(value, op.rounding, bits_of(to), is_signed(to));
  if ((op.mode & kIntegral) != 0) value = round_to_integral(value, op.rounding);
  return encode(format_of(to), value, how);
}

void convert(Warp& warp, const Op& op, std::uint32_t lanes) {
  const PtxType out_type = (op.mode & kWideOut) != 0 ? PtxType::b64 : PtxType::b32;
  const PtxType in_type = op.bytes == 8 ? PtxType::b64 : PtxType::b32;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int i = std::countr_zero(lanes);
    put_raw(warp, op.out, out_type, i, converted(op, raw(warp, op.a, in_type, i)));
  }
}

/// Two values, or a pair of another format, into a pair: the first operand is the upper one.
void convert_pair(Warp& warp, const Op& op, std::uint32_t lanes) {
  const Conversion how = conversion_of(op);
  const FloatFormat to = format_of(op.type), from = format_of(op.from);
  const int out_bits = bits_of(op.type) / 2, in_bits = bits_of(op.from) / 2;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int i = std::countr_zero(lanes);
    const std::uint32_t first = warp.in(op.a)[i];
    const std::uint32_t high = op.b != kNoSlot ? first : first >> in_bits;
    const std::uint32_t low = op.b != kNoSlot ? warp.in(op.b)[i] : first & ((1u << in_bits) - 1);
    warp.at(op.out)[i] = static_cast<std::uint32_t>(
        encode(to, decode(from, high), how) << out_bits | encode(to, decode(from, low), how));
  }
}

bool is_pair(PtxType type) {
  return type == PtxType::f16x2 || type == PtxType::bf16x2 || type == PtxType::e4m3x2 ||
         type == PtxType::e5m2x2;
}

/// Integers among each other, and the plain ones between integers and floats.
Handler fast(const Op& op, const Form& form) {
  if (op.is_saturated || op.is_ftz || op.mode != 0) return nullptr;
  const PtxType to = op.type, from = op.from;
  const bool is_nearest = form.has("rn");
  if (from == PtxType::s32 && to == PtxType::s64) {
    return unary<std::int64_t, std::int32_t, Cast<std::int64_t, std::int32_t>>;
  }
  if (from == PtxType::u32 && to == PtxType::u64) {
    return unary<std::uint64_t, std::uint32_t, Cast<std::uint64_t, std::uint32_t>>;
  }
  if (from == PtxType::u64 && to == PtxType::u32) {
    return unary<std::uint32_t, std::uint64_t, Cast<std::uint32_t, std::uint64_t>>;
  }
  if (from == PtxType::s32 && to == PtxType::f32 && is_nearest) {
    return unary<float, std::int32_t, Cast<float, std::int32_t>>;
  }
  if (from == PtxType::f32 && to == PtxType::f64) {
    return unary<double, float, Cast<double, float>>;
  }
  return nullptr;
}

}  // namespace

void decode_conversion(Form& form) {
  form.allow({"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "satfinite",
              "relu"});
  if (form.types.size() != 2) throw UnknownForm();
  Op& op = form.op;
  op.type = form.types[0];
  op.from = form.types[1];
  op.is_ftz = form.has("ftz");
  op.is_saturated = form.has("sat");
  op.rounding = form.has("rz") || form.has("rzi")   ? Rounding::to_zero
                : form.has("rm") || form.has("rmi") ? Rounding::down
                : form.has("rp") || form.has("rpi") ? Rounding::up
                : form.has("rna")                   ? Rounding::nearest_away
                                                    : Rounding::nearest_even;
  if (form.has("rni") || form.has("rzi") || form.has("rmi") || form.has("rpi")) {
    op.mode |= kIntegral;
  }
  if (form.has("relu")) op.mode |= kRelu;
  if (form.has("satfinite")) op.mode |= kSatfinite;
  if (is_float(op.type)) format_of(op.type);
  if (is_float(op.from)) format_of(op.from);
  if (is_pair(op.type)) {
    op.out = form.out(0, op.type);
    op.a = form.in(1, op.from);
    if (!is_pair(op.from)) {
      if (op.from != PtxType::f32) throw UnknownForm();
      op.b = form.in(2, op.from);
    }
    op.run = convert_pair;
    return;
  }
  if (is_pair(op.from)) throw UnknownForm();
  // Registers may be wider than their types.
  const bool wide_in = form.bits(form.operand(1)) == 64 || bits_of(op.from) == 64;
  const bool wide_out = form.bits(form.operand(0)) == 64;
  op.a = form.in(1, wide_in ? PtxType::b64 : PtxType::b32);
  op.out = form.out(0, wide_out ? PtxType::b64 : PtxType::b32);
  if (wide_in == (bits_of(op.from) == 64) && wide_out == (bits_of(op.type) == 64)) {
    op.run = fast(op, form);
  }
  op.bytes = wide_in ? 8 : 4;
  if (wide_out) op.mode |= kWideOut;
  if (op.run == nullptr) op.run = convert;
}

}  // namespace assay::emulator
