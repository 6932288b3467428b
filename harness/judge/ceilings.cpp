#include "judge/ceilings.h"

#include <fmt/format.h>

#include <algorithm>

#include "judge/lt_matmul.h"
#include "support/inputs.h"

namespace assay {
namespace {

// A time is refused if it would need more than this times a measured ceiling. The ceilings are not
// hard limits: on an H200 a copy moves 4.3 TB/s of the 4.8 on its data sheet, and a large product
// sustains 790 TFLOP/s where a short one at boost clock comes near 1000.
constexpr double kMargin = 1.25;

// What two kernels read from L2 in a time differs more: part of L2 is nearer.
constexpr double kL2Margin = 1.5;

constexpr std::size_t kMostCopyBytes = std::size_t{2} << 30;
constexpr int kSamples = 5;
constexpr int kProductSamples = 3;
constexpr int kFurtherLaunches = 8;

double copy_bytes_per_s(const SupportKernels& support, Timer& timer, CUdeviceptr data,
                        std::size_t bytes) {
  const std::size_t half = bytes / 2;
  const Work copy = [&] {
    support.driver().cuMemcpyDtoDAsync(data + half, data, half, support.stream());
  };
  return 2.0 * static_cast<double>(half) / (timer.quick_median_ns({copy}, kSamples) * 1e-9);
}

/// From the times of two reads that both fit, since a launch takes as long as to read so little.
double l2_bytes_per_s(const SupportKernels& support, Timer& timer, CUdeviceptr data,
                      std::size_t l2_bytes) {
  const auto time_ns = [&](std::size_t bytes) {
    const TimedWork read = {[&support, data, bytes] { support.read(data, bytes); }};
    std::vector<double> times_ns;
    for (int i = 0; i < kSamples; ++i) {
      times_ns.push_back(timer.sample(read, Preparation::hot).time_ns);
    }
    return *std::ranges::min_element(times_ns);
  };
  const std::size_t few = l2_bytes / 8 / 4096 * 4096, many = 3 * few;
  const double difference_ns = time_ns(many) - time_ns(few);
  return difference_ns > 0 ? static_cast<double>(many - few) / (difference_ns * 1e-9) : 0;
}

/// A square product of random data, transposed as each type can be.
struct Product {
  DType dtype;
  DType out;
  std::int64_t size;
  cublasComputeType_t compute;
};

/// 0 where cuBLASLt cannot do it.
double product_flops_per_s(OperationEngine& engine, Timer& timer, const Product& product) {
  const SupportKernels& support = engine.support();
  const std::int64_t size = product.size;
  const auto matrix_bytes = [&](DType dtype) {
    return static_cast<std::size_t>(size * size * size_bytes(dtype));
  };
  const DeviceMemory a = allocate(engine.driver(), matrix_bytes(product.dtype));
  const DeviceMemory b = allocate(engine.driver(), matrix_bytes(product.dtype));
  const DeviceMemory c = allocate(engine.driver(), matrix_bytes(product.out));
  const bool floating = is_floating(product.dtype);
  for (const auto& [matrix, name] : {std::pair{&a, "a"}, std::pair{&b, "b"}}) {
    const double most = product.dtype == DType::e4m3 ? largest(product.dtype) / 7 : 1;
    support.fill(floating ? Generator::normal : Generator::uniform, product.dtype, matrix->get(),
                 size * size, generator_key(1, name), floating ? 0 : -128, floating ? most : 127);
  }
  OperationCall call;
  call.operands["a"] = {a.get(), product.dtype, {size, size}};
  call.operands["b"] = {b.get(), product.dtype, {size, size}};
  call.operands["out"] = {c.get(), product.out, {size, size}};
  call.options = {{"transpose_a", false}, {"transpose_b", true}};
  try {
    const LtMatmul matmul(engine, call, product.compute);
    matmul.enqueue(0, c.get());
    support.synchronise();
    const double time_ns =
        timer.quick_median_ns({[&] { matmul.enqueue(0, c.get()); }}, kProductSamples);
    const auto n = static_cast<double>(size);
    return 2 * n * n * n / (time_ns * 1e-9);
  } catch (const CudaError&) {
    throw;
  } catch (const Error&) {
    return 0;
  }
}

/// What the largest number of operations in a second is called, and how large it is; 0 is unknown.
struct OperationRate {
  std::string_view name;
  double flops_per_s = 0;
};

OperationRate rate_of(DType dtype, const Ceilings& ceilings) {
  switch (dtype) {
    case DType::bf16:
    case DType::f16:
      return {"products of 16 bits", ceilings.bf16_flops_per_s};
    case DType::e4m3:
    case DType::e5m2:
      return {"8-bit floating products", ceilings.fp8_flops_per_s};
    case DType::f32:
      return {"tf32 products", ceilings.tf32_flops_per_s};
    case DType::f64:
      return {"f64 products", ceilings.f64_flops_per_s};
    case DType::e2m1:  // what GPUs do of them is not measured
      return {};
    default:
      return {"8-bit products", ceilings.i8_flops_per_s};
  }
}

/// The most that a plan may do by its types. A product of f32 may run on tensor cores, as tf32. One
/// of integers may work on packed bits, and 8-bit numbers may be of fp8. Other integers beside real
/// numbers are indices.
OperationRate fastest_rate(const Plan& plan, const Ceilings& ceilings) {
  OperationRate fastest;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (!is_floating(buffer->dtype) && size_bytes(buffer->dtype) > 1) continue;
    if (buffer->dtype == DType::ue8m0) continue;  // are scales
    const OperationRate rate = rate_of(buffer->dtype, ceilings);
    if (rate.flops_per_s == 0) return {};
    if (rate.flops_per_s > fastest.flops_per_s) fastest = rate;
  }
  return fastest.flops_per_s > 0 ? fastest : rate_of(DType::i32, ceilings);
}

/// What honest work on the plan's real numbers does at most: f32 without tensor cores.
double usual_flops_per_s(const Plan& plan, const Ceilings& ceilings) {
  double most = 0;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (!is_floating(buffer->dtype) || buffer->dtype == DType::ue8m0) continue;
    most =
        std::max(most, buffer->dtype == DType::f32 ? ceilings.f32_flops_per_s
                                                   : rate_of(buffer->dtype, ceilings).flops_per_s);
  }
  return most > 0 ? most : ceilings.f32_flops_per_s;
}

