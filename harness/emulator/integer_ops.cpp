#include <algorithm>
#include <bit>
#include <string>

#include "emulator/ops.h"

// Arithmetic of integers and bits: a table of forms, each with its operation on one lane.

namespace assay::emulator {
namespace {

using U = std::uint32_t;
using S32 = std::int32_t;
using U64 = std::uint64_t;

template <class T>
using Unsigned = std::make_unsigned_t<T>;

__extension__ using S128 = __int128;
__extension__ using U128 = unsigned __int128;
/// Twice as wide.
template <class T>
using Wide = std::tuple_element_t<
    (sizeof(T) == 8   ? 4
     : sizeof(T) == 4 ? 2
                      : 0) +
        (std::is_signed_v<T> ? 1 : 0),
    std::tuple<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t, U128, S128>>;

template <class T>
constexpr U kBits = 8 * sizeof(T);

/// Results are cut off to their type: 64 bits serve for all.
template <class T>
U64 extended(T a) {
  return static_cast<U64>(a);
}
template <class T>
Wide<T> product(T a, T b) {
  return static_cast<Wide<T>>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
}
template <class T>
Unsigned<T> as_unsigned(T a) {
  return static_cast<Unsigned<T>>(a);
}
template <class T>
T high_product(T a, T b) {
  return static_cast<T>(product(a, b) >> kBits<T>);
}

// What the hardware does where PTX says nothing: all bits of a division by 0.
template <class T>
T quotient(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - extended(a));
  return static_cast<T>(a / b);
}
template <class T>
T remainder(T a, T b) {
  if (b == 0) return a;
  return std::is_signed_v<T> && b == static_cast<T>(-1) ? T{0} : static_cast<T>(a % b);
}

template <class T>
std::int64_t low_24(T a) {
  return static_cast<std::int64_t>(static_cast<T>(static_cast<U>(a) << 8)) >> 8;
}

template <class T>
std::int64_t saturated(T a, T b, int sign) {
  const std::int64_t sum = static_cast<std::int64_t>(a) + sign * static_cast<std::int64_t>(b);
  return std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
}

/// dp4a and dp2a: adds up products of parts of a and bytes of b. op.from_type is the type of b;
/// op.mode: how many parts, and the first byte of b in the bits above the lowest four.
void dot(Warp& warp, const Op& op, int lane) {
  const auto part = [](PtxType type, U word, U index, U width) {
    const U high = word << (32 - width * (index + 1));
    return is_signed(type) ? static_cast<U>(static_cast<S32>(high) >> (32 - width))
                           : high >> (32 - width);
  };
  const U count = op.mode & 15, first = op.mode >> 4;
  U sum = warp.in(op.c)[lane];
  for (U i = 0; i < count; ++i) {
    sum += part(op.type, warp.in(op.a)[lane], i, 32 / count) *
           part(op.from_type, warp.in(op.b)[lane], i + first, 8);
  }
  warp.at(op.out)[lane] = sum;
}

// Shifts by the width and more give 0, or the sign.
template <class T>
T shifted_left(T a, U by) {
  return by >= kBits<T> ? T{0} : static_cast<T>(extended(a) << by);
}
template <class T>
T shifted_right(T a, U by) {
  if (by < kBits<T>) return static_cast<T>(a >> by);
  return std::is_signed_v<T> ? static_cast<T>(a >> (kBits<T> - 1)) : T{0};
}
U funnel(U low, U high, U by, bool is_left) {
  const U64 both = U64{high} << 32 | low;
  return static_cast<U>(is_left ? (both << by) >> 32 : both >> by);
}

template <class T>
U highest_bit(T a, bool as_shift) {
  const auto bits = static_cast<Unsigned<T>>(a < 0 ? ~a : a);
  if (bits == 0) return ~0u;
  const auto zeros = static_cast<U>(std::countl_zero(bits));
  return as_shift ? zeros : kBits<T> - 1 - zeros;
}

template <class T>
T reversed(T a) {
  Unsigned<T> result = 0;
  for (U bit = 0; bit < kBits<T>; ++bit) {
    result = static_cast<Unsigned<T>>(result | (extended(a) >> bit & 1) << (kBits<T> - 1 - bit));
  }
  return static_cast<T>(result);
}

template <class T>
T field_of(T a, U begin, U length) {
  begin = std::min(begin & 0xff, kBits<T>);
  const U count = std::min(length & 0xff, kBits<T> - begin);
  // The sign is the field's highest bit, or the value's where the field goes beyond.
  const bool has_sign = std::is_signed_v<T> && (length & 0xff) != 0;
  const bool sign = has_sign && (a >> (std::max(begin + count, 1u) - 1) & 1) != 0;
  const U64 mask = count == 64 ? ~U64{0} : (U64{1} << count) - 1;
  const U64 bits = begin < 64 ? extended(as_unsigned(a)) >> begin : 0;
  return static_cast<T>((bits & mask) | (sign ? ~mask : 0));
}

template <class T>
T with_field(T a, T b, U begin, U length) {
  begin &= 0xff;
  length = std::min<U>(length & 0xff, kBits<T>);
  if (begin >= kBits<T>) return b;
  const U64 ones = length == 64 ? ~U64{0} : (U64{1} << length) - 1, field = ones << begin;
  return static_cast<T>((extended(b) & ~field) | (extended(a) << begin & field));
}

/// prmt; op.mode: 0, or from 1 on f4e, b4e, rc8, ecl, ecr, rc16.
void permute(Warp& warp, const Op& op, int lane) {
  const U *const a = warp.in(op.a), *const b = warp.in(op.b), *const c = warp.in(op.c);
  const U64 bytes = U64{b[lane]} << 32 | a[lane];
  const U selector = c[lane], by = selector & 3;
  U result = 0;
  for (U i = 0; i < 4; ++i) {
    const U picks[] = {selector >> (4 * i) & 15, by + i,          (by - i) & 7,          by,
                       std::max(i, by),          std::min(i, by), (by & 1) * 2 + (i & 1)};
    auto byte = static_cast<U>(bytes >> (8 * (picks[op.mode] & 7)) & 0xff);
    if ((picks[op.mode] & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  warp.at(op.out)[lane] = result;
}

/// Any function of three bits: op.mode is its table.
void lop3(Warp& warp, const Op& op, std::uint32_t lanes) {
  const U *const a = warp.in(op.a), *const b = warp.in(op.b), *const c = warp.in(op.c);
  U* const out = warp.at(op.out);
  const U table = op.mode;
  each_lane(lanes, [=](int i) {
    U result = 0;
    for (U row = 0; row < 8; ++row) {
      if ((table >> row & 1) == 0) continue;
      result |= ((row & 4) != 0 ? a[i] : ~a[i]) & ((row & 2) != 0 ? b[i] : ~b[i]) &
                ((row & 1) != 0 ? c[i] : ~c[i]);
    }
    out[i] = result;
  });
}

/// Predicates, 32 lanes at a time. op.mode: the function's result for each pair of bits, as lop3's.
void predicate_logic(Warp& warp, const Op& op, std::uint32_t lanes) {
  const U a = warp.predicate(op.a);
  const U b = op.b == kNoSlot ? 0 : warp.predicate(op.b);
  const U both = (op.mode & 8) != 0 ? a & b : 0, first = (op.mode & 4) != 0 ? a & ~b : 0,
          second = (op.mode & 2) != 0 ? ~a & b : 0, none = (op.mode & 1) != 0 ? ~a & ~b : 0;
  warp.set_predicate(op.out, lanes, both | first | second | none);
}

// Bits of op.mode: the carry is read and written, c is taken away, and added to the low or the high
// half of a product instead of to a.
constexpr U kReads = 1, kWrites = 2, kDifference = 4, kLow = 8, kHigh = 16;

template <class T>
void add_with_carry(Warp& warp, const Op& op, int i) {
  const auto *const a = lanes_in<T>(warp, op.a), *const b = lanes_in<T>(warp, op.b);
  const auto* const c = lanes_in<T>(warp, op.c);
  auto* const out = lanes_out<T>(warp, op.out);
  const U bit = 1u << i;
  const bool carry = (op.mode & kReads) != 0 && (warp.carry & bit) != 0;
  const T first = (op.mode & kLow) != 0    ? static_cast<T>(a[i] * b[i])
                  : (op.mode & kHigh) != 0 ? high_product<T>(a[i], b[i])
                                           : a[i];
  const Wide<T> wide =
      (op.mode & kDifference) != 0 ? Wide<T>{first} - c[i] - carry : Wide<T>{first} + c[i] + carry;
  out[i] = static_cast<T>(wide);
  if ((op.mode & kWrites) == 0) return;
  warp.carry = (wide >> kBits<T> & 1) != 0 ? warp.carry | bit : warp.carry & ~bit;
}

/// A form, which its opcode without types names. `operands` are the letters of Form::take().
struct IntegerForm {
  std::string_view operands;
  Handler (*handler)(PtxType);
};

template <char kLetter, class T>
using Operand = std::conditional_t<kLetter == 'u', U,
                                   std::conditional_t<kLetter == 'w' && sizeof(T) < 8, Wide<T>, T>>;

/// An operation F on one lane.
template <char... kLetters, class F>
IntegerForm of(F) {
  static constexpr char kText[] = {kLetters...};
  return {{kText, sizeof kText}, [](PtxType type) {
            return for_integer(
                type, []<class T>(T) -> Handler { return lanewise<F, Operand<kLetters, T>...>; });
          }};
}
const IntegerForm* find_integer_form(const std::string& name) {
  constexpr char t = 't', u = 'u', w = 'w';
  static const std::map<std::string, IntegerForm, std::less<>> kForms{
      {"add", of<t, t, t>([](auto a, auto b) { return extended(a) + extended(b); })},
      {"sub", of<t, t, t>([](auto a, auto b) { return extended(a) - extended(b); })},
      {"add.sat.s32", of<t, t, t>([](auto a, auto b) { return saturated(a, b, 1); })},
      {"sub.sat.s32", of<t, t, t>([](auto a, auto b) { return saturated(a, b, -1); })},
      {"mul.lo", of<t, t, t>([](auto a, auto b) { return extended(a) * extended(b); })},
      {"mul.hi", of<t, t, t>([](auto a, auto b) { return high_product(a, b); })},
      {"mul.wide", of<w, t, t>([](auto a, auto b) { return product(a, b); })},
      {"mad.lo", of<t, t, t, t>([](auto a, auto b, auto c) {
         return extended(a) * extended(b) + extended(c);
       })},
      {"mad.hi", of<t, t, t, t>([](auto a, auto b, auto c) {
         return extended(high_product(a, b)) + extended(c);
       })},
      {"mad.wide", of<w, t, t, w>([](auto a, auto b, auto c) {
         return extended(product(a, b)) + extended(c);
       })},
      {"mul24.lo", of<t, t, t>([](auto a, auto b) { return low_24(a) * low_24(b); })},
      {"mul24.hi", of<t, t, t>([](auto a, auto b) { return (low_24(a) * low_24(b)) >> 16; })},
      {"mad24.lo", of<t, t, t, t>([](auto a, auto b, auto c) {
         return extended(low_24(a) * low_24(b)) + extended(c);
       })},
      {"div", of<t, t, t>([](auto a, auto b) { return quotient(a, b); })},
      {"rem", of<t, t, t>([](auto a, auto b) { return remainder(a, b); })},
      {"min", of<t, t, t>([](auto a, auto b) { return std::min(a, b); })},
      {"max", of<t, t, t>([](auto a, auto b) { return std::max(a, b); })},
      {"min.relu",
       of<t, t, t>([](auto a, auto b) { return std::max(std::min(a, b), decltype(a){0}); })},
      {"max.relu",
       of<t, t, t>([](auto a, auto b) { return std::max(std::max(a, b), decltype(a){0}); })},
      {"abs", of<t, t>([](auto a) { return a < 0 ? 0 - extended(a) : extended(a); })},
      {"neg", of<t, t>([](auto a) { return 0 - extended(a); })},
      {"sad", of<t, t, t, t>([](auto a, auto b, auto c) {
         return extended(c) + (a < b ? extended(b) - extended(a) : extended(a) - extended(b));
       })},
      {"and", of<t, t, t>([](auto a, auto b) { return a & b; })},
      {"or", of<t, t, t>([](auto a, auto b) { return a | b; })},
      {"xor", of<t, t, t>([](auto a, auto b) { return a ^ b; })},
      {"not", of<t, t>([](auto a) { return ~a; })},
      {"cnot", of<t, t>([](auto a) { return a == 0 ? 1 : 0; })},
      {"brev", of<t, t>([](auto a) { return reversed(a); })},
      {"shl", of<t, t, u>([](auto a, U by) { return shifted_left(a, by); })},
      {"shr", of<t, t, u>([](auto a, U by) { return shifted_right(a, by); })},
      {"shf.l.wrap", of<u, u, u, u>([](U a, U b, U by) { return funnel(a, b, by & 31, true); })},
      {"shf.l.clamp",
       of<u, u, u, u>([](U a, U b, U by) { return funnel(a, b, std::min(by, 32u), true); })},
      {"shf.r.wrap", of<u, u, u, u>([](U a, U b, U by) { return funnel(a, b, by & 31, false); })},
      {"shf.r.clamp",
       of<u, u, u, u>([](U a, U b, U by) { return funnel(a, b, std::min(by, 32u), false); })},
      {"popc", of<u, t>([](auto a) { return static_cast<U>(std::popcount(as_unsigned(a))); })},
      {"clz", of<u, t>([](auto a) { return static_cast<U>(std::countl_zero(as_unsigned(a))); })},
      {"bfind", of<u, t>([](auto a) { return highest_bit(a, false); })},
      {"bfind.shiftamt", of<u, t>([](auto a) { return highest_bit(a, true); })},
      {"bfe", of<t, t, u, u>([](auto a, U begin, U length) { return field_of(a, begin, length); })},
      {"bfi", of<t, t, t, u, u>([](auto a, auto b, U begin, U length) {
         return with_field(a, b, begin, length);
       })},
  };
  const auto found = kForms.find(name);
  return found == kForms.end() ? nullptr : &found->second;
}

void decode_carry(Form& form) {
  Op& op = form.op;
  form.allow({"cc", "lo", "hi"});
  const bool multiplies = form.parts[0].starts_with("mad");
  form.take(multiplies ? "tttt" : "ttt", form.type());
  if (!multiplies) op.c = op.b;
  op.mode = (form.parts[0].size() > 3 ? kReads : 0) | (form.has("cc") ? kWrites : 0) |
            (form.parts[0].starts_with("sub") ? kDifference : 0) | (form.has("lo") ? kLow : 0) |
            (form.has("hi") ? kHigh : 0);
  op.run = bits_of(form.type()) == 64 ? each<add_with_carry<U64>> : each<add_with_carry<U>>;
}

}  // namespace

std::vector<Rule> integer_rules() {
  return {{"and pred", "ppp", predicate_logic, 8},
          {"or pred", "ppp", predicate_logic, 14},
          {"xor pred", "ppp", predicate_logic, 6},
          {"not pred", "pp", predicate_logic, 3},
          {"mov pred", "pp", predicate_logic, 12},
          {"lop3", "uuuu#", lop3},
          {"prmt f4e|b4e|rc8|ecl|ecr|rc16", "uuuu", each<permute>, 1},
          {"prmt", "uuuu", each<permute>},
          {"dp4a", "uuuu", each<dot>, 4},
          {"dp2a lo", "uuuu", each<dot>, 2},
          {"dp2a hi", "uuuu", each<dot>, 2 | 2 << 4},
          {"addc|subc|madc *", "", decode_carry},
          {"add|sub|mad cc *", "", decode_carry}};
}

void decode_arithmetic(Form& form) {
  if (is_float(form.type())) return decode_float(form);
  std::string name(form.parts[0]);
  for (auto part = form.parts.begin() + 1; part != form.parts.end(); ++part) {
    if (ptx_type(*part) == PtxType::none) name += "." + std::string(*part);
  }
  const IntegerForm* found = find_integer_form(name);
  if (found == nullptr) found = find_integer_form(form.text.opcode);
  if (found == nullptr) throw UnknownForm();
  form.take(found->operands, form.type());
  form.op.run = found->handler(form.type());
}

}  // namespace assay::emulator
