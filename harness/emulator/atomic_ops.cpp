#include <algorithm>
#include <atomic>

#include "emulator/addressing.h"
#include "emulator/atomics.h"
#include "emulator/lane_loops.h"

// atom and red, one lane after the other. Other threads of this process may update the same place,
// so that each is an atomic operation of the host.

namespace assay::emulator {
namespace {

/// By AtomicOperation.
template <class T, class Bits = std::make_unsigned_t<T>>
constexpr T (*kUpdates[])(T old, T b, T c) = {
    [](T old, T b, T) { return static_cast<T>(static_cast<Bits>(old) + static_cast<Bits>(b)); },
    [](T old, T b, T) { return std::min(old, b); },
    [](T old, T b, T) { return std::max(old, b); },
    [](T old, T b, T) { return old >= b ? T{0} : static_cast<T>(static_cast<Bits>(old) + 1); },
    [](T old, T b, T) {
      return old == 0 || old > b ? b : static_cast<T>(static_cast<Bits>(old) - 1);
    },
    [](T old, T b, T) { return static_cast<T>(old & b); },
    [](T old, T b, T) { return static_cast<T>(old | b); },
    [](T old, T b, T) { return static_cast<T>(old ^ b); },
    [](T, T b, T) { return b; },
    [](T old, T b, T c) { return old == b ? c : old; }};

/// Whether PTX has the operation of the type.
bool has_operation(PtxType type, AtomicOperation operation) {
  using Of = AtomicOperation;
  const auto is = [&](auto... any) { return ((operation == any) || ...); };
  if (type == PtxType::f32 || type == PtxType::f64) return is(Of::add);
  if (is_float(type)) return type < PtxType::tf32 && is(Of::add, Of::min, Of::max);
  if (type == PtxType::s64) return is(Of::min, Of::max);
  if (type == PtxType::b16) return is(Of::exch, Of::cas);
  if (type == PtxType::u32) return !is(Of::exch, Of::cas);
  return bits_of(type) >= 32 && bits_of(type) <= 64 && !is(Of::inc, Of::dec);
}

template <class T>
std::uint64_t update(std::byte* at, AtomicOperation operation, PtxType type, std::uint64_t b,
                     std::uint64_t c) {
  const std::atomic_ref<T> place(*reinterpret_cast<T*>(at));
  T old = place.load();
  while (!place.compare_exchange_weak(old, static_cast<T>(updated(operation, type, old, b, c)))) {
  }
  return old;
}

/// Updates a place, and gives what was there.
std::uint64_t update(std::byte* at, AtomicOperation operation, PtxType type, std::uint64_t b,
                     std::uint64_t c) {
  const auto update_of = bits_of(type) == 16   ? update<std::uint16_t>
                         : bits_of(type) == 32 ? update<std::uint32_t>
                                               : update<std::uint64_t>;
  return update_of(at, operation, type, b, c);
}

/// op.list: the elements of b; op.more: where the old values go; op.c: the third operand.
void update_lanes(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::uint32_t size = op.bytes;
  const auto bytes = static_cast<std::uint32_t>(op.list.size()) * size;
  warp.progress();
  const bool is_wide = size == 8;
  for (const int lane : Lanes(lanes)) {
    const std::uint64_t address = address_of(warp, op.at, lane);
    std::byte* const at = resolve(warp, op.at.window, lane, address, bytes, Access::update, bytes);
    order_strong(warp, address, op.releases, true);
    order_strong(warp, address, op.releases, false);
    for (std::size_t i = 0; i < op.list.size(); ++i) {
      std::uint64_t old = 0;
      const std::uint64_t b = warp.get(op.list[i], lane, is_wide);
      const std::uint64_t c = op.c == kNoSlot ? 0 : warp.get(op.c, lane, is_wide);
      if (at != nullptr) {
        old = update(at + i * size, static_cast<AtomicOperation>(op.mode), op.type, b, c);
      }
      if (!op.more.empty()) warp.put(op.more[i], lane, is_wide, old);
    }
  }
}

}  // namespace

std::uint64_t updated(AtomicOperation operation, PtxType type, std::uint64_t old, std::uint64_t b,
                      std::uint64_t c) {
  if (type == PtxType::f64) {
    return std::bit_cast<std::uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(b));
  }
  if (is_float(type)) {
    static const FloatFunction kAdd = float_function("add"), kMin = float_function("min"),
                               kMax = float_function("max");
    return compute(operation == AtomicOperation::min   ? kMin
                   : operation == AtomicOperation::max ? kMax
                                                       : kAdd,
                   type, {}, static_cast<std::uint32_t>(old), static_cast<std::uint32_t>(b));
  }
  return for_integer(type, [&](auto x) -> std::uint64_t {
    using T = decltype(x);
    return to_stored<T>(kUpdates<T>[static_cast<std::size_t>(operation)](
        static_cast<T>(old), static_cast<T>(b), static_cast<T>(c)));
  });
}

std::optional<AtomicOperation> parse_atomic(std::string_view word) {
  constexpr std::string_view kWords[] = {"add", "min", "max", "inc",  "dec",
                                         "and", "or",  "xor", "exch", "cas"};
  const auto* const found = std::ranges::find(kWords, word);
  if (found == std::end(kWords)) return std::nullopt;
  return static_cast<AtomicOperation>(found - kWords);
}

AtomicOperation operation_of(const Form& form) {
  for (const std::string_view part : form.parts) {
    if (const auto operation = parse_atomic(part)) return *operation;
  }
  throw UnknownForm();
}

bool reduce_elements(AtomicOperation operation, PtxType type, std::byte* destination,
                     const std::byte* source, std::size_t bytes) {
  if (!has_operation(type, operation)) return false;
  const auto size = static_cast<std::size_t>(bits_of(type)) / 8;
  for (std::size_t at = 0; at + size <= bytes; at += size) {
    std::uint64_t value = 0;
    std::memcpy(&value, source + at, size);
    update(destination + at, operation, type, value, 0);
  }
  return true;
}

namespace {

void decode_atomic(Form& form) {
  Op& op = form.op;
  const AtomicOperation operation = operation_of(form);
  op.type = form.type();
  if (form.has("async") || !has_operation(op.type, operation)) throw UnknownForm();
  op.mode = static_cast<std::uint32_t>(operation);
  op.bytes = static_cast<std::uint32_t>(bytes_of(op.type));
  const PtxType bits = op.bytes == 8 ? PtxType::b64 : PtxType::b32;
  const PtxType read = is_float(op.type) && op.bytes >= 4 ? op.type : bits;
  const bool returns = form.parts[0] == "atom";
  std::size_t at = 0;
  if (returns) op.more = form.out_each(at++, bits);
  op.at = form.address(form.operand(at++));
  op.list = form.in_each(at++, read);
  if (returns && op.more.size() != op.list.size()) throw UnknownForm();
  if (operation == AtomicOperation::cas) op.c = form.in(at, bits);
  op.releases = form.has("release") || form.has("acq_rel");
  op.run = update_lanes;
}

}  // namespace

std::vector<Rule> atomic_rules() { return {{"atom|red *", decode_atomic}}; }

}  // namespace assay::emulator
