#pragma once

#include <array>
#include <tuple>

#include "emulator/decode.h"

// Handlers out of functors: F is a type whose call is the operation on one lane.

namespace assay::emulator {

template <class F, class R, class... A>
void lane_loop(std::uint32_t lanes, Stored<R>* out, const Stored<A>*... in) {
  each_lane(lanes,
            [=](int i) { out[i] = to_stored<R>(static_cast<R>(F()(from_stored<A>(in[i])...))); });
}
template <class F, class R, class... A>
void lanewise(Warp& warp, const Op& op, std::uint32_t lanes) {
  auto next = [slot = std::array{op.a, op.b, op.c, op.d}, i = std::size_t{0}]() mutable {
    return slot[i++];
  };
  // In braces operands are evaluated in their order.
  std::apply(lane_loop<F, R, A...>,
             std::tuple{lanes, lanes_out<R>(warp, op.out), lanes_in<A>(warp, next())...});
}

/// f of a value of the C++ type that a type of integers or bits is.
template <class F>
auto for_integer(PtxType type, F f) {
  if (is_float(type)) throw UnknownForm();
  const bool has_sign = is_signed(type);
  switch (bits_of(type)) {
    case 16:
      return has_sign ? f(std::int16_t()) : f(std::uint16_t());
    case 32:
      return has_sign ? f(std::int32_t()) : f(std::uint32_t());
    case 64:
      return has_sign ? f(std::int64_t()) : f(std::uint64_t());
    default:
      throw UnknownForm();
  }
}

}  // namespace assay::emulator
