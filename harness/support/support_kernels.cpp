#include "support/support_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <type_traits>

#include "support/device_word.h"

namespace assay {
namespace {

constexpr std::int64_t kThreads = 256;  // support.cu's kThreads
// Eight blocks of 256 threads fill an SM's 2048 threads; every kernel strides over the rest.
constexpr std::int64_t kBlocksPerSm = 8;
// Elements that a thread adds up, before blocks do: on the emulator most of the work was theirs.
constexpr std::int64_t kAddedUp = 8;

constexpr std::int64_t kBlocksPerZone = 16;  // support.cu's kBlocksPerZone

// Those of support.cu, each called assay_NAME there.
constexpr const char* kNames[] = {
    "fill",        "vary",         "largest",      "quantise", "scales",      "dequantise",
    "hash",        "poison_zones", "guard_zones",  "compare",  "sum_squares", "sum",
    "sort_keys",   "sort_step",    "sort_values",  "gather",   "pointwise",   "square",
    "rowwise",     "gather_rows",  "scatter_rows", "veil",     "poison",      "plant",
    "fill_shared", "occupy",       "narrow",       "read",     "hold",        "stamp",
    "empty"};

/// A warp for each row of each block.
std::int64_t lanes_of(const Blocks& blocks) {
  constexpr std::int64_t kLanes = 32;
  return kLanes * blocks.batch * blocks.rows * blocks.across;
}

}  // namespace

const char* describe(DataKind kind) {
  switch (kind) {
    case DataKind::as_drawn:
      return "as the contract says";
    case DataKind::shifted:
      return "shifted by a quarter of their standard deviation";
    case DataKind::scaled_rows:
      return "scaled by 2^-8 to 1, each row by its own factor";
    case DataKind::sparse:
      return "zero in half of all runs of 32";
    case DataKind::constant:
      return "the same everywhere";
    case DataKind::large:
      return "64 times as large";
    case DataKind::planted:
      return "with a few large values in each row";
  }
  return "";
}

SupportKernels::SupportKernels(const Driver& driver, CUstream stream, const std::string& cubin,
                               int sm_count)
    : driver_(&driver),
      stream_(stream),
      sm_count_(sm_count),
      module_(load_module(driver, cubin)),
      sink_(allocate(driver, sizeof(std::uint32_t))) {
  for (const char* const name : kNames) {
    const std::string symbol = fmt::format("assay_{}", name);
    driver.check(
        driver.cuModuleGetFunction.result(&functions_[name], module_.get(), symbol.c_str()),
        symbol.c_str());
  }
  CUdevice device = 0;
  driver.cuCtxGetDevice(&device);
  int bytes = 0;
  driver.cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                              device);
  shared_bytes_ = static_cast<unsigned>(bytes);
  for (const CUfunction with_shared : {function("fill_shared"), function("occupy")}) {
    driver.cuFuncSetAttribute(with_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
  }
  // Otherwise an SM on which `narrow` runs may be set up with less shared memory than others need.
  driver.cuFuncSetAttribute(function("narrow"), CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                            CU_SHAREDMEM_CARVEOUT_MAX_SHARED);
  driver.cuDeviceGetAttribute(&sm_threads_, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
                              device);
}

CUfunction SupportKernels::function(const char* name) const { return functions_.at(name); }

/// As kernels take it: enumerators and flags are ints there.
template <typename Arg>
static auto as_parameter(const Arg& arg) {
  if constexpr (std::is_enum_v<Arg> || std::is_same_v<Arg, bool>) {
    return static_cast<int>(arg);
  } else {
    return arg;
  }
}

template <typename... Args>
void SupportKernels::launch_blocks(const char* name, const Shape& shape, Args... args) const {
  void* parameters[] = {&args..., nullptr};  // the null keeps the array from being empty
  driver_->check(
      driver_->cuLaunchKernel.result(function(name), static_cast<unsigned>(shape.blocks), 1, 1,
                                     static_cast<unsigned>(shape.threads), 1, 1, shape.shared_bytes,
                                     shape.stream, parameters, nullptr),
      shape.call);
}

template <typename... Args>
void SupportKernels::launch(const char* name, std::int64_t threads, Args... args) const {
  const std::int64_t blocks =
      std::clamp<std::int64_t>((threads + kThreads - 1) / kThreads, 1, sm_count_ * kBlocksPerSm);
  launch_blocks(name, {blocks, kThreads, stream_}, as_parameter(args)...);
}

void SupportKernels::fill(Generator generator, DType dtype, CUdeviceptr out, std::int64_t elements,
                          std::uint64_t key, double first, double second, double third,
                          double fourth, std::uint64_t places) const {
  launch("fill", elements, generator, dtype, out, elements, key, first, second, third, fourth,
         places);
}

void SupportKernels::hash(CUdeviceptr data, std::size_t bytes, CUdeviceptr sum) const {
  launch("hash", static_cast<std::int64_t>(bytes / 8) / kAddedUp, data,
         static_cast<std::uint64_t>(bytes), sum);
}

std::uint64_t SupportKernels::hash_of(CUdeviceptr data, std::size_t bytes) const {
  const DeviceWord<std::uint64_t> word(*this);
  hash(data, bytes, word.pointer());
  return word.read();
}

void SupportKernels::upload(CUdeviceptr to, const void* from, std::size_t bytes) const {
  driver_->cuMemcpyHtoDAsync(to, from, bytes, stream_);
  synchronise();
}

void SupportKernels::download(void* to, CUdeviceptr from, std::size_t bytes) const {
  driver_->cuMemcpyDtoHAsync(to, from, bytes, stream_);
  synchronise();
}

void SupportKernels::poison_zones(CUdeviceptr zones, std::int64_t num_zones) const {
  launch_blocks("poison_zones", {num_zones * kBlocksPerZone, kThreads, stream_}, zones);
}

void SupportKernels::guard_zones(CUdeviceptr zones, std::int64_t num_zones,
                                 CUdeviceptr found) const {
  launch_blocks("guard_zones", {num_zones * kBlocksPerZone, kThreads, stream_}, zones, found);
}

void SupportKernels::compare(DType dtype, CUdeviceptr out, DType reference_dtype,
                             CUdeviceptr reference, CUdeviceptr terms, std::int64_t elements,
                             const ElementBound& bound, CUdeviceptr result) const {
  launch("compare", elements / kAddedUp, dtype, out, reference_dtype, reference, terms, elements,
         bound, result);
}

void SupportKernels::sum(DType dtype, CUdeviceptr data, std::int64_t elements,
                         CUdeviceptr sum) const {
  launch("sum", elements / kAddedUp, dtype, data, elements, sum);
}

std::int64_t SupportKernels::sort_places(std::int64_t elements) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(elements)));
}