/// The time of so many launches that do nothing. Those that may begin before the one ahead ends
/// count for nothing, and so do all but the first in a graph, where they follow each other sooner.
double least_launches_ns(const Plan& plan, const Ceilings& ceilings, Preparation preparation) {
  double time_ns = ceilings.launch_ns;
  for (std::size_t i = 1; i < plan.launches.size() && preparation != Preparation::graph; ++i) {
    if (!plan.launches[i].early) time_ns += ceilings.next_launch_ns;
  }
  return plan.launches.empty() ? 0 : time_ns;
}

/// The most bytes that the plan's inputs can come in, by where they are.
double bytes_per_s_of(const Ceilings& ceilings, Preparation preparation) {
  const double memory = std::max(ceilings.read_bytes_per_s, ceilings.copy_bytes_per_s);
  if (preparation != Preparation::hot) return memory;
  return ceilings.l2_bytes_per_s > 0 ? std::max(memory, ceilings.l2_bytes_per_s) : 0;
}

}  // namespace

Ceilings measure_ceilings(OperationEngine& engine, Timer& timer, std::size_t l2_bytes) {
  const SupportKernels& support = engine.support();
  Ceilings ceilings;
  ceilings.clock_mhz = timer.boost_clock_mhz();
  {
    std::size_t free_bytes = 0, total_bytes = 0;
    engine.driver().cuMemGetInfo(&free_bytes, &total_bytes);
    const std::size_t bytes = std::min(kMostCopyBytes, free_bytes / 4) / 4096 * 4096;
    const DeviceMemory data = allocate(engine.driver(), bytes);
    support.fill(Generator::normal, DType::f32, data.get(), static_cast<std::int64_t>(bytes / 4), 1,
                 0, 1);
    ceilings.copy_bytes_per_s = copy_bytes_per_s(support, timer, data.get(), bytes);
    ceilings.read_bytes_per_s =
        static_cast<double>(bytes) /
        (timer.quick_median_ns({[&] { support.read(data.get(), bytes); }}, kSamples) * 1e-9);
    ceilings.l2_bytes_per_s = l2_bytes_per_s(support, timer, data.get(), std::min(l2_bytes, bytes));
  }
  const auto launches_ns = [&](int launches) {
    return timer.quick_median_ns({[&] {
                                   for (int i = 0; i < launches; ++i) support.empty();
                                 }},
                                 kSamples);
  };
  ceilings.launch_ns = launches_ns(1);
  ceilings.next_launch_ns =
      std::max(0.0, (launches_ns(1 + kFurtherLaunches) - ceilings.launch_ns) / kFurtherLaunches);
  try {
    engine.cublas();
  } catch (const CudaError&) {
    throw;
  } catch (const Error&) {
    return ceilings;
  }
  const auto rate = [&](const Product& product) {
    return product_flops_per_s(engine, timer, product);
  };
  ceilings.bf16_flops_per_s = rate({DType::bf16, DType::bf16, 8192, CUBLAS_COMPUTE_32F});
  ceilings.fp8_flops_per_s = rate({DType::e4m3, DType::bf16, 8192, CUBLAS_COMPUTE_32F});
  ceilings.tf32_flops_per_s = rate({DType::f32, DType::f32, 8192, CUBLAS_COMPUTE_32F_FAST_TF32});
  ceilings.f32_flops_per_s = rate({DType::f32, DType::f32, 4096, CUBLAS_COMPUTE_32F_PEDANTIC});
  ceilings.f64_flops_per_s = rate({DType::f64, DType::f64, 4096, CUBLAS_COMPUTE_64F});
  ceilings.i8_flops_per_s = rate({DType::i8, DType::i32, 8192, CUBLAS_COMPUTE_32I});
  return ceilings;
}

