// How fast a large space is enumerated. The bar: ten
// million raw points, ten thousand of them valid, in less than a second on one core.

#include <benchmark/benchmark.h>

#include "space/space.h"
#include "space/test_kernel.h"

namespace assay {
namespace {

/// Seven parameters of ten values each; the constraints leave about one point in a thousand.
TestKernel ten_million_points() {
  TestKernel kernel({"M"});
  for (const char* name : {"A", "B", "C", "D", "E", "F", "G"}) kernel.range(name, 1, 10);
  return kernel;
}

void enumerate(benchmark::State& state, const TestKernel& kernel) {
  const Space space(kernel.spec, {{"M", 4096}}, test_device());
  Space::Size size;
  for (auto _ : state) {
    size = space.size();
    benchmark::DoNotOptimize(size);
  }
  state.counters["raw"] = static_cast<double>(size.raw);
  state.counters["valid"] = static_cast<double>(size.valid);
}

/// As contracts are: constraints on a few neighbours each, so subtrees fall early.
void BM_EnumeratePruned(benchmark::State& state) {
  enumerate(state, ten_million_points()
                       .let("tile", "A * B")
                       .let("smem", "tile * C * 1024")
                       .constraint("M % tile == 0")
                       .constraint("smem <= device.smem_optin_bytes")
                       .constraint("D % 2 == 0 || E == 1")
                       .constraint("E + 2 < F")
                       .constraint("F + G == D + 7"));
}
BENCHMARK(BM_EnumeratePruned)->Unit(benchmark::kMillisecond);

/// The first and the last parameter decide: nothing falls early, every point is visited.
void BM_EnumerateDecidedLast(benchmark::State& state) {
  enumerate(state, ten_million_points()
                       .let("tile", "A * B * 16")
                       .constraint("M % (tile * G) == 0")
                       .constraint("G % C == 0 && (A + G) % D == 0")
                       .constraint("E + F + G == 16"));
}
BENCHMARK(BM_EnumerateDecidedLast)->Unit(benchmark::kMillisecond);

/// One constraint reads every parameter, through a let: each point costs an evaluation.
void BM_EnumerateWithoutHelp(benchmark::State& state) {
  enumerate(state,
            ten_million_points().let("sum", "A + B + C + D + E + F").constraint("sum * G == 470"));
}
BENCHMARK(BM_EnumerateWithoutHelp)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace assay
