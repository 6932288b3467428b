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

constexpr std::size_t kMostCopyBytes = std::size_t{2} << 30;
constexpr int kSamples = 5;
constexpr int kProductSamples = 3;

double copy_bytes_per_s(const Driver& driver, CUstream stream, Timer& timer, CUdeviceptr data,
                        std::size_t bytes) {
  const std::size_t half = bytes / 2;
  const Work copy = [&] {
    driver.check(driver.cuMemcpyDtoDAsync(data + half, data, half, stream), "cuMemcpyDtoDAsync");
  };
  return 2.0 * static_cast<double>(half) / (timer.quick_median_ns({copy}, kSamples) * 1e-9);
}

double product_flops_per_s(const Driver& driver, CUstream stream, const SupportKernels& support,
                           const Cublas& cublas, Timer& timer, DType dtype, std::int64_t size,
                           cublasComputeType_t compute) {
  const auto matrix_bytes = static_cast<std::size_t>(size * size * size_bytes(dtype));
  const DeviceMemory a = allocate(driver, matrix_bytes);
  const DeviceMemory b = allocate(driver, matrix_bytes);
  const DeviceMemory c = allocate(driver, matrix_bytes);
  support.fill(Generator::normal, dtype, a.get(), size * size, generator_key(1, "a"), 0, 1);
  support.fill(Generator::normal, dtype, b.get(), size * size, generator_key(1, "b"), 0, 1);
  OperationCall call;
  call.operands["a"] = {a.get(), dtype, {size, size}};
  call.operands["b"] = {b.get(), dtype, {size, size}};
  call.operands["out"] = {c.get(), dtype, {size, size}};
  call.options = {{"transpose_a", false}, {"transpose_b", true}};
  const LtMatmul product(driver, stream, cublas, call, compute);
  product.enqueue(0, c.get());
  driver.check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
  const double time_ns =
      timer.quick_median_ns({[&] { product.enqueue(0, c.get()); }}, kProductSamples);
  const auto n = static_cast<double>(size);
  return 2 * n * n * n / (time_ns * 1e-9);
}

bool only_f32(const Plan& plan) {
  const std::vector<const BufferPlan*> buffers = plan.buffers();
  return std::all_of(buffers.begin(), buffers.end(), [](const BufferPlan* buffer) {
    return !is_floating(buffer->dtype) || buffer->dtype == DType::f32 ||
           buffer->dtype == DType::f64;
  });
}

}  // namespace

Ceilings measure_ceilings(const Driver& driver, CUstream stream, const SupportKernels& support,
                          OperationEngine& engine, Timer& timer) {
  Ceilings ceilings;
  ceilings.clock_mhz = timer.boost_clock_mhz();
  {
    std::size_t free_bytes = 0, total_bytes = 0;
    driver.check(driver.cuMemGetInfo(&free_bytes, &total_bytes), "cuMemGetInfo");
    const std::size_t bytes = std::min(kMostCopyBytes, free_bytes / 4) / 4096 * 4096;
    const DeviceMemory data = allocate(driver, bytes);
    support.fill(Generator::normal, DType::f32, data.get(), static_cast<std::int64_t>(bytes / 4), 1,
                 0, 1);
    ceilings.copy_bytes_per_s = copy_bytes_per_s(driver, stream, timer, data.get(), bytes);
    ceilings.read_bytes_per_s =
        static_cast<double>(bytes) /
        (timer.quick_median_ns({[&] { support.read(data.get(), bytes); }}, kSamples) * 1e-9);
  }
  const Cublas* cublas = nullptr;
  try {
    cublas = &engine.cublas();
  } catch (const CudaError&) {
    throw;
  } catch (const Error&) {
    return ceilings;
  }
  ceilings.bf16_flops_per_s = product_flops_per_s(driver, stream, support, *cublas, timer,
                                                  DType::bf16, 8192, CUBLAS_COMPUTE_32F);
  ceilings.f32_flops_per_s = product_flops_per_s(driver, stream, support, *cublas, timer,
                                                 DType::f32, 4096, CUBLAS_COMPUTE_32F_PEDANTIC);
  return ceilings;
}

double roofline_ns(const Plan& plan, const Ceilings& ceilings) {
  const auto least_ns = [](std::int64_t amount, double rate) {
    return rate > 0 ? static_cast<double>(amount) / rate * 1e9 : 0;
  };
  const double flops_per_s = only_f32(plan) ? ceilings.f32_flops_per_s : ceilings.bf16_flops_per_s;
  const double bytes_per_s = std::max(ceilings.read_bytes_per_s, ceilings.copy_bytes_per_s);
  return std::max(least_ns(plan.flops, flops_per_s), least_ns(plan.bytes, bytes_per_s));
}

std::optional<std::string> implausible(const Plan& plan, double time_ns, const Ceilings& ceilings) {
  // fp32 products may run on tensor cores as tf32, at half the rate of bf16. That is allowed.
  const double flops_per_s = ceilings.bf16_flops_per_s * (only_f32(plan) ? 0.5 : 1.0);
  const auto flops = static_cast<double>(plan.flops);
  if (flops_per_s > 0 && time_ns * 1e-9 * flops_per_s * kMargin < flops) {
    return fmt::format("{:.4g} FLOP in {:.4g} ns is {:.3g} TFLOP/s, but this GPU does {:.3g}",
                       flops, time_ns, flops / time_ns * 1e-3, flops_per_s * 1e-12);
  }
  // Outputs may still be in L2 when the last event fires. So only what must be read counts.
  std::int64_t written = 0;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (is_output(buffer->role)) written += buffer->bytes();
  }
  const auto bytes = static_cast<double>(plan.bytes - written);
  const double bytes_per_s = std::max(ceilings.read_bytes_per_s, ceilings.copy_bytes_per_s);
  if (bytes_per_s > 0 && time_ns * 1e-9 * bytes_per_s * kMargin < bytes) {
    return fmt::format("reading {:.4g} bytes in {:.4g} ns is {:.3g} GB/s, but this GPU does {:.3g}",
                       bytes, time_ns, bytes / time_ns, bytes_per_s * 1e-9);
  }
  return {};
}

}  // namespace assay
