#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// Races in shared memory, by vector clocks. An actor is a warp, or what works beside a warp: its
// cp.async, its bulk stores, the products of its warpgroup, the copies that signal an mbarrier. A
// clock says up to which event of each actor all is ordered before. Two accesses to a word race if
// one writes and the later actor's clock does not reach the earlier access. Few readers of a word
// are remembered, so that a race may be missed, but none is made up.

namespace assay::emulator {

struct Warp;
struct BlockState;
struct ClusterState;
struct Op;
enum class Access : std::uint8_t;

/// What is ordered before: the events of each actor.
class Clock {
 public:
  Clock() = default;
  explicit Clock(std::size_t num_actors) : events_(num_actors) {}

  std::uint32_t operator[](std::size_t actor) const { return events_[actor]; }
  std::uint32_t advance(std::size_t actor) { return ++events_[actor]; }
  void raise(std::size_t actor, std::uint32_t event) {
    if (events_[actor] < event) events_[actor] = event;
  }
  void join(const Clock& other) {
    if (events_.empty()) events_.resize(other.events_.size());
    for (std::size_t i = 0; i < other.events_.size(); ++i) raise(i, other.events_[i]);
  }

 private:
  std::vector<std::uint32_t> events_;
};

/// What is ordered before a place in the program, for either proxy.
struct Order {
  Clock generic;
  Clock async;

  void join(const Order& other) {
    generic.join(other.generic);
    async.join(other.async);
  }
};

/// Who accesses memory instead of a warp's lanes.
struct Actor {
  std::uint32_t index = 0;
  std::uint32_t event = 0;
  bool is_async = false;               // of the async proxy
  std::shared_ptr<const Order> order;  // when it began
};

/// Where arrivals leave what is ordered before them: a barrier, an mbarrier, a word of atomics.
struct SyncPoint {
  Order arriving;
  Order complete;  // of the phases that are over
};

/// Accesses to four bytes of shared memory.
struct ShadowWord {
  struct Note {
    std::uint32_t event = 0;
    std::uint32_t op = 0;  // an index of the program
    std::uint16_t actor = 0;
    std::uint8_t lane = 0;
    std::uint8_t bytes : 4 = 0;  // a bit for each; 0: none
    bool is_async : 1 = false, is_atomic : 1 = false;
  };
  Note write;
  Note reads[3];
  std::uint8_t next_read = 0;
  std::uint8_t initialised = 0;  // a bit for each byte
};

/// " (line 12)" of the source, or nothing.
std::string line_text(const Op& op);

/// The actors of a cluster.
std::size_t num_actors(const ClusterState& cluster);
/// Actors beside a warp's lanes: its cp.async and bulk stores, and the wgmma of the warpgroup.
enum Beside : std::uint32_t { kCopies = 1, kBulkStores = 2, kProducts = 3 };
std::uint32_t actor_of(const Warp& warp, Beside beside);
std::uint32_t signals_of(ClusterState& cluster, std::uint32_t mbarrier);

/// Notes an access to shared memory of a block, and reports a race, or bytes that nobody wrote. No
/// race is a write of what is there already: `written`, null where that is not known.
void note_access(Warp& warp, BlockState& block, int lane, std::size_t offset, std::uint32_t bytes,
                 Access access, const std::byte* written);

/// Notes a plain access to global memory (of bytes that are `written` there next; null: they are
/// read), and reports one to what another cluster wrote without an order between: since the write,
/// one of the two clusters had no strong access, atomic or fence. That is less than the order that
/// PTX asks for, so that a race may be missed, but none is made up.
void note_global(Warp& warp, int lane, const std::byte* at, std::uint32_t bytes,
                 const std::byte* written);
/// Notes a strong access, an atomic or a fence: the warp may have released or acquired by it.
void note_strong(Warp& warp);

/// A warp arrives at a sync point: what it did, or (relaxed) did ahead of its last fence, is
/// ordered before those that leave it.
void release(Warp& warp, SyncPoint& point, bool is_relaxed = false);
/// All that arrived is ordered before those that leave from now on.
void complete_phase(SyncPoint& point);
/// A warp leaves a sync point.
void acquire(Warp& warp, const SyncPoint& point);
/// Lanes of a warp met.
void order_lanes(Warp& warp);
/// What is ordered before is so for the async proxy, too.
void fence_async(Warp& warp);
/// The order at this moment.
std::shared_ptr<const Order> order_now(Warp& warp);
/// What a warp did beside its lanes is complete up to an event.
void order_work(Warp& warp, std::uint32_t actor, std::uint32_t event);

}  // namespace assay::emulator
