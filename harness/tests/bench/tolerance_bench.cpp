// How far honest kernels stay below the limits of the judge, and cheaper ones above them. A draw is
// an output of random factors; 200 orders of summation make it, on every kind of data. Prints, for
// each length of sum, the worst of three ratios to what is allowed (an element's error, the error
// of the whole, and the part of it that does not point along the result) and the false alarms,
// which must be 0. Then, for each cheaper arithmetic, how often it was refused and by how much at
// least. Integers are not here: they must be equal, and are in any order. Arguments: how many draws
// (2; the bar is 10000), and lengths (1 to 65536).

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "summation/summation.h"

namespace assay::test {
namespace {

struct Case {
  const char* name;
  DType factors, out;
};

constexpr Case kCases[] = {{"f32", DType::f32, DType::f32},
                           {"bf16", DType::bf16, DType::bf16},
                           {"bf16 to f32", DType::bf16, DType::f32},
                           {"f16", DType::f16, DType::f16}};

/// Long sums are slow to make and need fewer to tell.
int side_of(std::int64_t k) { return k <= 128 ? 16 : k <= 4096 ? 8 : 4; }

/// Sums of tf32 parts cannot be told from cheaper ones if steps of four are cut off so often.
bool is_judged(const Case& each, const Order& order, std::int64_t k) {
  const bool truncates = order.step == Step::tensor || order.step == Step::tensor_low;
  return !(truncates && each.factors == DType::f32 && k > 4096 && order.width < 8);
}

/// A product of 64 times as large factors is beyond f16.
bool fits(const Case& each, DataKind kind) {
  return !(each.out == DType::f16 && kind == DataKind::large);
}

struct Found {
  Margins worst;
  std::string order;  // whose worst ratio is the largest
  std::int64_t outputs = 0, alarms = 0;

  void add(const Margins& margins, const std::string& name) {
    ++outputs;
    if (margins.worst() > 1) ++alarms;
    if (margins.worst() > worst.worst()) order = name;
    worst.element = std::max(worst.element, margins.element);
    worst.norm = std::max(worst.norm, margins.norm);
    worst.across = std::max(worst.across, margins.across);
  }
};

/// Calls `work` with the number of each draw, on all cores.
template <typename Work>
void for_each_draw(int draws, const Work& work) {
  std::mutex mutex;
  int next = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (;;) {
        std::unique_lock lock(mutex);
        if (next == draws) return;
        const int draw = next++;
        lock.unlock();
        work(draw);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void print_honest(const Case& each, std::int64_t k, int draws) {
  const std::vector<Order> orders = honest_orders();
  for (const auto& [kind, kind_name] : data_kinds()) {
    if (!fits(each, kind)) continue;
    Found found;
    std::mutex mutex;
    for_each_draw(draws, [&, data = kind](int draw) {
      const int side = side_of(k);
      const Product product =
          draw_product({side, side, k}, each.factors, data, static_cast<std::uint64_t>(draw));
      const std::vector<float> reference = multiply(product, reference_order(each.factors));
      for (const Order& order : orders) {
        if (!is_judged(each, order, k)) continue;
        const Margins margins =
            judge(product, reference, multiply_honestly(product, order), each.out);
        const std::scoped_lock lock(mutex);
        found.add(margins, order.name());
      }
    });
    fmt::print("{:<12} {:>6}  {:<12} {:>7.3f} {:>6.3f} {:>6.3f} {:>7} {:>9}  {}\n", each.name, k,
               kind_name, found.worst.element, found.worst.norm, found.worst.across, found.alarms,
               found.outputs, found.order);
  }
}

void print_cheaper(const Case& each, std::int64_t k, int draws) {
  for (const Shortcut shortcut : refused_shortcuts(each.factors)) {
    double least = 1e30;
    int refused = 0;
    std::mutex mutex;
    for_each_draw(draws, [&](int draw) {
      constexpr int kSide = 32;
      const Product product = draw_product({kSide, kSide, k}, each.factors, DataKind::as_drawn,
                                           static_cast<std::uint64_t>(draw));
      Order order = reference_order(each.factors);
      const std::vector<float> reference = multiply(product, order);
      if (shortcut == Shortcut::tf32x2) order = {.step = Step::tensor, .width = 8};
      const double worst =
          judge(product, reference, multiply(product, order, shortcut), each.out).worst();
      const std::scoped_lock lock(mutex);
      least = std::min(least, worst);
      refused += worst > 1 ? 1 : 0;
    });
    fmt::print("{:<12} {:>6}  {:<28} {:>9.2f} {:>5} of {}\n", each.name, k, name_of(shortcut),
               least, refused, draws);
  }
}

int run(int draws, const std::vector<std::int64_t>& lengths) {
  fmt::print(
      "honest kernels, in ratio to the limits\n{:<12} {:>6}  {:<12} {:>7} {:>6} {:>6} {:>7} "
      "{:>9}  {}\n",
      "factors", "K", "data", "element", "norm", "across", "alarms", "outputs", "worst order");
  for (const Case& each : kCases) {
    for (const std::int64_t k : lengths) print_honest(each, k, draws);
  }
  fmt::print("\ncheaper arithmetic on data as drawn\n{:<12} {:>6}  {:<28} {:>9} refused\n",
             "factors", "K", "what is cheaper", "at least");
  for (const Case& each : kCases) {
    if (each.out != DType::f32 && each.out != DType::bf16) continue;
    for (const std::int64_t k : lengths) {
      if (k >= 64) print_cheaper(each, k, std::min(draws, 100));
    }
  }
  return 0;
}

}  // namespace
}  // namespace assay::test

int main(int argc, char** argv) {
  const int draws = argc > 1 ? std::atoi(argv[1]) : 2;
  std::vector<std::int64_t> lengths;
  for (int i = 2; i < argc; ++i) lengths.push_back(std::atoll(argv[i]));
  if (lengths.empty()) lengths = {1, 2, 7, 16, 61, 256, 1021, 4096, 16384, 32768, 65536};
  return assay::test::run(draws, lengths);
}
