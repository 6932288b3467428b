#include "worker/rerank_entries.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/stats.h"

namespace assay {
namespace {

// Where outputs, inputs and code lie in memory is luck that a process keeps: entered at several
// places, one 1024^3 product took 12.0 or 12.4 us by the page of its output alone (H200). So short
// work is entered at many places, which take turns: 32 up to 190 us, where a place is still worth
// 0.2 %, 4 at 1.5 ms, one from 3 ms on.
constexpr double kPlacesTimesNs = 6e6;
constexpr int kMostPlaces = 32;
// Between two places, so that they do not follow each other in memory.
constexpr std::size_t kLargestGapBytes = std::size_t{32} << 20;

}  // namespace

double Contender::time_ns() const { return midmean(entry->samples_ns); }

const Contender* fastest(const ContenderGroup& group) {
  const Contender* best = nullptr;
  for (const Contender& contender : group) {
    if (contender.timed() && (!best || contender.time_ns() < best->time_ns())) best = &contender;
  }
  return best;
}

Outcome contender_outcome(Bench& bench, const Work& work) {
  return bench.guarded([&] {
    try {
      work();
      return Outcome{};
    } catch (const CudaError&) {
      throw;
    } catch (const Error& error) {
      throw Failure(Status::runtime, "baseline", error.what());
    }
  });
}

Contenders::Contenders(Bench& bench, const std::vector<TrialRequest>& requests,
                       const std::vector<std::string>& baseline_names, RerankResult& result)
    : bench_(bench), requests_(requests) {
  // Every address is fixed before the first trial binds its arguments.
  for (const TrialRequest& request : requests) {
    arena_bytes_ = std::max(arena_bytes_, Trial::arena_bytes(request.plan));
  }
  bench.enter_problem(requests.front().plan.problem);
  bench.release_memory();  // all candidates must fit together, and the sweep kept other shapes
  bench.arena.reserve(arena_bytes_);

  requests_.push_back(requests.front());
  candidates.resize(requests_.size());
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    Contender& contender = candidates[i];
    contender.entry = i < requests.size() ? &result.candidates[i] : &result.twin.emplace();
    contender.entry->name = to_text(requests_[i].plan.config);
    contender.entry->outcome = bench.guarded([&] {
      enter_candidate(requests_[i], contender);
      contender.trials.front()->check();
      return Outcome{};
    });
  }
  candidates.front().stays = candidates.back().stays = true;
  for (const std::string& name : baseline_names) {
    BaselineGroup& baseline = baselines.emplace_back();
    baseline.name = name;
    const Outcome outcome = contender_outcome(bench, [&] { enter_baseline(baseline); });
    baseline.entries.resize(baseline.algorithms.size());
    for (std::size_t i = 0; i < baseline.entries.size(); ++i) {
      baseline.entries[i].outcome = outcome;
      if (i >= baseline.contenders.size()) baseline.contenders.emplace_back();
      baseline.contenders[i].entry = &baseline.entries[i];
    }
    baseline.contenders.front().stays = true;
  }
}

/// Loads the code once more and binds it to the memory at hand.
void Contenders::enter_candidate(const TrialRequest& request, Contender& contender) {
  contender.trials.push_back(std::make_unique<Trial>(bench_, request));
  const Trial* trial = contender.trials.back().get();
  contender.works.push_back([trial] { trial->enqueue(); });
  contender.works.back()();  // loads what is loaded lazily
  bench_.synchronise();
}

void Contenders::enter_baseline(BaselineGroup& baseline) {
  baseline.products.push_back(std::make_unique<ProductBaseline>(bench_, requests_.front()));
  ProductBaseline& product = *baseline.products.back();
  if (baseline.contenders.empty()) {
    for (const int algorithm : product.best_algorithms(bench_)) {
      if (algorithm != 0) baseline.algorithms.push_back(algorithm);
    }
    baseline.contenders.resize(baseline.algorithms.size());
  }
  for (std::size_t i = 0; i < baseline.algorithms.size(); ++i) {
    baseline.contenders[i].works.push_back(
        [&product, algorithm = baseline.algorithms[i]] { product.enqueue(algorithm); });
    baseline.contenders[i].works.back()();
  }
  bench_.synchronise();
}

/// Those that are still alive, at one more place.
void Contenders::enter_all() {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Contender& contender = candidates[i];
    if (!contender.alive() || bench_.context_lost) continue;
    contender.entry->outcome = bench_.guarded([&] {
      enter_candidate(requests_[i], contender);
      return Outcome{};
    });
  }
  for (BaselineGroup& baseline : baselines) {
    if (!baseline.contenders.front().alive() || bench_.context_lost) continue;
    const Outcome outcome = contender_outcome(bench_, [&] { enter_baseline(baseline); });
    for (RerankEntry& entry : baseline.entries) entry.outcome = outcome;
  }
}

void Contenders::enter_more_places() {
  const Contender& leader = candidates.front();
  if (!leader.alive()) return;
  const double time_ns = bench_.timer.quick_median_ns(leader.works.front(), 3);
  std::size_t free_bytes = 0, total_bytes = 0;
  bench_.driver.check(bench_.driver.cuMemGetInfo(&free_bytes, &total_bytes), "cuMemGetInfo");
  // Inputs and a workspace beside the outputs; a quarter of the memory is enough for all.
  const auto place_bytes = static_cast<double>(
      arena_bytes_ + static_cast<std::size_t>(requests_.front().plan.bytes) + kLargestGapBytes);
  const double fitting = static_cast<double>(free_bytes) / 4 / place_bytes;
  const auto places = static_cast<std::size_t>(std::clamp(
      std::min(kPlacesTimesNs / time_ns, fitting), 1.0, static_cast<double>(kMostPlaces)));
  std::mt19937 random(1);
  std::vector<DeviceMemory> gaps;
  for (; num_places_ < places; ++num_places_) {
    const Outcome room = bench_.guarded([&] {
      gaps.push_back(allocate(bench_.driver, random() % kLargestGapBytes + 1));
      arenas_.push_back(bench_.arena.take());
      bench_.arena.reserve(arena_bytes_);
      return Outcome{};
    });
    if (room.status != Status::correct) return;  // the places so far must do
    bench_.inputs.clear();
    enter_all();
  }
}

std::vector<Contender*> Contenders::all() {
  std::vector<Contender*> contenders;
  for (Contender& contender : candidates) contenders.push_back(&contender);
  for (BaselineGroup& baseline : baselines) {
    for (Contender& contender : baseline.contenders) contenders.push_back(&contender);
  }
  return contenders;
}

std::vector<RerankEntry> Contenders::baseline_entries() const {
  std::vector<RerankEntry> entries;
  for (const BaselineGroup& baseline : baselines) {
    const Contender* best = fastest(baseline.contenders);
    const RerankEntry& first = baseline.entries.front();
    for (const auto& [suffix, entry] :
         {std::pair{"_first", &first}, std::pair{"_best", best ? best->entry : &first}}) {
      entries.push_back(*entry);
      entries.back().name = baseline.name + suffix;
    }
  }
  return entries;
}

}  // namespace assay
