// Threads that share packs and plans, on the stand-in GPU: 16 threads with 4 streams choose,
// prepare and launch, while others begin and end captures. Built with ThreadSanitizer; an argument
// says for how many seconds, 2 by default.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "assay/assay.h"

namespace {

constexpr int kNumThreads = 16, kNumStreams = 4;

struct alignas(256) Memory {
  std::array<float, 1024> values;
};

std::atomic<long> num_launches = 0, num_refused = 0;
std::atomic<bool> failed = false;

void fail(const char* what, assay_status status, const assay_error& error) {
  std::printf("FAILED: %s: %s: %s\n", what, assay_status_name(status), error.text);
  failed = true;
}

void work(assay_pack* pack, int seed, std::chrono::steady_clock::time_point end) {
  assay_error error{};
  auto memory = std::make_unique<std::array<Memory, 3>>();
  (*memory)[0].values.fill(1);
  (*memory)[1].values.fill(2);
  // The stand-in takes any number for a stream.
  void* const stream = reinterpret_cast<void*>(static_cast<std::size_t>(16 + seed % kNumStreams));
  for (int turn = 0; std::chrono::steady_clock::now() < end && !failed; ++turn) {
    const assay_number size{"N", 200.0 + (turn * 7 + seed) % 800};
    const assay_request request{sizeof request, "add_f32", &size, 1, -1, 0};
    assay_plan* plan = nullptr;
    assay_status status = assay_plan_create(pack, &request, &plan, &error);
    if (status != ASSAY_OK) return fail("plan", status, error);
    status = assay_prepare(plan, stream, nullptr, 0, nullptr, &error);
    if (status == ASSAY_CAPTURING) ++num_refused;
    if (status != ASSAY_OK && status != ASSAY_CAPTURING) return fail("prepare", status, error);
    const bool is_loaded = status == ASSAY_OK;
    void* const arguments[] = {&(*memory)[0], &(*memory)[1], &(*memory)[2]};
    for (int i = 0; i < 4; ++i) {
      (*memory)[2].values.fill(0);
      status = assay_launch(plan, stream, arguments, 3, nullptr, nullptr, &error);
      if (status == ASSAY_NOT_PREPARED && !is_loaded) break;
      if (status != ASSAY_OK) return fail("launch", status, error);
      const auto last = static_cast<std::size_t>(size.value) - 1;
      if ((*memory)[2].values[last] != 3) return fail("the sum", status, error);
      ++num_launches;
    }
    assay_plan_release(plan);
  }
}

}  // namespace

extern "C" int cuStreamBeginCapture_v2(void*, int);
extern "C" int cuStreamEndCapture(void*, void**);
extern "C" int cuGraphDestroy(void*);

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int seconds = argc > 2 ? std::atoi(argv[2]) : 2;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  assay_error error{};
  assay_pack* pack = nullptr;
  const assay_status status = assay_open(argv[1], &pack, &error);
  if (status != ASSAY_OK) {
    fail("open", status, error);
    return 1;
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < kNumThreads; ++i) threads.emplace_back(work, pack, i, end);
  while (std::chrono::steady_clock::now() < end && !failed) {
    void* graph = nullptr;
    cuStreamBeginCapture_v2(nullptr, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    cuStreamEndCapture(nullptr, &graph);
    cuGraphDestroy(graph);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (std::thread& thread : threads) thread.join();
  assay_close(pack);
  std::printf("%ld launches, %ld refused while a stream was captured\n", num_launches.load(),
              num_refused.load());
  return failed ? 1 : 0;
}
