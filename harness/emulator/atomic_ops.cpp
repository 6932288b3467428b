#include <algorithm>
#include <atomic>

#include "emulator/addressing.h"
#include "emulator/float_arithmetic.h"
#include "emulator/lane_loops.h"
#include "emulator/tensor_map.h"

// atom and red, one lane after the other. Other threads of this process may update the same place,
// so that each is an atomic operation of the host.

namespace assay::emulator {
namespace {

enum class AtomicOperation : std::uint32_t {
  add,
  min,
  max,
  inc,
  dec,
  bit_and,
  bit_or,
  bit_xor,
  exch,
  cas,
};

template <class T>
T updated_integer(AtomicOperation operation, T old, T b, T c) {
  using U = std::make_unsigned_t<T>;
  switch (operation) {
    case AtomicOperation::add:
      return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
    case AtomicOperation::min:
      return std::min(old, b);
    case AtomicOperation::max:
      return std::max(old, b);
    case AtomicOperation::inc:
      return old >= b ? T{0} : static_cast<T>(static_cast<U>(old) + 1);
    case AtomicOperation::dec:
      return old == 0 || old > b ? b : static_cast<T>(static_cast<U>(old) - 1);
    case AtomicOperation::bit_and:
      return old & b;
    case AtomicOperation::bit_or:
      return old | b;
    case AtomicOperation::bit_xor:
      return old ^ b;
    case AtomicOperation::exch:
      return b;
    case AtomicOperation::cas:
      return old == b ? c : old;
  }
  return old;
}

/// The new value of a place, of the bits that are there and those of the operands.
std::uint64_t updated(const Op& op, std::uint64_t old, std::uint64_t b, std::uint64_t c) {
  const auto operation = static_cast<AtomicOperation>(op.mode);
  const auto narrow = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits); };
  switch (op.type) {
    case PtxType::s32:
      return narrow(static_cast<std::uint64_t>(
          updated_integer(operation, static_cast<std::int32_t>(old), static_cast<std::int32_t>(b),
                          static_cast<std::int32_t>(c))));
    case PtxType::s64:
      return static_cast<std::uint64_t>(updated_integer(operation, static_cast<std::int64_t>(old),
                                                        static_cast<std::int64_t>(b),
                                                        static_cast<std::int64_t>(c)));
    case PtxType::u64:
    case PtxType::b64:
      return updated_integer(operation, old, b, c);
    case PtxType::b16:
      return updated_integer(operation, static_cast<std::uint16_t>(old),
                             static_cast<std::uint16_t>(b), static_cast<std::uint16_t>(c));
    case PtxType::f32:
      return std::bit_cast<std::uint32_t>(
          add_f32(std::bit_cast<float>(narrow(old)), std::bit_cast<float>(narrow(b)), {}));
    case PtxType::f64:
      return std::bit_cast<std::uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(b));
    case PtxType::f16:
    case PtxType::bf16:
    case PtxType::f16x2:
    case PtxType::bf16x2: {
      HalfMode mode;
      mode.format = op.type == PtxType::f16 || op.type == PtxType::f16x2 ? FloatFormat::f16
                                                                         : FloatFormat::bf16;
      const HalfOperation half_operation = operation == AtomicOperation::min   ? HalfOperation::min
                                           : operation == AtomicOperation::max ? HalfOperation::max
                                                                               : HalfOperation::add;
      if (op.type == PtxType::f16 || op.type == PtxType::bf16) {
        return half(half_operation, mode, static_cast<std::uint16_t>(old),
                    static_cast<std::uint16_t>(b));
      }
      return half_pair(half_operation, mode, narrow(old), narrow(b));
    }
    default:
      return updated_integer(operation, narrow(old), narrow(b), narrow(c));
  }
}

template <class T>
T update(std::byte* at, const Op& op, T b, T c) {
  const std::atomic_ref<T> place(*reinterpret_cast<T*>(at));
  T old = place.load();
  while (!place.compare_exchange_weak(old, static_cast<T>(updated(op, old, b, c)))) {
  }
  return old;
}

