// Whole rows of outputs are added at a time, so that the compiler makes vectors of them.
#include "summation/summation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace assay::test {
namespace {

constexpr int kTf32Bits = 11, kBf16Bits = 8, kFp8Bits = 4;  // of precision
constexpr int kTensorWidth = 16;

float cut(float value, int bits) {
  const int unused = 24 - bits;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) >> unused << unused);
}

/// To fp32, towards zero.
float cut_to_float(double value) {
  constexpr std::uint64_t kDropped = (std::uint64_t{1} << 29) - 1;
  return static_cast<float>(std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & ~kDropped));
}

using Row = std::vector<float>;

/// The accumulators of one row of the output.
class Accumulator {
 public:
  Accumulator(const Order& order, std::size_t width)
      : order_(order), sums_(width), wide_(width), lost_(width), largest_(width) {}

  /// Adds the products of a[0..count) and the rows of b.
  void add(const float* a, const float* b, int count) {
    const std::size_t width = sums_.size();
    switch (order_.step) {
      case Step::fused:
        for (int i = 0; i < count; ++i, b += width) {
          for (std::size_t j = 0; j < width; ++j) {
            sums_[j] = static_cast<float>(sums_[j] + static_cast<double>(a[i]) * b[j]);
          }
        }
        return;
      case Step::unfused:
        for (int i = 0; i < count; ++i, b += width) {
          for (std::size_t j = 0; j < width; ++j) sums_[j] += a[i] * b[j];
        }
        return;
      case Step::kahan:
        for (int i = 0; i < count; ++i, b += width) {
          for (std::size_t j = 0; j < width; ++j) {
            const float term = a[i] * b[j] - lost_[j];
            const float sum = sums_[j] + term;
            lost_[j] = sum - sums_[j] - term;
            sums_[j] = sum;
          }
        }
        return;
      case Step::wide:
        for (int i = 0; i < count; ++i, b += width) {
          for (std::size_t j = 0; j < width; ++j) wide_[j] += static_cast<double>(a[i]) * b[j];
        }
        return;
      case Step::tensor:
        std::copy(sums_.begin(), sums_.end(), wide_.begin());
        for (int i = 0; i < count; ++i, b += width) {
          for (std::size_t j = 0; j < width; ++j) wide_[j] += static_cast<double>(a[i]) * b[j];
        }
        for (std::size_t j = 0; j < width; ++j) sums_[j] = cut_to_float(wide_[j]);
        return;
      case Step::tensor_low:
        return add_aligned(a, b, count);
    }
  }

  void take(Row& into) {
    for (std::size_t j = 0; j < sums_.size(); ++j) {
      into[j] += order_.step == Step::wide ? static_cast<float>(wide_[j]) : sums_[j];
    }
    std::fill(sums_.begin(), sums_.end(), 0.0f);
    std::fill(wide_.begin(), wide_.end(), 0.0);
    std::fill(lost_.begin(), lost_.end(), 0.0f);
  }

 private:
  void add_aligned(const float* a, const float* b, int count) {
    constexpr double kShift = 0x1.8p52;  // adding it rounds to whole numbers
    const std::size_t width = sums_.size();
    for (std::size_t j = 0; j < width; ++j) largest_[j] = std::abs(sums_[j]);
    for (int i = 0; i < count; ++i) {
      const float* row = b + static_cast<std::size_t>(i) * width;
      for (std::size_t j = 0; j < width; ++j) {
        largest_[j] = std::max(largest_[j], std::abs(a[i] * row[j]));
      }
    }
    // The unit that products are cut to: two bits behind the last of the largest.
    for (std::size_t j = 0; j < width; ++j) {
      const std::uint32_t exponent = std::bit_cast<std::uint32_t>(largest_[j]) & 0x7F800000u;
      const double unit = static_cast<double>(std::bit_cast<float>(exponent)) * 0x1p-25;
      lost_[j] = static_cast<float>(std::max(unit, 0x1p-126));
      wide_[j] = sums_[j];
    }
    for (int i = 0; i < count; ++i, b += width) {
      for (std::size_t j = 0; j < width; ++j) {
        const double unit = lost_[j];
        const double units = static_cast<double>(a[i]) * b[j] / unit;
        const double whole = units + kShift - kShift;
        const double over = std::abs(whole) > std::abs(units) ? std::copysign(1.0, units) : 0;
        wide_[j] += (whole - over) * unit;
      }
    }
    for (std::size_t j = 0; j < width; ++j) sums_[j] = cut_to_float(wide_[j]);
    std::fill(lost_.begin(), lost_.end(), 0.0f);
  }

