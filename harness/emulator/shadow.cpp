#include <algorithm>
#include <span>

#include "emulator/ops.h"
#include "emulator/shadow.h"
#include "emulator/warp.h"

namespace assay::emulator {
namespace {

// Mbarriers of a cluster that have an actor of their own; more share them.
constexpr std::uint32_t kSignalActors = 64;

/// Whether bytes are the same: mostly four, for which memcmp is inlined.
bool are_same(const std::byte* one, const std::byte* other, std::uint32_t bytes) {
  return bytes == 4 ? std::memcmp(one, other, 4) == 0 : std::memcmp(one, other, bytes) == 0;
}

std::uint32_t warps_of(const ClusterState& cluster) {
  return static_cast<std::uint32_t>(cluster.warps.size());
}

std::uint32_t index_of(const Warp& warp) {
  return warp.block->rank * static_cast<std::uint32_t>(warp.block->warps.size()) + warp.index;
}

std::string note_text(const Warp& warp, const ShadowWord::Note& note, bool is_write) {
  const ClusterState& cluster = *warp.block->cluster;
  const std::size_t num_warps = warp.block->warps.size();
  const Op& op = cluster.launch.program.ops[note.op];
  std::string text = fmt::format("{} {}{}", is_write ? "was written by" : "was read by",
                                 op.source->opcode, line_text(op));
  if (note.actor < warps_of(cluster)) {
    text += fmt::format(" of thread {}", note.actor % num_warps * 32 + note.lane);
    if (cluster.blocks.size() > 1) text += fmt::format(" of block {}", note.actor / num_warps);
  }
  return text;
}

// A read that races, or of what nobody wrote, is a finding once something depends on the value: is
// computed of it, or written where lanes are because a branch depends on it. Kernels read a slice
// ahead that they drop, run their epilogue once on such values, and lanes without a row do as
// others.

/// Whether an instruction does something beside writing registers.
bool has_effect(const Op& op) {
  return op.writes.empty() || op.control == Control::wait || op.source->opcode.starts_with("atom");
}

/// Whether what lanes do between a branch and where they meet again shows elsewhere.
bool decides_effect(const std::vector<Op>& ops, const Op& branch) {
  const auto at = static_cast<std::int32_t>(&branch - ops.data());
  // A loop that spins on the value orders what comes behind.
  if (branch.control != Control::branch || branch.join < 0 || branch.target <= at) return true;
  return std::any_of(ops.begin() + at + 1, ops.begin() + std::max(branch.join, at + 1),
                     [](const Op& op) { return op.control != Control::branch && has_effect(op); });
}

/// Lanes that get something of the given lanes, by an instruction with which lanes exchange values.
std::uint32_t received(const Warp& warp, const Op& op, std::uint32_t from, std::uint32_t lanes) {
  if (!is_shuffle(op)) return ~0u;
  std::uint32_t valid = 0;
  const std::array<int, 32> sources = shuffle_sources(warp, op, lanes, valid);
  return lanes_where([&](int lane) { return (from >> sources[lane] & 1) != 0; });
}

/// Whether an instruction only brings values into registers.
bool loads_registers(const Op& op) { return !op.writes.empty() && op.control != Control::wait; }

/// What slots of a warp hold in some lanes is of a bad read.
void note_bad_read(Warp& warp, BadRead bad, std::span<const std::int32_t> slots,
                   std::uint32_t lanes) {
  const auto known = std::ranges::find_if(warp.bad_reads, [&](const BadRead& read) {
    return read.op == bad.op && read.kind == bad.kind;
  });
  const auto index = static_cast<std::uint32_t>(known - warp.bad_reads.begin());
  if (known == warp.bad_reads.end()) warp.bad_reads.push_back(std::move(bad));
  warp.bad_values.resize(warp.block->cluster->launch.program.register_slots.size());
  for (const std::int32_t slot : slots) {
    BadValue& value = warp.bad_values[slot];
    value = {value.lanes | lanes, index};
  }
}

/// Likewise what the warp's instruction reads from memory. Lanes that load together get each
/// other's values.
void note_bad_read(Warp& warp, BadRead bad) {
  const std::uint32_t lanes = warp.op->control == Control::meet ? ~0u : 1u << bad.lane;
  note_bad_read(warp, std::move(bad), warp.op->writes, lanes);
}

/// A write to a byte races with a read before it. If nothing but copies has used what was read, it
/// is not to be used from now on, and the race is a finding once it is. False: it may have been.
bool drop_unused_read(Warp& writer, const ShadowWord::Note& read, std::size_t at,
                      const ShadowWord::Note& write) {
  const ClusterState& cluster = *writer.block->cluster;
  const std::vector<Op>& ops = writer.ops();
  const Op& load = ops[read.op];
  if (read.actor >= warps_of(cluster) || !loads_registers(load)) return false;
  Warp& reader = *cluster.warps[read.actor];
  if (reader.last_run[read.op] != read.event) return false;  // it has read again
  reader.bad_values.resize(cluster.launch.program.register_slots.size());
  const BadValue& first = reader.bad_values[load.writes[0]];  // bad since another byte was written?
  if (first.lanes == ~0u && reader.bad_reads[first.read].op == &load) return true;
  std::vector<std::int32_t> holders = load.writes;
  const auto holds = [&](std::int32_t slot) { return std::ranges::count(holders, slot) > 0; };
  for (std::size_t before = 0; before != holders.size();) {
    before = holders.size();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (reader.last_run[i] < read.event || std::ranges::none_of(ops[i].reads, holds)) continue;
      if (!is_copy(ops[i])) return false;
      if (!holds(ops[i].writes[0])) holders.push_back(ops[i].writes[0]);
    }
  }
  std::string text = fmt::format("reads byte {} of shared memory, which {}; nothing orders the two",
                                 at, note_text(writer, write, true));
  note_bad_read(reader, {&load, FindingKind::race, std::move(text), read.lane}, holders, ~0u);
  return true;
}

/// What either way through a branch writes is as bad as what decides the way.
void take_bad_branch(Warp& warp, std::int32_t at, std::int32_t join, const BadValue& on) {
  const std::vector<Op>& ops = warp.ops();
  for (const Op& op : std::span(ops).subspan(at + 1, join - at - 1)) {
    for (const std::int32_t slot : op.writes) {
      BadValue& value = warp.bad_values[slot];
      value = {value.lanes | on.lanes, on.read};
    }
  }
  BadBranch& branch = warp.bad_branch;
  if (branch.on.lanes == 0) branch = {at, join, {}};
  branch = {std::min(branch.begin, at),
            std::max(branch.join, join),
            {branch.on.lanes | on.lanes, on.read}};
}

}  // namespace