void SupportKernels::sort(DType dtype, CUdeviceptr data, std::int64_t elements,
                          CUdeviceptr sorted) const {
  const std::int64_t places = sort_places(elements);
  launch("sort_keys", places, dtype, data, elements, sorted, places);
  for (std::int64_t run = 2; run <= places; run *= 2) {
    for (std::int64_t distance = run / 2; distance > 0; distance /= 2) {
      launch("sort_step", places, sorted, places, run, distance);
    }
  }
  launch("sort_values", elements, dtype, sorted, elements);
}

void SupportKernels::copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) const {
  const DType dtype = bytes % 4 == 0 ? DType::i32 : DType::u8;
  const auto elements = static_cast<std::int64_t>(bytes) / size_bytes(dtype);
  pointwise(Pointwise::copy, {from, 0, 0, 1, dtype}, {}, dtype, to, {1, elements});
}

void SupportKernels::sum_squares(DType dtype, CUdeviceptr data, std::int64_t elements,
                                 CUdeviceptr sum) const {
  launch("sum_squares", elements / kAddedUp, dtype, data, elements, sum);
}

void SupportKernels::gather(DType dtype, CUdeviceptr data, std::int64_t first, std::int64_t step,
                            std::int64_t count, CUdeviceptr out) const {
  launch("gather", count, dtype, data, first, step, count, out);
}

void SupportKernels::pointwise(Pointwise function, const Strided& a, const Strided& b, DType dtype,
                               CUdeviceptr out, const Rows& size, const Strided& a_terms,
                               const Strided& b_terms, CUdeviceptr terms, double slope) const {
  launch("pointwise", size.rows * size.columns, function, a, b, dtype, out, size.rows, size.columns,
         a_terms, b_terms, terms, slope);
}

void SupportKernels::largest(DType dtype, CUdeviceptr data, const Blocks& blocks,
                             CUdeviceptr out) const {
  fill(Generator::zeros, DType::f32, out, blocks.batch * blocks.down * blocks.across, 0, 0, 0);
  launch("largest", lanes_of(blocks), dtype, data, blocks, out);
}

void SupportKernels::quantise(DType from, CUdeviceptr data, const Blocks& blocks,
                              CUdeviceptr largest, const ScaleRule& rule, DType to, CUdeviceptr out,
                              CUdeviceptr x_terms, CUdeviceptr terms) const {
  launch("quantise", lanes_of(blocks), from, data, blocks, largest, static_cast<float>(rule.limit),
         rule.powers_of_two, to, out, x_terms, terms);
}

void SupportKernels::scales(const Blocks& blocks, CUdeviceptr largest, const ScaleRule& rule,
                            const ScalePlaces& places, DType to, CUdeviceptr out) const {
  const std::int64_t outer = places.transpose ? blocks.across : blocks.down;
  launch("scales", blocks.batch * outer * places.width, blocks, largest,
         static_cast<float>(rule.limit), rule.powers_of_two, places.transpose, places.width, to,
         out);
}

