#include <algorithm>
#include <atomic>
#include <set>

#include "emulator/ops.h"

// ld, st, atom and red. Threads of this process share the memory: each atomic is one of the host.

namespace assay::emulator {
namespace {

MemoryAccess right_for(Access access) {
  return access == Access::read || access == Access::sync ? MemoryAccess::read
                                                          : MemoryAccess::write;
}

std::string_view word(Access access) {
  return right_for(access) == MemoryAccess::read ? "reads"
         : access == Access::write               ? "writes"
                                                 : "updates";
}

std::string in_block_text(const Warp& warp, std::uint32_t rank) {
  return rank == warp.block->rank ? std::string()
                                  : fmt::format(" of block {} of the cluster", rank);
}

/// Reports what leads nowhere.
template <class... A>
std::nullptr_t refuse_access(Warp& warp, int lane, fmt::format_string<A...> text, A&&... values) {
  warp.report(FindingKind::out_of_bounds, fmt::format(text, std::forward<A>(values)...), lane);
  return nullptr;
}

std::byte* resolve_shared(Warp& warp, int lane, std::uint32_t address, std::uint32_t bytes,
                          Access access, bool own, const std::byte* written) {
  const std::uint32_t rank = own ? warp.block->rank : address >> kRankShift;
  const std::uint32_t at = address & kOffsetMask;
  const auto& blocks = warp.block->cluster->blocks;
  const std::size_t size = rank < blocks.size() ? blocks[rank]->shared.size() : 0;
  const std::size_t offset = at - std::size_t{kSharedBegin};
  if (at < kSharedBegin) {
    return refuse_access(warp, lane,
                         "{} {} bytes at address {:#x} of shared memory{}, which begins at {:#x}",
                         word(access), bytes, at, in_block_text(warp, rank), kSharedBegin);
  }
  if (offset >= size || bytes > size - offset) {
    return refuse_access(warp, lane,
                         "{} {} bytes at byte {} of shared memory{}, which has {} bytes",
                         word(access), bytes, offset, in_block_text(warp, rank), size);
  }
  BlockState& block = *blocks[rank];
  const auto ended = [](const Warp& of) { return of.alive == 0; };
  if (rank != warp.block->rank && std::ranges::all_of(block.warps, ended)) {
    warp.misuse(lane, "{} shared memory of block {} of the cluster, which has ended", word(access),
                rank);
  }
  note_access(warp, block, lane, offset, bytes, access, written);
  return block.shared.data() + offset;
}

std::byte* resolve_global(Warp& warp, int lane, std::uint64_t address, std::uint32_t bytes,
                          Access access) {
  const MemoryRange* const known = warp.range;
  const MemoryAccess right = right_for(access);
  if (known != nullptr && address >= known->begin && address < known->end &&
      bytes <= known->end - address &&
      (right == MemoryAccess::read ? known->readable : known->writable)) {
    return reinterpret_cast<std::byte*>(address);
  }
  const Memory& memory = warp.block->cluster->launch.memory;
  if (const MemoryRange* const range = memory.find(address, bytes, right)) {
    warp.range = range;
    return reinterpret_cast<std::byte*>(address);
  }
  return refuse_access(warp, lane, "{} {} bytes at {:#x}: {}", word(access), bytes, address,
                       memory.describe(address));
}

/// A strong access or an atomic: it may order what warps of a cluster do.
void order_strong(Warp& warp, std::uint64_t address, bool releases, bool acquires) {
  note_strong(warp);
  std::map<std::uint64_t, SyncPoint>& points = warp.block->cluster->points;
  const auto point = points.find(address);
  if (acquires && point != points.end()) acquire(warp, point->second);
  if (acquires || (!releases && warp.fenced == nullptr)) return;
  SyncPoint& to = points[address];
  release(warp, to, !releases);
  complete_phase(to);
}

/// op.list: a slot for each element; op.target: the bits above a signed element.
template <std::size_t kBytes>
void load_lane(Warp& warp, const Op& op, int lane) {
  const auto bytes = static_cast<std::uint32_t>(op.list.size() * kBytes);
  const Access access = op.mode != 0 ? Access::sync : Access::read;
  const std::uint64_t address = address_of(warp, op.at, lane);
  const std::byte* from = resolve(warp, op.at, lane, bytes, access);
  for (const std::int32_t slot : op.list) {
    std::int64_t value = 0;
    if (from != nullptr) {
      std::memcpy(&value, from, kBytes);
      from += kBytes;
    }
    value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << op.target) >> op.target;
    warp.put(slot, lane, op.is_wide, value);
  }
  // Behind the read: who wrote the value was strong before.
  if (op.mode != 0) order_strong(warp, address, false, true);
}

template <std::size_t kBytes>
void store_lane(Warp& warp, const Op& op, int lane) {
  const auto bytes = static_cast<std::uint32_t>(op.list.size() * kBytes);
  const Access access = op.mode != 0 ? Access::update : Access::write;
  warp.progress();
  const std::uint64_t address = address_of(warp, op.at, lane);
  std::array<std::byte, 8 * kBytes> values;
  for (std::size_t i = 0; i < op.list.size(); ++i) {
    const std::uint64_t value = warp.get(op.list[i], lane, op.is_wide);
    std::memcpy(&values[i * kBytes], &value, kBytes);
  }
  std::byte* const to =
      resolve(warp, op.at, lane, bytes, access, op.mode == 0 ? values.data() : nullptr);
  if (to == nullptr) return;
  if (op.mode != 0) order_strong(warp, address, op.mode == 2, false);
  std::memcpy(to, values.data(), bytes);
}

/// By the binary logarithm of an element's bytes.
constexpr Handler kLoads[] = {each<load_lane<1>>, each<load_lane<2>>, each<load_lane<4>>,
                              each<load_lane<8>>};
constexpr Handler kStores[] = {each<store_lane<1>>, each<store_lane<2>>, each<store_lane<4>>,
                               each<store_lane<8>>};

void decode_load_store(Form& form) {
  const bool is_load = form.parts[0] != "st";
  Op& op = form.op;
  const PtxType type = form.type();
  const auto values = Form::elements(form.operand(is_load ? 0 : 1));
  const std::size_t count = form.has("v2") ? 2 : form.has("v4") ? 4 : form.has("v8") ? 8 : 1;
  if (values.size() != count) throw UnknownForm();
  op.at = form.address(form.operand(is_load ? 1 : 0));
  bool is_wide = bits_of(type) == 64;
  for (const PtxOperand& element : values) is_wide = is_wide || form.bits(element) == 64;
  for (const PtxOperand& element : values) {
    const PtxType reg = is_wide ? PtxType::b64 : PtxType::b32;
    op.list.push_back(is_load
                          ? form.out(element, reg)
                          : form.in(element, is_float(type) && bits_of(type) >= 32 ? type : reg));
  }
  // Strong ones do not race with each other, and may carry order from warp to warp.
  // Loads through caches (.cg, .cv) read flags before PTX had strong loads.
  const bool is_strong = form.has("volatile") || form.has("relaxed") ||
                         (is_load && (form.has("cg") || form.has("cv")));
  op.mode = form.has("release") || form.has("acquire") ? 2 : is_strong ? 1 : 0;
  const std::uint32_t bytes = bytes_of(type);
  if (!std::has_single_bit(bytes) || bytes > 8) throw UnknownForm();
  op.is_wide = is_wide;
  op.target = is_signed(type) ? 64 - bits_of(type) : 0;
  op.run = (is_load ? kLoads : kStores)[std::countr_zero(bytes)];
}

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
void update_lane(Warp& warp, const Op& op, int lane) {
  const std::uint32_t size = op.bytes;
  const auto bytes = static_cast<std::uint32_t>(op.list.size()) * size;
  warp.progress();
  const bool is_wide = size == 8;
  const std::uint64_t address = address_of(warp, op.at, lane);
  std::byte* const at = resolve(warp, op.at, lane, bytes, Access::update);
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
  order_strong(warp, address, op.releases, true);
}

void decode_atomic(Form& form) {
  Op& op = form.op;
  const AtomicOperation operation = operation_of(form);
  op.type = form.type();
  if (form.has("async") || !has_operation(op.type, operation)) throw UnknownForm();
  op.mode = static_cast<std::uint32_t>(operation);
  op.bytes = bytes_of(op.type);
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
  op.run = each<update_lane>;
}

}  // namespace