std::string line_text(const Op& op) {
  const bool has_line = op.source != nullptr && op.source->line > 0;
  return has_line ? fmt::format(" (line {})", op.source->line) : "";
}

std::size_t num_actors(const ClusterState& cluster) {
  return warps_of(cluster) * 4 + kSignalActors;
}
std::uint32_t actor_of(const Warp& warp, Beside beside) {
  const Warp& first = beside == kProducts ? warp.block->warps[warp.index / 4 * 4] : warp;
  return index_of(first) + warps_of(*warp.block->cluster) * beside;
}
std::uint32_t signals_of(ClusterState& cluster, std::uint32_t mbarrier) {
  const auto next = static_cast<std::uint32_t>(cluster.signal_actors.size());
  const std::uint32_t number =
      cluster.signal_actors.try_emplace(mbarrier, next % kSignalActors).first->second;
  return warps_of(cluster) * 4 + number;
}

void note_access(Warp& warp, BlockState& block, int lane, std::size_t offset, std::uint32_t bytes,
                 Access access, const std::byte* written) {
  const Actor* const actor = warp.actor;
  const bool is_write = access == Access::write || access == Access::update;
  // A plain read may give atom.cas its first guess: the atomic finds out if the guess is old.
  const bool is_atomic = access == Access::update || access == Access::sync || warp.op->is_guess;
  const std::uint32_t index = actor != nullptr ? actor->index : index_of(warp);
  const Order& order = actor != nullptr ? *actor->order : warp.order;
  const bool is_async = actor != nullptr && actor->is_async;
  ShadowWord::Note note;
  note.event = actor != nullptr ? actor->event : warp.event;
  note.op = static_cast<std::uint32_t>(warp.op - warp.ops().data());
  note.actor = static_cast<std::uint16_t>(index);
  note.lane = static_cast<std::uint8_t>(lane);
  note.is_async = is_async;
  note.is_atomic = is_atomic;
  // Values that lanes load are followed to where something depends on them.
  const bool is_followed = access == Access::read && actor == nullptr && loads_registers(*warp.op);
  const auto is_ordered = [&](const ShadowWord::Note& before) {
    if (before.actor == index) {
      // Lanes of a warp, between two meetings.
      return actor != nullptr || before.event < note.event || before.lane == note.lane ||
             before.op == note.op;
    }
    // What the generic proxy wrote the async proxy sees through a fence.
    const bool needs_fence = is_async && !before.is_async && access != Access::sync;
    return before.event <= (needs_fence ? order.async : order.generic)[before.actor];
  };
  for (std::uint32_t done = 0; done < bytes;) {
    const std::size_t at = offset + done;
    const std::uint32_t in_word = std::min<std::uint32_t>(4 - at % 4, bytes - done);
    note.bytes = ((1u << in_word) - 1) << at % 4 & 0xf;
    done += in_word;
    ShadowWord& word = block.shadow[at / 4];
    const auto report = [&](const ShadowWord::Note& before, bool was_write) {
      if (!was_write && drop_unused_read(warp, before, at, note)) return;
      const bool lacks_fence =
          is_async && !before.is_async && was_write && before.event <= order.generic[before.actor];
      std::string text = fmt::format(
          "{} byte {} of shared memory, which {}; {}", is_write ? "writes" : "reads", at,
          note_text(warp, before, was_write),
          lacks_fence ? "no fence.proxy.async comes between" : "nothing orders the two");
      if (is_followed) {
        note_bad_read(warp, {warp.op, FindingKind::race, std::move(text), lane});
      } else {
        warp.report(FindingKind::race, text, lane);
      }
    };
    // Several may write the same: what is there already.
    if (written != nullptr && (note.bytes & ~word.initialised) == 0 &&
        are_same(block.shared.data() + at, written + (at - offset), in_word)) {
      continue;
    }
    const bool races = (word.write.bytes & note.bytes) != 0 &&
                       !(is_atomic && word.write.is_atomic) && !is_ordered(word.write);
    if (races) report(word.write, true);
    if (is_write) {
      for (const ShadowWord::Note& read : word.reads) {
        if ((read.bytes & note.bytes) == 0 || (is_atomic && read.is_atomic)) continue;
        // A write of the async proxy behind a read needs no fence.
        if (read.actor == index ? !is_ordered(read) : read.event > order.generic[read.actor]) {
          report(read, false);
        }
      }
      word.write = note;
      word.initialised |= note.bytes;
      continue;
    }
    if (access == Access::sync) continue;
    const bool is_initialised = (note.bytes & ~word.initialised) == 0;
    if (!is_initialised && is_followed && warp.block->cluster->launch.options.finds_uninitialised) {
      std::string text = fmt::format("reads byte {} of shared memory, which nobody wrote", at);
      note_bad_read(warp, {warp.op, FindingKind::uninitialised, std::move(text), lane});
    }
    // What is not to be used may be overwritten at any time.
    if (is_followed && (!is_initialised || races)) continue;
    ShadowWord::Note* place = nullptr;
    for (ShadowWord::Note& read : word.reads) {
      if (read.bytes == 0 || (read.actor == note.actor && read.bytes == note.bytes)) place = &read;
    }
    if (place == nullptr) place = &word.reads[word.next_read++ % 3];
    *place = note;
  }
}

