#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/draw.h"
#include "emulator/machine.h"
#include "emulator/program.h"
#include "emulator/shadow.h"

// What runs: a cluster of blocks of warps. One thread of this process runs a cluster.

namespace assay::emulator {

/// The launch cannot go on; its finding is reported.
struct StopLaunch {};

/// What all threads of this process have in common.
struct LaunchState {
  const PtxModule& module;
  const Program& program;
  const LaunchShape& shape;
  const MachineOptions& options;
  const Memory& memory;
  std::span<const std::byte> parameters;
  std::mutex mutex = {};  // of the three
  LaunchOutcome outcome = {};
  std::map<std::pair<const Op*, FindingKind>, int> reported = {};
  std::atomic<bool> has_stopped = false;
  // For note_global().
  static inline std::atomic<std::uint32_t> num_launches = 0;
  std::uint32_t number = ++num_launches;
  std::atomic<std::uint64_t> num_strong = 0;                      // strong accesses so far
  std::array<std::atomic<std::uint64_t>, 4096> last_strong = {};  // of each cluster; some share
  std::array<std::atomic<bool>, 256> is_written = {};             // of each range; some share
  std::array<std::mutex, 64> write_locks = {};                    // of 32 bytes each; some share

  /// Keeps a finding, one of a kind for each instruction. Throws StopLaunch where nothing can go on
  /// behind it, and when there are as many as options allow.
  void report(FindingKind kind, const std::string& text, const Op* op, const BlockState* block,
              std::uint32_t thread);
};

/// Why lanes do not go on.
struct Waiting {
  enum class For : std::uint8_t { nothing, lanes, barrier, cluster, phase, warpgroup };
  For what = For::nothing;
  std::uint32_t lanes = 0, members = 0;
  std::uint32_t id = 0, parity = 0;  // of a barrier; an address of an mbarrier
  std::uint64_t generation = 0;
};

/// Lanes of a warp that are at the same instruction.
struct Fragment {
  std::int32_t pc = 0;
  std::uint32_t lanes = 0;
  std::int32_t join = -1;  // of Warp::joins: where they meet others
  Waiting waiting = {};
};

/// What wgmma needs to know of a register that it uses.
struct RegisterUse {
  std::uint64_t touched = 0;     // Warp::fences when something else wrote it
  std::uint64_t written_by = 0;  // the last product, counted from 1, that writes it
  std::uint64_t read_by = 0;     // likewise, that reads it
};

/// A read that races, or of what nobody wrote. Nothing depends on the value so far.
struct BadRead {
  const Op* op = nullptr;
  FindingKind kind = FindingKind::race;
  std::string text;
  int lane = 0;             // that read
  bool may_decide = false;  // a branch that depends on the value alone is no finding
};
/// Lanes of a slot whose values depend on a bad read.
struct BadValue {
  std::uint32_t lanes = 0;
  std::uint32_t read = 0;  // an index of Warp::bad_reads
};

/// Between the branch at `begin` and `join`, what `on` names decides which way its lanes go.
struct BadBranch {
  std::int32_t begin = 0, join = 0;  // indices of ops
  BadValue on = {};
};

/// A product of a warpgroup. It is carried out once all four warps have begun it.
struct WarpgroupWork {
  const Op* op = nullptr;
  std::uint32_t begun = 0;     // warps of the four
  std::uint64_t a = 0, b = 0;  // descriptors
  bool accumulates = true;
  Order order = {};  // of all four
};
struct Warpgroup {
  std::vector<WarpgroupWork> work = {};  // from num_done on
  std::uint64_t num_done = 0;
};

/// Where lanes that parted meet again.
struct Join {
  std::int32_t pc = -1;
  std::int32_t parent = -1;
  std::uint32_t expected = 0;
  std::uint32_t arrived = 0;
  bool in_use = false;
};

struct Warp {
  BlockState* block = nullptr;
  std::uint32_t index = 0;  // in the block
  std::uint32_t* slots = nullptr;
  const std::uint32_t* constants = nullptr;
  const std::vector<Op>* program_ops = nullptr;
  std::byte* local = nullptr;  // of each lane, one after the other
  std::uint32_t alive = 0;     // lanes that have not ended
  std::vector<Fragment> fragments = {};
  std::vector<Join> joins = {};
  bool has_polled = false;               // asked for something that had not happened
  std::uint64_t last_polled = 0;         // the cluster's round of it
  std::uint64_t last_meeting = 0;        // counts.instructions when lanes last arrived at a join
  std::vector<std::int32_t> apart = {};  // joins (their pc) at which lanes do not wait any more
  const Op* op = nullptr;                // that is carried out
  std::uint32_t event = 0;               // that the clocks call what its lanes do now
  std::vector<std::uint32_t> last_run = {};  // of each op: the event in which it was carried out
  std::uint32_t cluster_arrived = 0;         // lanes at the cluster's barrier
  std::uint64_t cluster_generation = 0;      // at which it arrived
  // Of kCopies and kBulkStores: how many have begun, and how many had at each commit.
  std::array<std::uint32_t, 3> num_copies = {};
  std::array<std::vector<std::uint32_t>, 3> copy_groups = {};
  Order order = {};                                     // what is ordered before it
  std::shared_ptr<const Order> order_before = nullptr;  // a copy of it
  const Actor* actor = nullptr;                         // who works for it; null: its lanes
  std::shared_ptr<const Order> fenced = nullptr;        // at its last fence or membar
  std::uint32_t carry = 0;                              // of add.cc
  std::uint64_t num_products = 0;                       // of wgmma, begun
  std::vector<std::uint64_t> product_groups = {};       // how many had begun at each commit_group
  std::uint64_t num_waited = 0;                         // products that it waited for
  std::uint64_t fences = 1;                             // wgmma.fence
  std::map<std::int32_t, RegisterUse> wgmma_registers = {};
  std::vector<BadRead> bad_reads = {};
  std::vector<BadValue> bad_values = {};  // by slot; empty: none was ever read
  BadBranch bad_branch = {};              // the outermost
  const MemoryRange* range = nullptr;     // of the access before
  LaunchCounts counts = {};