/// op.list: the elements of b; op.more: where the old values go; op.c: the third operand.
void update_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t size = op.bytes;
  const auto bytes = static_cast<std::uint32_t>(op.list.size()) * size;
  warp.progress();
  const auto value = [&](std::int32_t slot, int lane) {
    if (slot == kNoSlot) return std::uint64_t{0};
    return size == 8 ? lanes_in<std::uint64_t>(warp, slot)[lane] : warp.in(slot)[lane];
  };
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const std::uint64_t address = address_of(warp, op, lane);
    std::byte* const at = resolve(warp, op.window, lane, address, bytes, Access::update, bytes);
    order_strong(warp, address, op.is_negated, true);
    order_strong(warp, address, op.is_negated, false);
    for (std::size_t i = 0; i < op.list.size(); ++i) {
      std::uint64_t old = 0;
      const std::uint64_t b = value(op.list[i], lane), c = value(op.c, lane);
      std::byte* const place = at + i * size;
      if (at == nullptr) {
        old = 0;
      } else if (size == 8) {
        old = update<std::uint64_t>(place, op, b, c);
      } else if (size == 4) {
        old = update<std::uint32_t>(place, op, static_cast<std::uint32_t>(b),
                                    static_cast<std::uint32_t>(c));
      } else {
        old = update<std::uint16_t>(place, op, static_cast<std::uint16_t>(b),
                                    static_cast<std::uint16_t>(c));
      }
      if (op.more.empty() || op.more[i] == kNoSlot) continue;
      if (size == 8) {
        lanes_out<std::uint64_t>(warp, op.more[i])[lane] = old;
      } else {
        warp.at(op.more[i])[lane] = static_cast<std::uint32_t>(old);
      }
    }
  }
}

}  // namespace

void decode_atomic(Form& form) {
  if (form.has("async")) return decode_copy(form);
  static const std::map<std::string_view, AtomicOperation> kOperations{
      {"add", AtomicOperation::add},   {"min", AtomicOperation::min},
      {"max", AtomicOperation::max},   {"inc", AtomicOperation::inc},
      {"dec", AtomicOperation::dec},   {"and", AtomicOperation::bit_and},
      {"or", AtomicOperation::bit_or}, {"xor", AtomicOperation::bit_xor},
      {"exch", AtomicOperation::exch}, {"cas", AtomicOperation::cas}};
  Op& op = form.op;
  bool is_known = false;
  for (auto part = form.parts.begin() + 1; part != form.parts.end(); ++part) {
    if (const auto found = kOperations.find(*part); found != kOperations.end()) {
      op.mode = static_cast<std::uint32_t>(found->second);
      is_known = true;
    }
  }
  op.type = form.type();
  const auto operation = static_cast<AtomicOperation>(op.mode);
  const bool is_real = is_float(op.type);
  const bool is_half =
      bits_of(op.type) == 16 || op.type == PtxType::f16x2 || op.type == PtxType::bf16x2;
  const bool has_min = is_real && is_half &&
                       (operation == AtomicOperation::min || operation == AtomicOperation::max);
  const bool is_fine = is_real ? operation == AtomicOperation::add || has_min
                               : bits_of(op.type) >= 32 || op.type == PtxType::b16;
  if (!is_known || !is_fine || bits_of(op.type) > 64 || op.type == PtxType::tf32) {
    throw UnknownForm();
  }
  op.bytes = static_cast<std::uint32_t>(bits_of(op.type)) / 8;
  const bool returns = form.parts[0] == "atom";
  std::size_t at = 0;
  const auto slots = [&](const PtxOperand& operand, bool is_out) {
    std::vector<std::int32_t> result;
    const std::vector<PtxOperand> one{operand};
    const bool is_list = operand.kind == PtxOperand::Kind::list;
    for (const PtxOperand& element : is_list ? operand.parts : one) {
      const PtxType type = op.bytes == 8 ? PtxType::b64 : PtxType::b32;
      result.push_back(is_out ? form.out(element, type)
                              : form.in(element, is_real && op.bytes >= 4 ? op.type : type));
    }
    return result;
  };
  if (returns) op.more = slots(form.operand(at++), true);
  form.address(form.operand(at++));
  op.window = window_of(form);
  op.list = slots(form.operand(at++), false);
  if (returns && op.more.size() != op.list.size()) throw UnknownForm();
  if (operation == AtomicOperation::cas) {
    op.c = form.in(form.operand(at++), op.bytes == 8 ? PtxType::b64 : PtxType::b32);
  }
  op.is_negated = form.has("release") || form.has("acq_rel");
  op.run = update_lanes;
}

}  // namespace assay::emulator