void note_global(Warp& warp, int lane, const std::byte* at, std::uint32_t bytes,
                 const std::byte* written) {
  const MemoryRange* const range = warp.range;
  const auto address = reinterpret_cast<std::uint64_t>(at);
  if (range == nullptr || address < range->begin || address >= range->end) return;
  const BlockState& block = *warp.block;
  LaunchState& launch = block.cluster->launch;
  std::atomic<bool>& is_written = launch.is_written[range->begin / 512 % launch.is_written.size()];
  if (range->writes == nullptr || (written == nullptr && !is_written)) return;
  if (!is_written) is_written = true;
  const std::uint64_t cluster = block.cluster->index, cluster_blocks = volume(launch.shape.cluster);
  GlobalWrite now;
  now.block = static_cast<std::uint32_t>(block.cluster->number_of(block));
  now.time = static_cast<std::uint32_t>(launch.num_strong);
  now.launch = launch.number & 0xfff'ffffu;
  now.op = static_cast<std::uint32_t>(warp.op - warp.ops().data()) & 0x3f'ffffu;
  now.thread = (warp.first_thread() + lane) & 0x3ffu;
  const auto& last = launch.last_strong;
  std::unique_lock<std::mutex> lock;
  for (std::uint32_t done = 0; done < bytes;) {
    const std::size_t offset = address - range->begin + done;
    const std::uint32_t in_word = std::min<std::uint32_t>(4 - offset % 4, bytes - done);
    if (done == 0 || offset % 32 == 0) {
      lock = {};  // never two at once
      lock = std::unique_lock(launch.write_locks[offset / 32 % launch.write_locks.size()]);
    }
    GlobalWrite& word = range->writes[offset / 4];
    const GlobalWrite before = word;
    now.bytes = ((1u << in_word) - 1) << offset % 4 & 0xf;
    const bool is_other = before.launch == now.launch && (before.bytes & now.bytes) != 0 &&
                          before.block / cluster_blocks != cluster;
    // Several blocks may write the same, and then read it.
    const bool is_same = written != nullptr && are_same(at + done, written + done, in_word);
    if (is_other && is_same) word.bytes = 0;
    if (written != nullptr && !is_same) word = now;
    done += in_word;
    if (!is_other || is_same) continue;
    const std::uint64_t of_earlier = last[before.block / cluster_blocks % last.size()];
    if (std::min<std::uint64_t>(of_earlier, last[cluster % last.size()]) > before.time) continue;
    const Op& earlier = warp.ops()[before.op];
    std::string text = fmt::format(
        "{} {} bytes at {:#x}, which {}{} of block ({}), thread ({}) wrote; nothing orders the two",
        written != nullptr ? "writes" : "reads", bytes, address, earlier.source->opcode,
        line_text(earlier), fmt::join(launch.shape.block_of(before.block), ","),
        fmt::join(place_in(launch.shape.block, before.thread), ","));
    if (written != nullptr) return warp.report(FindingKind::race, text, lane);
    // A step of a sort in place reads pairs, and leaves those alone that other blocks sort.
    return note_bad_read(warp, {warp.op, FindingKind::race, std::move(text), lane, true});
  }
}

