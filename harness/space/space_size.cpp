// Counting and drawing. Both go by the groups of parameters that constraints tie to each other: a
// space of 10^12 points in three groups is counted in three short walks.
#include <algorithm>
#include <set>

#include "base/elapsed.h"
#include "space/space_parts.h"

namespace assay {
namespace {

// A group with so many valid points is drawn from a list of them, each as likely as any other.
constexpr std::size_t kMostListed = 200'000;
constexpr std::uint64_t kListingSteps = 5'000'000;
// What else is drawn costs so many steps at most: each at 20 to 100 ns. Where the constraints leave
// little, a descent with drawn values may have no end in sight.
constexpr std::uint64_t kDrawingSteps = 20'000'000, kStepsOfDescent = 200'000;
constexpr int kMostLostDescents = 20;

/// A group of parameters that was walked over.
struct Counted {
  std::uint64_t raw = 0, valid = 0;
  std::vector<std::uint64_t> removed;  // by constraint
};

}  // namespace

/// The first constraint that fails, in the order of the walk over all parameters, removes a point.
/// So what a constraint removes of its group counts once for each choice of the other groups that
/// passes all constraints ahead of it.
Space::Size Space::size(std::uint64_t max_steps, double max_seconds) const {
  const auto start = std::chrono::steady_clock::now();
  const Impl& impl = *impl_;
  Size size;
  size.raw = impl.raw(impl.all_params());
  for (const Impl::Constraint& constraint : impl.constraints) {
    size.removed.push_back({constraint.expr.text(), 0});
  }
  Walk root(impl, {});
  bool any = false;
  root.run({}, [&](const std::vector<int>&) { return any = true; });
  if (!any) {
    for (std::size_t i = 0; i < size.removed.size(); ++i) {
      if (root.removed()[i] > 0) size.removed[i].points = size.raw;
    }
    return size;
  }
  const auto groups = impl.groups();
  std::vector<Counted> counted;
  size.valid = 1;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto num_left = static_cast<std::uint64_t>(groups.size() - i);
    const WalkLimits limits{(max_steps - std::min(max_steps, size.steps)) / num_left,
                            (max_seconds - seconds_since(start)) / static_cast<double>(num_left)};
    Counted& group = counted.emplace_back();
    group.raw = impl.raw(groups[i]);
    Walk walk(impl, groups[i]);
    const bool ended = walk.run(limits, [&](const std::vector<int>&) {
      ++group.valid;
      return true;
    });
    size.whole = size.whole && ended;
    size.steps += walk.num_steps();
    size.valid = saturating_multiply(size.valid, group.valid);
    group.removed = walk.removed();
  }
  for (std::size_t i = 0; size.whole && i < impl.constraints.size(); ++i) {
    const auto key = [&](std::size_t constraint) {
      const auto& params = impl.constraints[constraint].params;
      return std::pair(Impl::level_of(params), constraint);
    };
    std::uint64_t points = 1;
    for (const Counted& group : counted) {
      if (group.removed[i] > 0) {
        points = saturating_multiply(points, group.removed[i]);
        continue;
      }
      std::uint64_t passing = group.raw;
      for (std::size_t other = 0; other < impl.constraints.size(); ++other) {
        if (key(other) < key(i)) passing -= std::min(passing, group.removed[other]);
      }
      points = saturating_multiply(points, passing);
    }
    const bool removes =
        std::ranges::any_of(counted, [&](const Counted& group) { return group.removed[i] > 0; });
    size.removed[i].points = removes ? points : 0;
  }
  return size;
}

std::string Space::widest_param() const {
  const auto& params = impl_->kernel.params;
  const auto widest = std::ranges::max_element(
      params, [](const auto& a, const auto& b) { return a.values.size() < b.values.size(); });
  return widest == params.end() ? "" : widest->name;
}

std::vector<std::vector<int>> Space::draw(std::size_t count, std::uint64_t seed,
                                          double max_seconds) const {
  const auto start = std::chrono::steady_clock::now();
  const Impl& impl = *impl_;
  struct Source {
    std::vector<std::size_t> params;
    Walk walk;
    std::vector<std::vector<int>> listed = {};  // all valid points of the group, if they are few
  };
  std::vector<Source> sources;
  for (const auto& group : impl.groups()) {
    Source& source = sources.emplace_back(Source{group, Walk(impl, group)});
    const bool ended =
        source.walk.run({kListingSteps, max_seconds / 4}, [&](const std::vector<int>& point) {
          source.listed.push_back(point);
          return source.listed.size() <= kMostListed;
        });
    if (ended && source.listed.empty()) return {};
    if (!ended || source.listed.size() > kMostListed) source.listed.clear();
  }
  Random random(seed);
  std::set<std::vector<int>> drawn;
  std::uint64_t steps_left = kDrawingSteps;
  int num_lost = 0;
  const auto draw_group = [&](Source& source, std::vector<int>& point) {
    const auto take = [&](const std::vector<int>& from) {
      for (const std::size_t param : source.params) point[param] = from[param];
      return false;
    };
    if (!source.listed.empty()) {
      take(source.listed[below(random, source.listed.size())]);
      return true;
    }
    const std::uint64_t before = source.walk.num_steps();
    const bool found = source.walk.run({std::min(steps_left, kStepsOfDescent)}, take, &random);
    steps_left -= std::min(steps_left, source.walk.num_steps() - before);
    return found;
  };
  // Few of what is drawn in a large space is drawn twice.
  for (std::size_t tries = 0; drawn.size() < count && tries < 2 * count; ++tries) {
    if (steps_left == 0 || seconds_since(start) > max_seconds / 2) break;
    std::vector<int> point(impl.params.size());
    const bool found =
        std::ranges::all_of(sources, [&](Source& source) { return draw_group(source, point); });
    if (found) drawn.insert(std::move(point));
    if (!found && ++num_lost == kMostLostDescents) break;
  }
  if (drawn.size() < count) {  // the first ones are better than none
    const WalkLimits limits{kDrawingSteps, max_seconds / 4};
    Walk(impl, impl.all_params()).run(limits, [&](const std::vector<int>& point) {
      drawn.insert(point);
      return drawn.size() < count;
    });
  }
  return {drawn.begin(), drawn.end()};
}

}  // namespace assay