  const Order& order_;
  Row sums_;
  std::vector<double> wide_;
  Row lost_;
  Row largest_;
};

/// Adds up sums as a tree, or one after the other.
Row combined(std::vector<Row> sums, bool tree) {
  const auto add = [](Row& to, const Row& more) {
    for (std::size_t j = 0; j < to.size(); ++j) to[j] += more[j];
  };
  if (!tree) {
    for (std::size_t i = 1; i < sums.size(); ++i) add(sums[0], sums[i]);
    return std::move(sums[0]);
  }
  for (std::size_t step = 1; step < sums.size(); step *= 2) {
    for (std::size_t i = 0; i + step < sums.size(); i += 2 * step) add(sums[i], sums[i + step]);
  }
  return std::move(sums[0]);
}

/// One row of the output: `a` has k elements, `b` k rows.
Row added(const float* a, const float* b, std::int64_t k, std::size_t width, const Order& order) {
  std::vector<Row> sums;
  for (int split = 0; split < order.splits; ++split) {
    const std::int64_t begin = k * split / order.splits, end = k * (split + 1) / order.splits;
    std::vector<Accumulator> lanes(static_cast<std::size_t>(order.lanes), {order, width});
    std::vector<Row> outer(lanes.size(), Row(width));
    std::vector<std::int64_t> held(lanes.size(), 0);
    std::size_t lane = 0;
    // A single lane takes all that it may at once.
    const std::int64_t most = order.width > 1 || order.lanes > 1 ? order.width
                              : order.block > 0                  ? order.block
                                                                 : std::max<std::int64_t>(k, 1);
    for (std::int64_t i = begin; i < end; i += most, lane = (lane + 1) % lanes.size()) {
      const auto count = static_cast<int>(std::min(most, end - i));
      lanes[lane].add(a + i, b + i * static_cast<std::int64_t>(width), count);
      held[lane] += count;
      if (order.block == 0 || held[lane] < order.block) continue;
      lanes[lane].take(outer[lane]);
      held[lane] = 0;
    }
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i].take(outer[i]);
    sums.push_back(combined(std::move(outer), order.tree));
  }
  return combined(std::move(sums), order.tree);
}

std::vector<float> product_of(const std::vector<float>& a, const std::vector<float>& b,
                              const ProductShape& shape, const Order& order) {
  const auto width = static_cast<std::size_t>(shape.n);
  std::vector<float> out;
  for (int row = 0; row < shape.m; ++row) {
    const Row sums = added(a.data() + row * shape.k, b.data(), shape.k, width, order);
    out.insert(out.end(), sums.begin(), sums.end());
  }
  return out;
}

/// The factors in the order in which the kernel goes through K.
std::pair<std::vector<float>, std::vector<float>> in_order(const Product& product, bool backward) {
  std::vector<float> a = product.a, b = product.b;
  if (backward) {
    for (int row = 0; row < product.shape.m; ++row) {
      std::reverse(a.begin() + row * product.shape.k, a.begin() + (row + 1) * product.shape.k);
    }
    for (std::int64_t i = 0; i < product.shape.k / 2; ++i) {
      std::swap_ranges(b.begin() + i * product.shape.n, b.begin() + (i + 1) * product.shape.n,
                       b.begin() + (product.shape.k - 1 - i) * product.shape.n);
    }
  }
  return {std::move(a), std::move(b)};
}

