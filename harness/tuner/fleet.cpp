#include "tuner/fleet.h"

#include <map>
#include <string>
#include <thread>

namespace assay {

std::vector<FleetEnd> run_side_by_side(std::span<Tuner* const> tuners) {
  std::map<std::string, ProblemQueue> problems;  // of each model
  for (std::size_t gpu = 0; gpu < tuners.size(); ++gpu) {
    const Tuner& tuner = *tuners[gpu];
    tuner.reserve(problems.try_emplace(tuner.device().name, tuner.num_problems()).first->second,
                  gpu);
  }
  std::vector<FleetEnd> ends(tuners.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t gpu = 0; gpu < tuners.size(); ++gpu) {
      threads.emplace_back([&, gpu] {
        ProblemQueue& shared = problems.at(tuners[gpu]->device().name);
        try {
          tuners[gpu]->run(shared, gpu);
        } catch (...) {
          ends[gpu].failure = std::current_exception();
          shared.leave(gpu);
        }
      });
    }
  }
  for (std::size_t gpu = 0; gpu < tuners.size(); ++gpu) {
    ends[gpu].work_is_left = problems.at(tuners[gpu]->device().name).is_left();
  }
  return ends;
}

}  // namespace assay
