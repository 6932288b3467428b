#include "tuner/problem_queue.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/interrupt.h"

namespace assay {

ProblemQueue::ProblemQueue(std::size_t count) {
  for (std::size_t problem = count; problem-- > 0;) left_.push_back(problem);
}

void ProblemQueue::order(const std::vector<double>& costs) {
  const std::lock_guard lock(mutex_);
  if (ordered_) return;
  ordered_ = true;
  std::ranges::stable_sort(left_,
                           [&](std::size_t a, std::size_t b) { return costs[a] < costs[b]; });
}

void ProblemQueue::reserve(std::size_t problem, std::size_t gpu) {
  const std::lock_guard lock(mutex_);
  reserved_.emplace(problem, gpu);
}

std::optional<std::size_t> ProblemQueue::take(std::size_t gpu) {
  constexpr auto kPeriod = std::chrono::milliseconds(50);
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto next = std::find_if(left_.rbegin(), left_.rend(), [&](std::size_t problem) {
      const auto reserved = reserved_.find(problem);
      return reserved == reserved_.end() || reserved->second == gpu;
    });
    if (next != left_.rend()) {
      const std::size_t problem = *next;
      left_.erase(std::next(next).base());
      ++under_way_;
      return problem;
    }
    if (left_.empty() && under_way_ == 0) return std::nullopt;
    check_interrupt();
    changed_.wait_for(lock, kPeriod);
  }
}

void ProblemQueue::leave(std::size_t gpu) {
  const std::lock_guard lock(mutex_);
  std::erase_if(reserved_, [&](const auto& entry) { return entry.second == gpu; });
  changed_.notify_all();
}

void ProblemQueue::finish() {
  const std::lock_guard lock(mutex_);
  --under_way_;
  changed_.notify_all();
}

void ProblemQueue::give_back(std::size_t problem) {
  const std::lock_guard lock(mutex_);
  --under_way_;
  left_.push_back(problem);
  changed_.notify_all();
}

bool ProblemQueue::is_left() {
  const std::lock_guard lock(mutex_);
  return !left_.empty();
}

}  // namespace assay
