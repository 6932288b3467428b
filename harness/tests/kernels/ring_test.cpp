#include "common/wgmma/ring.cuh"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

namespace {

template <int kStages>
void walk() {
  RingPlace<kStages> place;
  for (int step = 0; step < 100; ++step) {
    EXPECT_EQ(place.stage, step % kStages);
    EXPECT_EQ(place.parity, static_cast<unsigned>(step / kStages % 2)) << "step " << step;
    place.advance();
  }
}

TEST(RingPlace, GoesAroundAndFlipsItsParityEachTime) {
  walk<1>();
  walk<2>();
  walk<3>();
  walk<8>();
}

TEST(RingPlace, SkipIsAsManyAdvances) {
  for (int start = 0; start < 12; ++start) {
    for (int count = 0; count < 40; ++count) {
      RingPlace<5> stepped, skipped;
      for (int i = 0; i < start; ++i) {
        stepped.advance();
        skipped.advance();
      }
      for (int i = 0; i < count; ++i) stepped.advance();
      skipped.skip(count);
      ASSERT_EQ(skipped.stage, stepped.stage) << start << " + " << count;
      ASSERT_EQ(skipped.parity, stepped.parity) << start << " + " << count;
    }
  }
}

/// The ring of wgmma/loop.cuh as its barriers see it: a producer, copies that land in any order,
/// and two warpgroups that take every other tile. explore() tries every interleaving of their
/// steps.
template <int kStages>
class RingModel {
 public:
  RingModel(int tiles, int slices, bool turns) : tiles_(tiles), slices_(slices), turns_(turns) {}

  /// What goes wrong in some interleaving: "stale" when a slice is taken before it has landed,
  /// "stuck" when nobody can go on; empty when nothing does.
  std::string explore() {
    std::vector<State> open = {State{}};
    std::set<State> seen = {open.front()};
    while (!open.empty()) {
      const State state = open.back();
      open.pop_back();
      next_.clear();
      produce(state);
      land(state);
      for (const int group : {0, 1}) consume(state, group);
      if (stale_) return "stale";
      if (next_.empty() && !finished(state)) return "stuck";
      for (const State& next : next_) {
        if (seen.insert(next).second) open.push_back(next);
      }
    }
    return "";
  }

 private:
  enum Step { take, wait, multiply, last_release };
  struct Group {
    int tile = 0, slice = 0;
    Step step = take;
    bool full = false;  // it has seen that the slice has landed
    auto operator<=>(const Group&) const = default;
  };
  struct State {
    int produced = 0;                    // slices whose copies have been started
    std::set<int> flying;                // those that have not landed
    std::array<int, kStages> full = {};  // phases completed, of each stage's barriers
    std::array<int, kStages> empty = {};
    std::array<bool, 2> turn = {true, false};
    std::array<Group, 2> groups = {Group{0}, Group{1}};
    auto operator<=>(const State&) const = default;
  };

  static RingPlace<kStages> place_of(int slice) {
    RingPlace<kStages> place;
    place.skip(slice);
    return place;
  }
  /// mbarrier_try_wait: whether the phase before the current one has this parity.
  static bool completed(int phases, unsigned parity) {
    return static_cast<unsigned>(phases) % 2 != parity;
  }
  bool finished(const State& state) const {
    return state.produced == tiles_ * slices_ && state.groups[0].tile >= tiles_ &&
           state.groups[1].tile >= tiles_;
  }

  void produce(State state) {
    const RingPlace<kStages> place = place_of(state.produced);
    if (state.produced == tiles_ * slices_) return;
    if (!completed(state.empty[place.stage], place.parity ^ 1)) return;
    state.flying.insert(state.produced++);
    next_.push_back(state);
  }

  void land(const State& state) {
    for (const int slice : state.flying) {
      State next = state;
      next.flying.erase(slice);
      ++next.full[place_of(slice).stage];
      next_.push_back(next);
    }
  }

  void consume(State state, int index) {
    Group& group = state.groups[index];
    if (group.tile >= tiles_) return;
    const int slice = group.tile * slices_ + group.slice;
    const RingPlace<kStages> place = place_of(slice);
    const auto sees = [&](int of_slice) {
      const RingPlace<kStages> at = place_of(of_slice);
      return completed(state.full[at.stage], at.parity);
    };
    switch (group.step) {
      case take:
        if (turns_ && !state.turn[index]) return;
        state.turn[index] = false;
        group.step = wait;
        break;
      case wait:
        if (!group.full && !sees(slice)) return;
        stale_ = stale_ || state.full[place.stage] != slice / kStages + 1;
        if (group.slice + 1 == slices_) state.turn[1 - index] = true;
        group.step = multiply;
        break;
      case multiply:  // in its middle: lets go of the slice before, looks at the next
        if (group.slice > 0) ++state.empty[place_of(slice - 1).stage];
        if (group.slice + 1 < slices_) {
          group = {group.tile, group.slice + 1, wait, sees(slice + 1)};
        } else {
          group.step = last_release;
        }
        break;
      case last_release:
        ++state.empty[place.stage];
        group = {group.tile + 2};
        break;
    }
    next_.push_back(state);
  }

  int tiles_, slices_;
  bool turns_;
  bool stale_ = false;
  std::vector<State> next_;
};

template <int kStages>
void expect_no_stale_slice() {
  for (const int slices : {1, 2, 3, kStages, kStages + 1, 2 * kStages + 1}) {
    EXPECT_EQ(RingModel<kStages>(4, slices, true).explore(), "")
        << kStages << " stages, " << slices << " slices";
  }
}

TEST(RingModel, WithTurnsNobodyTakesAnOldSliceWhateverTheOrder) {
  expect_no_stale_slice<2>();
  expect_no_stale_slice<3>();
  expect_no_stale_slice<4>();
  expect_no_stale_slice<5>();
}

// Why there are turns: without them, the consumer that waits is a round ahead, where parities
// repeat.
TEST(RingModel, WithoutTurnsAnOldSliceIsTaken) {
  EXPECT_EQ(RingModel<3>(4, 4, false).explore(), "stale");
}

}  // namespace
