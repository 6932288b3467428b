#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace assay::emulator {

/// Local memory that blocks have left. No GPU clears local memory either: a launch finds what the
/// launch before has left.
class LeftLocal {
 public:
  /// What the block of this number has left, or NaNs.
  std::vector<std::byte> take(std::uint64_t block, std::size_t num_bytes) {
    const std::lock_guard lock(mutex_);
    const auto left = left_.find(block);
    if (left == left_.end()) return std::vector<std::byte>(num_bytes, std::byte{0xff});
    std::vector<std::byte> bytes = std::move(left->second);
    num_bytes_ -= bytes.size();
    left_.erase(left);
    bytes.resize(num_bytes, std::byte{0xff});
    return bytes;
  }
  void leave(std::uint64_t block, std::vector<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes.empty() || num_bytes_ + bytes.size() > kMostBytes || left_.contains(block)) return;
    num_bytes_ += bytes.size();
    left_[block] = std::move(bytes);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    left_.clear();
    num_bytes_ = 0;
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  std::mutex mutex_;
  std::map<std::uint64_t, std::vector<std::byte>> left_;
  std::size_t num_bytes_ = 0;
};

}  // namespace assay::emulator
