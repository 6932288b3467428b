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

/// With a predicate: bits 4 and 5 of op.mode say how.
std::uint32_t combined(const Warp& warp, const Op& op, std::uint32_t holds) {
  if (op.c == kNoSlot) return holds;
  const std::uint32_t with = warp.predicate(op.c);
  const std::uint32_t how = op.mode >> 4 & 3;
  return how == 0 ? holds & with : how == 1 ? holds | with : holds ^ with;
}

/// setp, and set, which puts op.bytes. `kFormat` is that of 16-bit floats.
template <class T, PtxType kFormat = PtxType::none>
void compare(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<T>(warp, op.a);
  const auto* const b = lanes_in<T>(warp, op.b);
  const auto value = [](Stored<T> bits) {
    if constexpr (kFormat != PtxType::none) {
      return decode(kFormat, bits);
    } else {
      return from_stored<T>(bits);
    }
  };
  const std::uint32_t what = op.mode, yes = op.bytes;
  std::uint32_t holds = 0;
  for (std::uint32_t i = 0; i < 32; ++i) {
    const auto x = value(a[i]), y = value(b[i]);
    const std::uint32_t is = (x < y ? kLess : 0) | (x == y ? kEqual : 0) | (x > y ? kGreater : 0);
    holds |= static_cast<std::uint32_t>(((is != 0 ? is : kUnordered) & what) != 0) << i;
  }
  const std::uint32_t result = combined(warp, op, holds), opposite = combined(warp, op, ~holds);
  if (yes != 0) {
    std::uint32_t* const out = warp.at(op.out);
    each_lane(lanes, [=](int i) { out[i] = (result >> i & 1) != 0 ? yes : 0; });
    return;
  }
  warp.set_predicate(op.out, lanes, result);
  if (op.target >= 0) warp.set_predicate(op.target, lanes, opposite);
}

Handler comparison(PtxType type) {
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
  std::uint32_t yes = op.mode == 0 ? warp.predicate(op.c) : 0;
  for (std::uint32_t i = 0; op.mode != 0 && i < 32; ++i) {
    const std::uint32_t c = warp.in(op.c)[i];
    const bool is_first =
        op.mode == 1 ? static_cast<std::int32_t>(c) >= 0 : std::bit_cast<float>(c) >= 0;
    yes |= static_cast<std::uint32_t>(is_first) << i;
  }
  each_lane(lanes, [=](int i) { out[i] = (yes >> i & 1) != 0 ? a[i] : b[i]; });
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
  if (form.has("ftz") && type == PtxType::f32) throw UnknownForm();
  if (is_value) op.bytes = form.type() == PtxType::f32 ? 0x3f800000u : ~0u;
  const std::string_view letters = is_value ? "uttp" : "pttp";
  form.take(letters.substr(0, form.num_operands()), type);
  op.run = comparison(type);
}

}  // namespace

std::vector<Rule> comparison_rules() {
  return {{"setp|set *", decode_comparison},
          {"selp", "tttp", select<std::uint32_t>, 0, select<std::uint64_t>},
          {"slct *", decode_by_sign},
          {"testp finite|infinite|number|notanumber|normal|subnormal", "pt", test<float>, 0,
           test<double>}};
}

}  // namespace assay::emulator
