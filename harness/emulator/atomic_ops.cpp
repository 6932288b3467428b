#include <algorithm>
#include <atomic>

#include "emulator/addressing.h"
#include "emulator/atomics.h"
#include "emulator/float_arithmetic.h"
#include "emulator/lane_loops.h"

// atom and red, one lane after the other. Other threads of this process may update the same place,
// so that each is an atomic operation of the host.

namespace assay::emulator {
namespace {

template <class T>
T updated_integer(AtomicOperation operation, T old, T b, T c) {
  using Bits = std::make_unsigned_t<T>;
  switch (operation) {
    case AtomicOperation::add:
      return static_cast<T>(static_cast<Bits>(old) + static_cast<Bits>(b));
    case AtomicOperation::min:
      return std::min(old, b);
    case AtomicOperation::max:
      return std::max(old, b);
    case AtomicOperation::inc:
      return old >= b ? T{0} : static_cast<T>(static_cast<Bits>(old) + 1);
    case AtomicOperation::dec:
      return old == 0 || old > b ? b : static_cast<T>(static_cast<Bits>(old) - 1);
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

/// Whether PTX has the operation of the type.
bool is_pair(AtomicOperation operation, PtxType type) {
  const bool is_add = operation == AtomicOperation::add;
  const bool is_min = operation == AtomicOperation::min || operation == AtomicOperation::max;
  const bool exchanges = operation == AtomicOperation::exch || operation == AtomicOperation::cas;
  switch (type) {
    case PtxType::f32:
    case PtxType::f64:
      return is_add;
    case PtxType::f16:
    case PtxType::f16x2:
    case PtxType::bf16:
    case PtxType::bf16x2:
      return is_add || is_min;
    case PtxType::s64:
      return is_min;
    case PtxType::b16:
      return exchanges;
    case PtxType::u32:
      return !exchanges;
    case PtxType::s32:
    case PtxType::u64:
    case PtxType::b32:
    case PtxType::b64:
      return operation != AtomicOperation::inc && operation != AtomicOperation::dec;
    default:
      return false;
  }
}

/// The new value of a place, of the bits that are there and those of the operands.
std::uint64_t updated(AtomicOperation operation, PtxType type, std::uint64_t old, std::uint64_t b,
                      std::uint64_t c) {
  const auto narrow = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits); };
  switch (type) {
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
      const bool is_f16 = type == PtxType::f16 || type == PtxType::f16x2;
      HalfMode mode;
      mode.format = is_f16 ? FloatFormat::f16 : FloatFormat::bf16;
      const HalfOperation of_half = operation == AtomicOperation::min   ? HalfOperation::min
                                    : operation == AtomicOperation::max ? HalfOperation::max
                                                                        : HalfOperation::add;
      if (bits_of(type) == 32) return half_pair(of_half, mode, narrow(old), narrow(b));
      return half(of_half, mode, static_cast<std::uint16_t>(old), static_cast<std::uint16_t>(b));
    }
    default:
      return updated_integer(operation, narrow(old), narrow(b), narrow(c));
  }
}

template <class T>
T update(std::byte* at, AtomicOperation operation, PtxType type, std::uint64_t b, std::uint64_t c) {
  const std::atomic_ref<T> place(*reinterpret_cast<T*>(at));
  T old = place.load();
  while (!place.compare_exchange_weak(old, static_cast<T>(updated(operation, type, old, b, c)))) {
  }
  return old;
}

/// Updates a place, and gives what was there.
std::uint64_t update(std::byte* at, AtomicOperation operation, PtxType type, std::uint64_t b,
                     std::uint64_t c) {
  switch (bits_of(type)) {
    case 16:
      return update<std::uint16_t>(at, operation, type, b, c);
    case 32:
      return update<std::uint32_t>(at, operation, type, b, c);
    default:
      return update<std::uint64_t>(at, operation, type, b, c);
  }
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
      if (at != nullptr) {
        old = update(at + i * size, static_cast<AtomicOperation>(op.mode), op.type, b, c);
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

std::optional<AtomicOperation> parse_atomic(std::string_view word) {
  constexpr std::string_view kWords[] = {"add", "min", "max", "inc",  "dec",
                                         "and", "or",  "xor", "exch", "cas"};
  const auto* const found = std::ranges::find(kWords, word);
  if (found == std::end(kWords)) return std::nullopt;
  return static_cast<AtomicOperation>(found - kWords);
}

bool reduce_elements(AtomicOperation operation, PtxType type, std::byte* destination,
                     const std::byte* source, std::size_t bytes) {
  if (!is_pair(operation, type)) return false;
  const auto size = static_cast<std::size_t>(bits_of(type)) / 8;
  for (std::size_t at = 0; at + size <= bytes; at += size) {
    std::uint64_t value = 0;
    std::memcpy(&value, source + at, size);
    update(destination + at, operation, type, value, 0);
  }
  return true;
}

void decode_atomic(Form& form) {
  Op& op = form.op;
  std::optional<AtomicOperation> operation;
  for (auto part = form.parts.begin() + 1; part != form.parts.end() && !operation; ++part) {
    operation = parse_atomic(*part);
  }
  op.type = form.type();
  if (form.has("async") || !operation || !is_pair(*operation, op.type)) throw UnknownForm();
  op.mode = static_cast<std::uint32_t>(*operation);
  const bool is_real = is_float(op.type);
  op.bytes = static_cast<std::uint32_t>(bits_of(op.type)) / 8;
  const bool returns = form.parts[0] == "atom";
  std::size_t at = 0;
  const auto slots = [&](const PtxOperand& operand, bool is_out) {
    std::vector<std::int32_t> result;
    for (const PtxOperand& element : Form::elements(operand)) {
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
  if (*operation == AtomicOperation::cas) {
    op.c = form.in(form.operand(at++), op.bytes == 8 ? PtxType::b64 : PtxType::b32);
  }
  op.is_negated = form.has("release") || form.has("acq_rel");
  op.run = update_lanes;
}

}  // namespace assay::emulator