template <typename Change>
std::vector<float> changed(std::vector<float> values, const Change& change) {
  for (float& value : values) value = change(value);
  return values;
}

/// The products of big and small tf32 parts, the small ones first: `both` says whether both are
/// added, or that of a's big and b's small part alone.
std::vector<float> of_tf32_parts(const ProductShape& shape, const std::vector<float>& a,
                                 const std::vector<float>& b, Order order, bool both) {
  const auto big = [](float x) { return rounded(x, kTf32Bits); };
  const auto small = [&](float x) { return rounded(x - big(x), kTf32Bits); };
  const std::vector<float> big_a = changed(a, big), big_b = changed(b, big);
  const std::vector<float> small_a = changed(a, small), small_b = changed(b, small);
  // One sum of two or three times as many products.
  ProductShape longer = shape;
  longer.k = shape.k * (both ? 3 : 2);
  std::vector<float> all_a, all_b;
  for (int row = 0; row < shape.m; ++row) {
    const auto append = [&](const std::vector<float>& part) {
      all_a.insert(all_a.end(), part.begin() + row * shape.k, part.begin() + (row + 1) * shape.k);
    };
    if (both) append(small_a);
    append(big_a);
    append(big_a);
  }
  if (both) all_b = big_b;
  all_b.insert(all_b.end(), small_b.begin(), small_b.end());
  all_b.insert(all_b.end(), big_b.begin(), big_b.end());
  return product_of(all_a, all_b, longer, order);
}

/// Sums that are kept in `bits` after every step of a tensor core.
std::vector<float> with_narrow_sums(const ProductShape& shape, const std::vector<float>& a,
                                    const std::vector<float>& b, DType kept) {
  const auto width = static_cast<std::size_t>(shape.n);
  std::vector<float> out;
  Order order{.step = Step::tensor, .width = kTensorWidth};
  for (int row = 0; row < shape.m; ++row) {
    Row sums(width);
    for (std::int64_t i = 0; i < shape.k; i += kTensorWidth) {
      const std::int64_t count = std::min<std::int64_t>(kTensorWidth, shape.k - i);
      const Row part =
          added(a.data() + row * shape.k + i, b.data() + i * shape.n, count, width, order);
      for (std::size_t j = 0; j < width; ++j) sums[j] = rounded_to(kept, sums[j] + part[j]);
    }
    out.insert(out.end(), sums.begin(), sums.end());
  }
  return out;
}