  std::uint32_t* at(std::int32_t slot) { return slots + static_cast<std::ptrdiff_t>(slot) * 32; }
  const std::uint32_t* in(std::int32_t slot) const {
    return slot >= 0 ? slots + static_cast<std::ptrdiff_t>(slot) * 32
                     : constants + static_cast<std::ptrdiff_t>(~slot) * 32;
  }
  /// The lanes of a predicate, which are the first word of its slot; of ~slot the others.
  std::uint32_t predicate(std::int32_t slot) const { return slot >= 0 ? *in(slot) : ~*in(~slot); }
  void set_predicate(std::int32_t slot, std::uint32_t lanes, std::uint32_t values) {
    std::uint32_t& all = *at(slot);
    all = (all & ~lanes) | (values & lanes);
  }
  /// The bits of a lane in a slot of 64 or 32 bits; what is put into no slot vanishes.
  std::uint64_t get(std::int32_t slot, int lane, bool is_wide) const {
    if (!is_wide) return in(slot)[lane];
    return reinterpret_cast<const std::uint64_t*>(in(slot))[lane];
  }
  void put(std::int32_t slot, int lane, bool is_wide, std::uint64_t bits) {
    if (slot == kNoSlot) return;
    if (!is_wide) {
      at(slot)[lane] = static_cast<std::uint32_t>(bits);
    } else {
      reinterpret_cast<std::uint64_t*>(at(slot))[lane] = bits;
    }
  }
  /// Puts the same into all of some lanes.
  void put_all(std::int32_t slot, std::uint32_t lanes, std::uint32_t bits) {
    for (; lanes != 0 && slot != kNoSlot; lanes &= lanes - 1) {
      at(slot)[std::countr_zero(lanes)] = bits;
    }
  }
  std::uint32_t first_thread() const { return index * 32; }
  const std::vector<Op>& ops() const { return *program_ops; }
  void report(FindingKind kind, const std::string& text, int lane = 0);
  template <class... A>
  void misuse(int lane, fmt::format_string<A...> text, A&&... values) {
    report(FindingKind::misuse, fmt::format(text, std::forward<A>(values)...), lane);
  }
  /// Something happened that others may wait for.
  void progress();
};

/// A barrier of a block (bar.sync 0 to 15).
struct NamedBarrier {
  std::uint64_t generation = 0;
  std::uint32_t expected = 0;               // threads; 0: all of the block
  std::vector<std::uint32_t> arrived = {};  // lanes of each warp
  static constexpr std::array<std::uint32_t, 3> kOfNone = {0, ~0u, 0};
  std::array<std::uint32_t, 3> reduced = kOfNone, result = {};  // of bar.red: popc, and, or
  SyncPoint point = {};
};

struct BlockState {
  ClusterState* cluster = nullptr;
  Extents index = {};
  std::uint32_t rank = 0;  // in the cluster
  std::uint32_t num_threads = 0;
  std::vector<std::byte> shared = {};
  std::vector<ShadowWord> shadow = {};      // of each word of it
  std::vector<std::uint32_t> storage = {};  // slots and predicates of its warps
  std::vector<std::byte> local = {};
  std::vector<Warp> warps = {};
  std::array<NamedBarrier, 16> barriers = {};
  std::vector<Warpgroup> warpgroups = {};

