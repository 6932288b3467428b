#pragma once

#include "emulator/decode.h"

// Handlers out of functors: F is a type whose call is the operation on one lane.

namespace assay::emulator {

template <class R, class A, class F>
void unary(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<A>(warp, op.a);
  auto* const out = lanes_out<R>(warp, op.out);
  each_lane(lanes,
            [=](int i) { out[i] = to_stored<R>(static_cast<R>(F()(from_stored<A>(a[i])))); });
}

template <class R, class A, class B, class F>
void binary(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<A>(warp, op.a);
  const auto* const b = lanes_in<B>(warp, op.b);
  auto* const out = lanes_out<R>(warp, op.out);
  each_lane(lanes, [=](int i) {
    out[i] = to_stored<R>(static_cast<R>(F()(from_stored<A>(a[i]), from_stored<B>(b[i]))));
  });
}

template <class R, class A, class B, class C, class F>
void ternary(Warp& warp, const Op& op, std::uint32_t lanes) {
  const auto* const a = lanes_in<A>(warp, op.a);
  const auto* const b = lanes_in<B>(warp, op.b);
  const auto* const c = lanes_in<C>(warp, op.c);
  auto* const out = lanes_out<R>(warp, op.out);
  each_lane(lanes, [=](int i) {
    out[i] = to_stored<R>(
        static_cast<R>(F()(from_stored<A>(a[i]), from_stored<B>(b[i]), from_stored<C>(c[i]))));
  });
}

/// f of a value of the C++ type that a type of integers or bits is.
template <class F>
auto for_integer(PtxType type, F f) {
  switch (type) {
    case PtxType::u16:
    case PtxType::b16:
      return f(std::uint16_t());
    case PtxType::s16:
      return f(std::int16_t());
    case PtxType::u32:
    case PtxType::b32:
      return f(std::uint32_t());
    case PtxType::s32:
      return f(std::int32_t());
    case PtxType::u64:
    case PtxType::b64:
      return f(std::uint64_t());
    case PtxType::s64:
      return f(std::int64_t());
    default:
      throw UnknownForm();
  }
}

/// Handlers of an operation on values of one type.
template <class F>
Handler unary_integer(PtxType type) {
  return for_integer(type, [](auto x) -> Handler { return unary<decltype(x), decltype(x), F>; });
}
template <class F>
Handler binary_integer(PtxType type) {
  return for_integer(
      type, [](auto x) -> Handler { return binary<decltype(x), decltype(x), decltype(x), F>; });
}
template <class F>
Handler ternary_integer(PtxType type) {
  return for_integer(type, [](auto x) -> Handler {
    return ternary<decltype(x), decltype(x), decltype(x), decltype(x), F>;
  });
}

}  // namespace assay::emulator