double usual_size(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace

std::string Order::name() const {
  static const char* const kSteps[] = {"fused", "unfused", "kahan", "fp64", "tensor", "tensor+2"};
  std::string text = kSteps[static_cast<int>(step)];
  if (width > 1) text += fmt::format(" by {}", width);
  if (block > 0) text += fmt::format(", blocks of {}", block);
  if (lanes > 1) text += fmt::format(", {} lanes", lanes);
  if (splits > 1) text += fmt::format(", K in {}", splits);
  if (backward) text += ", backward";
  if (tree) text += ", tree";
  return text;
}

std::vector<Order> honest_orders() {
  std::vector<Order> orders;
  const auto add = [&](const Order& order) { orders.push_back(order); };
  // What runs on CUDA cores: 2 x (8 x 3 x 3 + 8) = 160.
  for (const Step step : {Step::fused, Step::unfused}) {
    for (const std::int64_t block : {0, 2, 4, 8, 16, 32, 128, 512}) {
      for (const int lanes : {1, 4, 32}) {
        for (const int splits : {1, 2, 7}) {
          add({.step = step, .block = block, .lanes = lanes, .splits = splits, .tree = lanes > 1});
        }
      }
      add({.step = step, .block = block, .backward = true});
    }
  }
  // Pairwise sums are trees of lanes that have one product each or a few.
  for (const int lanes : {64, 256, 1024}) add({.lanes = lanes, .tree = true});
  for (const Step step : {Step::kahan, Step::wide}) {
    for (const int splits : {1, 4}) {
      add({.step = step, .splits = splits});
      add({.step = step, .splits = splits, .backward = true});
    }
  }
  add({.step = Step::wide, .block = 64});
  // What runs on tensor cores.
  for (const Step step : {Step::tensor, Step::tensor_low}) {
    for (const int width : {4, 8, 16, 32}) {
      add({.step = step, .width = width});
      add({.step = step, .width = width, .splits = 4});
      add({.step = step, .width = width, .block = 128});
    }
  }
  for (const int width : {8, 16, 32}) {
    add({.step = Step::tensor, .width = width, .lanes = 2});
  }
  add({.step = Step::tensor, .width = 16, .backward = true});
  return orders;
}

Order reference_order(DType factors) {
  if (factors == DType::f32) return {};
  return {.step = Step::tensor, .width = kTensorWidth};
}

std::string name_of(Shortcut shortcut) {
  static const char* const kNames[] = {
      "none",        "tf32x3",         "tf32, two products of three",
      "tf32",        "tf32, cut off",  "bf16",
      "fp8",         "sums in f16",    "sums in bf16",
      "skips small", "skips the last", "skips sixteen"};
  return kNames[static_cast<int>(shortcut)];
}

std::vector<Shortcut> refused_shortcuts(DType factors) {
  std::vector<Shortcut> shortcuts = {Shortcut::f16_sums, Shortcut::bf16_sums, Shortcut::skips_small,
                                     Shortcut::skips_last, Shortcut::skips_sixteen};
  const std::vector<Shortcut> of_f32 = {Shortcut::tf32x2, Shortcut::tf32, Shortcut::tf32_cut,
                                        Shortcut::bf16_factors};
  shortcuts.push_back(Shortcut::fp8_factors);
  if (factors == DType::f32) shortcuts.insert(shortcuts.end(), of_f32.begin(), of_f32.end());
  return shortcuts;
}

std::vector<float> multiply_honestly(const Product& product, const Order& order) {
  const bool on_tensor_cores = order.step == Step::tensor || order.step == Step::tensor_low;
  const bool parts = on_tensor_cores && product.dtype == DType::f32;
  return multiply(product, order, parts ? Shortcut::tf32x3 : Shortcut::none);
}

std::vector<float> multiply(const Product& product, const Order& order, Shortcut shortcut) {
  auto [a, b] = in_order(product, order.backward);
  ProductShape shape = product.shape;
  const auto both = [&](const auto& change) {
    a = changed(std::move(a), change);
    b = changed(std::move(b), change);
  };
  const auto without = [&](std::int64_t count) {
    for (int row = 0; row < shape.m; ++row) {
      const auto end = a.begin() + (row + 1) * shape.k;
      std::fill(end - std::min(count, shape.k), end, 0.0f);
    }
  };
  switch (shortcut) {
    case Shortcut::none:
      break;
    case Shortcut::tf32x3:
    case Shortcut::tf32x2:
      return of_tf32_parts(shape, a, b, order, shortcut == Shortcut::tf32x3);
    case Shortcut::tf32:
      both([](float x) { return rounded(x, kTf32Bits); });
      break;
    case Shortcut::tf32_cut:
      both([](float x) { return cut(x, kTf32Bits); });
      break;
    case Shortcut::bf16_factors:
      both([](float x) { return rounded(x, kBf16Bits); });
      break;
    case Shortcut::fp8_factors:
      both([](float x) { return rounded(x, kFp8Bits); });
      break;
    case Shortcut::f16_sums:
      return with_narrow_sums(shape, a, b, DType::f16);
    case Shortcut::bf16_sums:
      return with_narrow_sums(shape, a, b, DType::bf16);
    case Shortcut::skips_small: {
      const double least = 0.05 * usual_size(a);
      a = changed(std::move(a), [&](float x) { return std::abs(x) < least ? 0 : x; });
      break;
    }
    case Shortcut::skips_last:
      without(1);
      break;
    case Shortcut::skips_sixteen:
      without(kTensorWidth);
      break;
  }
  return product_of(a, b, shape, order);
}

}  // namespace assay::test