void note_strong(Warp& warp) {
  if (warp.op->at.window == Window::shared) return;
  const ClusterState& cluster = *warp.block->cluster;
  LaunchState& launch = cluster.launch;
  launch.last_strong[cluster.index % launch.last_strong.size()] = ++launch.num_strong;
}

void release(Warp& warp, SyncPoint& point, bool is_relaxed) {
  if (is_relaxed) {
    if (warp.fenced != nullptr) point.arriving.join(*warp.fenced);
    return;
  }
  point.arriving.join(warp.order);
  order_lanes(warp);
}

void complete_phase(SyncPoint& point) { point.complete = point.arriving; }

void acquire(Warp& warp, const SyncPoint& point) {
  warp.order.join(point.complete);
  warp.order_before = nullptr;
}

void order_lanes(Warp& warp) {
  warp.event = warp.order.generic.advance(index_of(warp));
  warp.order_before = nullptr;
}

void fence_async(Warp& warp) {
  warp.order.async.join(warp.order.generic);
  order_lanes(warp);
}

std::shared_ptr<const Order> order_now(Warp& warp) {
  if (warp.order_before == nullptr) warp.order_before = std::make_shared<const Order>(warp.order);
  return warp.order_before;
}

void order_work(Warp& warp, std::uint32_t actor, std::uint32_t event) {
  warp.order.generic.raise(actor, event);
  warp.order_before = nullptr;
}

void follow_bad_values(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::vector<Op>& ops = warp.ops();
  const auto at = static_cast<std::int32_t>(&op - ops.data());
  BadBranch& branch = warp.bad_branch;
  if (at <= branch.begin || at >= branch.join) branch.on.lanes &= ~lanes;
  BadValue used;
  const bool selects = op.source != nullptr && op.source->opcode.starts_with("selp");
  for (const std::int32_t slot : op.reads) {
    BadValue value = warp.bad_values[slot];
    if (value.lanes == 0) continue;
    const std::uint32_t yes = selects ? warp.predicate(op.c) : 0;
    if (selects && slot == op.a && slot != op.b) value.lanes &= yes;
    if (selects && slot == op.b && slot != op.a) value.lanes &= ~yes;
    used = {used.lanes | value.lanes, value.read};
  }
  const bool is_received = op.control == Control::meet && used.lanes != 0;
  used.lanes = lanes & (is_received ? received(warp, op, used.lanes, lanes) : used.lanes);
  const bool is_jump = op.control == Control::branch || op.control == Control::table;
  if (is_jump && used.lanes != 0 && warp.bad_reads[used.read].may_decide) used.lanes = 0;
  if (used.lanes != 0 && (is_jump ? decides_effect(ops, op) : has_effect(op))) {
    const BadRead& read = warp.bad_reads[used.read];
    warp.op = read.op;
    warp.report(read.kind, read.text, read.lane);
    warp.op = &op;
  } else if (used.lanes != 0 && is_jump && op.join > at) {  // else what lies between is not known
    take_bad_branch(warp, at, op.join, used);
  }
  if (const std::uint32_t decided = branch.on.lanes & lanes; decided != 0) {
    used = {used.lanes | decided, branch.on.read};
  }
  for (const std::int32_t slot : op.writes) {
    BadValue& value = warp.bad_values[slot];
    value = {(value.lanes & ~lanes) | used.lanes, used.lanes != 0 ? used.read : value.read};
  }
}

}  // namespace assay::emulator
