#pragma once

#include <chrono>

namespace assay {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Adds the time of its own life to a total, however the scope is left.
class AddElapsed {
 public:
  explicit AddElapsed(double& total_s) : total_s_(total_s) {}
  ~AddElapsed() { total_s_ += seconds_since(start_); }
  AddElapsed(const AddElapsed&) = delete;
  AddElapsed& operator=(const AddElapsed&) = delete;

 private:
  double& total_s_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace assay