LeastTimes least_times(const Plan& plan, const Ceilings& ceilings, Preparation preparation,
                       double time_ns) {
  const auto least_ns = [](std::int64_t amount, double rate) {
    return rate > 0 ? static_cast<double>(amount) / rate * 1e9 : 0;
  };
  double operations_ns = least_ns(plan.flops, usual_flops_per_s(plan, ceilings));
  if (time_ns * kMargin < operations_ns) {
    operations_ns = least_ns(plan.flops, fastest_rate(plan, ceilings).flops_per_s);
  }
  return {operations_ns, least_ns(plan.bytes, bytes_per_s_of(ceilings, preparation)),
          least_launches_ns(plan, ceilings, preparation)};
}

double roofline_ns(const Plan& plan, const Ceilings& ceilings, Preparation preparation,
                   double time_ns) {
  const LeastTimes least = least_times(plan, ceilings, preparation, time_ns);
  return std::max(least.operations_ns, least.memory_ns);
}

std::optional<std::string> implausible(const Plan& plan, double time_ns, const Ceilings& ceilings,
                                       Preparation preparation) {
  const OperationRate rate = fastest_rate(plan, ceilings);
  const auto flops = static_cast<double>(plan.flops);
  if (rate.flops_per_s > 0 && time_ns * 1e-9 * rate.flops_per_s * kMargin < flops) {
    return fmt::format("{:.4g} FLOP in {:.4g} ns is {:.3g} TFLOP/s, but this GPU does {:.3g} in {}",
                       flops, time_ns, flops / time_ns * 1e-3, rate.flops_per_s * 1e-12, rate.name);
  }
  // Outputs may still be in L2 when the last event fires. So only what must be read counts.
  std::int64_t written = 0;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (is_output(buffer->role)) written += buffer->bytes();
  }
  const auto bytes = static_cast<double>(plan.bytes - written);
  const bool from_l2 = preparation == Preparation::hot;
  const double bytes_per_s = bytes_per_s_of(ceilings, preparation);
  if (bytes_per_s > 0 && time_ns * 1e-9 * bytes_per_s * (from_l2 ? kL2Margin : kMargin) < bytes) {
    return fmt::format(
        "reading {:.4g} bytes in {:.4g} ns is {:.3g} GB/s, but this GPU does {:.3g} from {}", bytes,
        time_ns, bytes / time_ns, bytes_per_s * 1e-9, from_l2 ? "L2" : "memory");
  }
  const double launches_ns = least_launches_ns(plan, ceilings, preparation);
  if (time_ns * kMargin < launches_ns) {
    return fmt::format("{} launches took {:.4g} ns, but as many that do nothing take {:.4g}",
                       plan.launches.size(), time_ns, launches_ns);
  }
  return {};
}

}  // namespace assay
