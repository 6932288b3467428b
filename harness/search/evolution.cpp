// A genetic algorithm. Of two random members of the population the faster becomes a parent, a child
// takes each parameter from one of its two parents, and a few of its parameters change. The fastest
// of members and children are the next population.
//
// As in local.cpp, the search is run from its start at every call, and what is known answers it.
#include <algorithm>
#include <vector>

#include "base/draw.h"
#include "search/strategies.h"

namespace assay {
namespace {

constexpr int kMaxGenerations = 200;  // of which most ask for nothing new: the rest is drawn
constexpr int kTriesPerChild = 20;    // most children of two valid parents may be invalid

/// A child of two members, or a neighbour of the first where none is valid.
std::size_t child_of(std::size_t mother, std::size_t father, const Points& points, Random& random) {
  std::vector<int> child(points.num_values().size());
  const double change_ratio = 1.0 / static_cast<double>(std::max<std::size_t>(child.size(), 1));
  for (int i = 0; i < kTriesPerChild; ++i) {
    for (std::size_t param = 0; param < child.size(); ++param) {
      child[param] = points[below(random, 2) ? mother : father][param];
      if (uniform(random) < change_ratio) {
        const auto num_values = static_cast<std::size_t>(points.num_values()[param]);
        child[param] = static_cast<int>(below(random, num_values));
      }
    }
    const auto found = points.find(child);
    if (found && *found != mother && *found != father) return *found;
  }
  const std::vector<std::size_t> around = points.neighbours(mother);
  return around.empty() ? mother : around[below(random, around.size())];
}

}  // namespace

void propose_evolution(const SearchSpec& search, Trail& trail) {
  Random random(search.seed);
  std::vector<std::size_t> population = trail.start(search);
  const std::size_t size = population.size();
  if (size == 0) return;
  const auto faster = [&](std::size_t a, std::size_t b) {
    return trail.time_ns(a) < trail.time_ns(b);
  };
  const auto parent = [&] {
    const std::size_t a = population[below(random, size)], b = population[below(random, size)];
    return faster(b, a) ? b : a;
  };
  for (int generation = 0; generation < kMaxGenerations && !trail.full(); ++generation) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t mother = parent(), father = parent();
      population.push_back(child_of(mother, father, trail.points, random));
    }
    for (const std::size_t index : population) trail.propose(index);
    std::sort(population.begin(), population.end());
    population.erase(std::unique(population.begin(), population.end()), population.end());
    std::stable_sort(population.begin(), population.end(), faster);
    while (population.size() < size) population.push_back(population.front());
    population.resize(size);
  }
}

}  // namespace assay