void SupportKernels::dequantise(DType from, CUdeviceptr data, const Blocks& blocks,
                                DType scales_dtype, CUdeviceptr scales, const ScalePlaces& places,
                                CUdeviceptr out) const {
  launch("dequantise", lanes_of(blocks), from, data, blocks, scales_dtype, scales, places.transpose,
         places.width, out);
}

void SupportKernels::square(DType from, CUdeviceptr data, std::int64_t elements, DType to,
                            CUdeviceptr out) const {
  launch("square", elements, from, data, elements, to, out);
}

void SupportKernels::rowwise(Rowwise function, const Strided& x, const Strided& weight,
                             const Strided& bias, double epsilon, DType dtype, CUdeviceptr out,
                             const Rows& size, const Strided& x_terms, CUdeviceptr terms) const {
  launch("rowwise", size.rows * kThreads, function, x, weight, bias, epsilon, dtype, out, size.rows,
         size.columns, x_terms, terms);
}

void SupportKernels::gather_rows(const Strided& x, std::int64_t x_rows, const Strided& index,
                                 const Strided& weight, std::int64_t top, DType dtype,
                                 CUdeviceptr out, const Rows& size, const Strided& x_terms,
                                 CUdeviceptr terms) const {
  launch("gather_rows", size.rows * size.columns, x, x_rows, index, weight, top, dtype, out,
         size.rows, size.columns, x_terms, terms);
}

void SupportKernels::scatter_rows(const Strided& x, std::int64_t x_rows, const Strided& index,
                                  DType dtype, CUdeviceptr out, const Rows& size,
                                  const Strided& x_terms, CUdeviceptr terms) const {
  launch("scatter_rows", size.rows * size.columns, x, x_rows, index, dtype, out, size.rows,
         size.columns, x_terms, terms);
}

void SupportKernels::vary(DataKind kind, DType dtype, CUdeviceptr data, std::int64_t elements,
                          std::int64_t columns, std::uint64_t key, double mean, double std) const {
  if (kind == DataKind::planted) {
    const std::int64_t rows = elements / std::max<std::int64_t>(columns, 1);
    launch("plant", rows, dtype, data, rows, columns, key, std);
    return;
  }
  launch("vary", elements, kind, dtype, data, elements, columns, key, mean, std);
}

void SupportKernels::fill_shared() const {
  // On the emulator every block finds NaNs, and two thirds of a short check went into this.
  if (driver_->is_emulated()) return;
  launch_blocks("fill_shared",
                {sm_count_, kThreads, stream_, shared_bytes_, "launch of assay_fill_shared"},
                shared_bytes_);
}

void SupportKernels::occupy(CUstream stream, int sms, std::uint64_t time_ns,
                            CUdeviceptr crowd) const {
  constexpr int kAllThreads = 1024;
  launch_blocks("occupy", {sms, kAllThreads, stream, shared_bytes_, "launch of assay_occupy"},
                time_ns, crowd, sink_.get());
}

int SupportKernels::narrow(CUstream stream, int free_threads, std::uint64_t time_ns,
                           CUdeviceptr crowd) const {
  constexpr int kWarpThreads = 32;
  const int warps = (sm_threads_ - free_threads) / kWarpThreads;
  // Two blocks are enough, but three take 63 warps without a rest.
  const int blocks = warps % 2 == 0 ? 2 : 3;
  launch_blocks("narrow",
                {blocks, warps / blocks * kWarpThreads, stream, 0, "launch of assay_narrow"},
                time_ns, crowd);
  return blocks;
}

void SupportKernels::veil(CUdeviceptr data, std::size_t bytes, std::uint64_t key) const {
  const auto count = static_cast<std::int64_t>(bytes);
  launch("veil", count / 4, data, count, key);
}

void SupportKernels::poison(CUdeviceptr begin, std::size_t bytes) const {
  const auto words = static_cast<std::int64_t>(bytes / sizeof kPoisonWord);
  launch("poison", words / 16, begin, words);
}

void SupportKernels::read(CUdeviceptr data, std::size_t bytes) const {
  const auto vectors = static_cast<std::int64_t>(bytes / 16);
  launch("read", vectors, data, vectors, sink_.get());
}

void SupportKernels::hold(CUdeviceptr published, std::uint32_t ticket,
                          CUdeviceptr timed_out) const {
  launch_blocks("hold", {1, 1, stream_}, published, ticket, timed_out);
}

// One thread for each SM. An idle GPU spreads them out, so one of them runs on the first SM, which
// writes.
void SupportKernels::stamp(CUdeviceptr stamp) const {
  launch_blocks("stamp", {sm_count_, 1, stream_}, stamp);
}

void SupportKernels::empty() const { launch_blocks("empty", {1, 1, stream_}); }

}  // namespace assay
