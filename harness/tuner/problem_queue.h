#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace assay {

/// The problems of a sweep, of which each goes to one GPU: times of two GPUs are never compared,
/// since two of a kind differ by a few percent. Threads share it.
class ProblemQueue {
 public:
  /// Of problems 0 to `count` - 1, in this order unless order() is called.
  explicit ProblemQueue(std::size_t count);

  /// Puts the problems that cost most first, so that no GPU is left with a long one at the end.
  /// `costs` has one of each problem. Only the first call counts.
  void order(const std::vector<double>& costs);

  /// `gpu` has trials of the problem from an earlier run: it goes on with it as long as it is
  /// there.
  void reserve(std::size_t problem, std::size_t gpu);

  /// The next problem for `gpu`; nothing when all are done. Waits while others have problems that
  /// they may give back. Throws Interrupted.
  std::optional<std::size_t> take(std::size_t gpu);
  /// The problem that was taken is done.
  void finish();
  /// It is not: another GPU takes it.
  void give_back(std::size_t problem);
  /// `gpu` takes no more; what is reserved for it is anybody's.
  void leave(std::size_t gpu);
  /// Whether there are problems that nobody has done.
  bool is_left();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> left_;                // the next is last
  std::map<std::size_t, std::size_t> reserved_;  // of problems, the GPU
  std::size_t under_way_ = 0;
  bool ordered_ = false;
};

}  // namespace assay
