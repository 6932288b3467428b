#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "base/child_process.h"
#include "temp_folder.h"

namespace assay {

/// Another thread that has libc's lock for time zones until release(): it reads the zone from a
/// pipe that nobody has written to.
class HeldTimeZone {
 public:
  HeldTimeZone() {
    ::mkfifo(pipe_.c_str(), 0600);
    ::setenv("TZ", (":" + pipe_.string()).c_str(), 1);
    std::atomic<pid_t> number = 0;
    thread_ = std::thread([&number] {
      number = ::gettid();
      ::tzset();
    });
    while (number == 0 || process_stat(number).at(0) != "S") pause();
  }
  ~HeldTimeZone() { release(); }
  HeldTimeZone(const HeldTimeZone&) = delete;
  HeldTimeZone& operator=(const HeldTimeZone&) = delete;

  void release() {
    if (!thread_.joinable()) return;
    int end = -1;
    while ((end = ::open(pipe_.c_str(), O_WRONLY | O_NONBLOCK)) < 0) pause();
    ::close(end);
    thread_.join();
    ::unsetenv("TZ");
    ::tzset();
  }

 private:
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

  TempFolder folder_;
  std::filesystem::path pipe_ = folder_ / "zone";
  std::thread thread_;
};

}  // namespace assay