  /// Completes a barrier for which nobody is missing any more.
  void check_barrier(NamedBarrier& barrier);
};

/// Registers of blocks that have ended, all zero: most of a program's are never written.
using SpareRegisters = std::vector<std::vector<std::uint32_t>>;

/// A copy or a product that has begun and is not complete.
struct PendingWork {
  std::uint32_t actor = 0;
  std::uint32_t number = 0;  // of what the actor has begun, from 1
  std::function<void()> complete;
};

struct ClusterState {
  LaunchState& launch;
  std::uint64_t index;  // in the grid
  Random random;
  // A time, which tells a kernel nothing. One that asked a bit of it whether to work was right
  // where each cluster began at 0.
  std::uint64_t begun_at = random() >> 32;
  std::vector<std::unique_ptr<BlockState>> blocks = {};
  std::vector<Warp*> warps = {};  // of all blocks
  std::vector<PendingWork> pending = {};
  std::uint64_t barrier_generation = 0;
  SyncPoint barrier_point = {};
  std::map<std::uint64_t, SyncPoint> points = {};  // by address: mbarriers, words of atomics
  std::map<std::uint32_t, std::uint32_t> signal_actors = {};  // of mbarriers
  std::map<std::uint32_t, std::uint32_t> signal_events = {};  // by actor
  std::uint64_t num_progress = 0;
  std::uint64_t round = 0;
  std::uint64_t last_progress = 0;  // the round of it
  std::uint64_t counted = 0;        // instructions, for the launch's limit

  ClusterState(LaunchState& of_launch, std::uint64_t index_of, SpareRegisters& spare);
  std::uint64_t number_of(const BlockState& block) const;  // in the grid
  LaunchCounts counts() const;
  /// Of one that has ended: local memory stays for the next launch, registers for the next cluster.
  void leave(SpareRegisters& spare);
  /// Runs each warp for a while; false: all have ended. Reports a deadlock.
  bool run_round();
  void check_cluster_barrier();
  /// Completes what has begun in all that `chosen` says.
  template <class Chosen>
  void complete(Chosen chosen);
  bool complete_any();
  /// Who waits for what.
  std::string waiting_text() const;
};

/// Runs a warp for at most `budget` instructions; false: it did nothing.
bool run_warp(Warp& warp, int budget);

/// Reports bulk stores that may still read the shared memory of a warp that has ended.
void check_bulk_stores(Warp& warp);

bool is_shuffle(const Op& op);
/// From which lane each lane of a shuffle gets a value. `valid`: lanes whose source is in range.
std::array<int, 32> shuffle_sources(const Warp& warp, const Op& op, std::uint32_t lanes,
                                    std::uint32_t& valid);

/// From one register to another.
bool is_copy(const Op& op);

/// Reports an access to registers that a product of wgmma has not given back.
void check_wgmma_registers(Warp& warp, const Op& op);

/// Reports a bad read whose value decides what an instruction does beside writing registers; else
/// what it writes is as bad as what it reads. Called ahead of each instruction of such a warp.
void follow_bad_values(Warp& warp, const Op& op, std::uint32_t lanes);

template <class Chosen>
void ClusterState::complete(Chosen chosen) {
  if (std::ranges::none_of(pending, chosen)) return;
  std::vector<PendingWork> now, later;
  for (PendingWork& work : pending) (chosen(work) ? now : later).push_back(std::move(work));
  pending = std::move(later);
  for (const PendingWork& work : now) work.complete();
  num_progress += now.size();
}

/// The lanes of a mask: for (const int lane : Lanes(mask)).
class Lanes {
 public:
  explicit Lanes(std::uint32_t mask) : left_(mask) {}
  Lanes begin() const { return *this; }
  std::default_sentinel_t end() const { return {}; }
  int operator*() const { return std::countr_zero(left_); }
  void operator++() { left_ &= left_ - 1; }
  bool operator==(std::default_sentinel_t) const { return left_ == 0; }

 private:
  std::uint32_t left_;
};

/// The lanes, of all 32, that holds(lane) is true of.
template <class F>
std::uint32_t lanes_where(F holds) {
  std::uint32_t lanes = 0;
  for (int lane = 0; lane < 32; ++lane) lanes |= std::uint32_t{holds(lane)} << lane;
  return lanes;
}

template <class T>
using Stored = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
const Stored<T>* lanes_in(const Warp& warp, std::int32_t slot) {
  return reinterpret_cast<const Stored<T>*>(warp.in(slot));
}
template <class T>
Stored<T>* lanes_out(Warp& warp, std::int32_t slot) {
  return reinterpret_cast<Stored<T>*>(warp.at(slot));
}
template <class T>
T from_stored(Stored<T> bits) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<T>(bits);
  } else {
    return static_cast<T>(bits);
  }
}
template <class T>
Stored<T> to_stored(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<Stored<T>>(value);
  } else {
    return static_cast<Stored<T>>(static_cast<std::make_unsigned_t<T>>(value));
  }
}

/// Calls f(lane) for each lane. Lanes are independent, so that the loop over all may be vectorised.
template <class F>
inline void each_lane(std::uint32_t lanes, F f) {
  if (lanes == ~0u) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (int lane = 0; lane < 32; ++lane) f(lane);
    return;
  }
  for (const int lane : Lanes(lanes)) f(lane);
}

}  // namespace assay::emulator