void mark_guesses(std::vector<Op>& ops) {
  std::set<std::int32_t> compared;
  for (const Op& op : ops) {
    const bool compares = op.run == each<update_lane> && op.c != kNoSlot;  // atom.cas alone
    if (compares) compared.insert(op.list.begin(), op.list.end());
  }
  add_copied(ops, compared);
  for (Op& op : ops) op.is_guess = touches(op.writes, compared);
}

std::byte* resolve(Warp& warp, Window window, int lane, std::uint64_t address, std::uint32_t bytes,
                   Access access, std::uint32_t align, const std::byte* written) {
  if ((address & (align - 1)) != 0) {
    warp.report(FindingKind::misaligned,
                fmt::format("{} {} bytes at {:#x}, which is no multiple of {}", word(access), bytes,
                            address, align),
                lane);
    return nullptr;
  }
  if (window == Window::generic) {
    const std::uint64_t high = address & ~std::uint64_t{0xffff'ffff}, top = high >> 56 << 56;
    if (high == kSharedWindow) {
      window = Window::cluster;
    } else if (high == kLocalWindow) {
      window = Window::local;
    } else if (high == kParamWindow) {
      window = Window::param;
    } else if (top == kSharedWindow || top == kLocalWindow || top == kParamWindow) {
      return refuse_access(warp, lane, "{} {} bytes at {:#x}, where no memory is", word(access),
                           bytes, address);
    }
    if (window != Window::generic) address -= high;
  }
  if (window == Window::shared || window == Window::cluster) {
    return resolve_shared(warp, lane, static_cast<std::uint32_t>(address), bytes, access,
                          window == Window::shared, written);
  }
  if (window != Window::local && window != Window::param) {
    std::byte* const place = resolve_global(warp, lane, address, bytes, access);
    const bool loads = access == Access::read && warp.actor == nullptr;
    if (loads || written != nullptr) note_global(warp, lane, place, bytes, written);
    return place;
  }
  const LaunchState& launch = warp.block->cluster->launch;
  const bool is_local = window == Window::local;
  const std::size_t size = is_local ? launch.program.local_bytes : launch.parameters.size();
  if ((is_local || access == Access::read) && address < size && bytes <= size - address) {
    return is_local ? warp.local + static_cast<std::size_t>(lane) * size + address
                    : const_cast<std::byte*>(launch.parameters.data()) + address;
  }
  return refuse_access(warp, lane, "{} {} bytes at byte {} of {} {} bytes", word(access), bytes,
                       address, is_local ? "local memory, which has" : "the parameters, which have",
                       size);
}

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

AtomicOperation operation_of(const Form& form) {
  constexpr std::string_view kWords[] = {"add", "min", "max", "inc",  "dec",
                                         "and", "or",  "xor", "exch", "cas"};
  const auto* const found =
      std::ranges::find_if(kWords, [&](std::string_view word) { return form.has(word); });
  if (found == std::end(kWords)) throw UnknownForm();
  return static_cast<AtomicOperation>(found - kWords);
}

bool reduce_elements(AtomicOperation operation, PtxType type, std::byte* destination,
                     const std::byte* source, std::size_t bytes) {
  if (!has_operation(type, operation)) return false;
  const std::size_t size = bytes_of(type);
  for (std::size_t at = 0; at + size <= bytes; at += size) {
    std::uint64_t value = 0;
    std::memcpy(&value, source + at, size);
    update(destination + at, operation, type, value, 0);
  }
  return true;
}

std::vector<Rule> memory_rules() {
  return {{"ld|ldu|st *", "", decode_load_store}, {"atom|red *", "", decode_atomic}};
}

}  // namespace assay::emulator
