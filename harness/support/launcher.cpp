#include "support/launcher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <map>

#include "support/failure.h"

namespace assay {
namespace {

constexpr std::size_t kMostNames = 4;
constexpr std::size_t kMostPaddingBytes = 256;

template <typename T>
T cast(const ScalarPlan& scalar) {
  return std::visit([](auto value) { return static_cast<T>(value); }, scalar.value);
}

/// The upper half of the f32, rounded to nearest even.
std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

void write_scalar(const ScalarPlan& scalar, void* slot) {
  const auto write = [slot](auto value) { std::memcpy(slot, &value, sizeof value); };
  switch (scalar.dtype) {
    case DType::i8:
      return write(cast<std::int8_t>(scalar));
    case DType::u8:
      return write(cast<std::uint8_t>(scalar));
    case DType::i16:
      return write(cast<std::int16_t>(scalar));
    case DType::u16:
      return write(cast<std::uint16_t>(scalar));
    case DType::i32:
      return write(cast<std::int32_t>(scalar));
    case DType::u32:
      return write(cast<std::uint32_t>(scalar));
    case DType::i64:
      return write(cast<std::int64_t>(scalar));
    case DType::u64:
      return write(cast<std::uint64_t>(scalar));
    case DType::f32:
      return write(cast<float>(scalar));
    case DType::f64:
      return write(cast<double>(scalar));
    case DType::bf16:
      return write(bf16_bits(cast<float>(scalar)));
    case DType::f16:
      return write(static_cast<_Float16>(cast<float>(scalar)));
  }
}

CUtensorMapDataType tensor_map_type(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case DType::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case DType::i64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case DType::u16:
    case DType::i16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case DType::u32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case DType::u64:
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case DType::u8:
    case DType::i8:
      break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

CUtensorMapSwizzle swizzle_mode(int bytes) {
  if (bytes == 32) return CU_TENSOR_MAP_SWIZZLE_32B;
  if (bytes == 64) return CU_TENSOR_MAP_SWIZZLE_64B;
  if (bytes == 128) return CU_TENSOR_MAP_SWIZZLE_128B;
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

/// A descriptor lists the dimensions from the contiguous one outwards. A contract lists them the
/// other way round.
void write_tensor_map(const Driver& driver, const TensorMapPlan& map, const BufferPlan& buffer,
                      CUdeviceptr data, void* slot) {
  const std::size_t rank = buffer.shape.size();
  if (rank == 0 || rank > 5 || map.box.size() != rank) {
    throw refused(
        fmt::format("tensor map {}: {} has {} dimensions and the box {}; both need the "
                    "same number, 1 to 5",
                    map.name, map.of, rank, map.box.size()));
  }
  const std::vector<cuuint64_t> extents(buffer.shape.rbegin(), buffer.shape.rend());
  std::vector<cuuint32_t> box;
  for (auto side = map.box.rbegin(); side != map.box.rend(); ++side) {
    // A size that does not fit in 32 bits becomes 0, which the driver refuses.
    box.push_back(std::in_range<cuuint32_t>(*side) ? static_cast<cuuint32_t>(*side) : 0);
  }
  std::vector<cuuint64_t> strides;  // in bytes, without the contiguous dimension's
  auto pitch = static_cast<cuuint64_t>(size_bytes(buffer.dtype));
  for (std::size_t i = 0; i + 1 < rank; ++i) strides.push_back(pitch *= extents[i]);
  strides.push_back(pitch);  // never read; it keeps the pointer valid for rank 1
  const std::vector<cuuint32_t> element_strides(rank, 1);

  CUtensorMap encoded;
  const CUresult result = driver.cuTensorMapEncodeTiled(
      &encoded, tensor_map_type(buffer.dtype), static_cast<cuuint32_t>(rank),
      reinterpret_cast<void*>(data), extents.data(), strides.data(), box.data(),
      element_strides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_mode(map.swizzle_bytes),
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    driver.fail(result, fmt::format("tensor map {} of {} [{}], box [{}], swizzle {}", map.name,
                                    map.of, fmt::join(buffer.shape, ","), fmt::join(map.box, ","),
                                    map.swizzle_bytes));
  }
  std::memcpy(slot, &encoded, sizeof encoded);
}

CUarray_format texture_format(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return CU_AD_FORMAT_UNSIGNED_INT8;
    case DType::u16:
      return CU_AD_FORMAT_UNSIGNED_INT16;
    case DType::u32:
      return CU_AD_FORMAT_UNSIGNED_INT32;
    case DType::i8:
      return CU_AD_FORMAT_SIGNED_INT8;
    case DType::i16:
      return CU_AD_FORMAT_SIGNED_INT16;
    case DType::i32:
      return CU_AD_FORMAT_SIGNED_INT32;
    case DType::f16:
      return CU_AD_FORMAT_HALF;
    case DType::f32:
      return CU_AD_FORMAT_FLOAT;
    case DType::bf16:
    case DType::f64:
    case DType::i64:
    case DType::u64:
      break;
  }
  throw refused(fmt::format("there is no texture of {}", to_text(dtype)));
}

CUaddress_mode address_mode(AddressMode mode) {
  switch (mode) {
    case AddressMode::clamp:
      return CU_TR_ADDRESS_MODE_CLAMP;
    case AddressMode::border:
      return CU_TR_ADDRESS_MODE_BORDER;
    case AddressMode::wrap:
      return CU_TR_ADDRESS_MODE_WRAP;
    case AddressMode::mirror:
      return CU_TR_ADDRESS_MODE_MIRROR;
  }
  return CU_TR_ADDRESS_MODE_CLAMP;
}

/// A texture that reads the buffer where it lies.
Texture make_texture(const Driver& driver, const BufferPlan& buffer, CUdeviceptr data) {
  const TextureSpec& spec = *buffer.texture;
  const auto bytes = static_cast<std::size_t>(buffer.bytes());
  const auto texel_bytes = static_cast<std::size_t>(spec.channels * size_bytes(buffer.dtype));
  CUDA_RESOURCE_DESC resource{};
  if (buffer.shape.size() == (spec.channels > 1 ? 2 : 1)) {
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    auto& linear = resource.res.linear;
    linear.devPtr = data;
    linear.format = texture_format(buffer.dtype);
    linear.numChannels = static_cast<unsigned>(spec.channels);
    linear.sizeInBytes = bytes;
  } else {
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    auto& image = resource.res.pitch2D;
    image.devPtr = data;
    image.format = texture_format(buffer.dtype);
    image.numChannels = static_cast<unsigned>(spec.channels);
    image.height = static_cast<std::size_t>(buffer.shape[0]);
    image.pitchInBytes = bytes / image.height;
    image.width = image.pitchInBytes / texel_bytes;
  }
  CUDA_TEXTURE_DESC texture{};
  for (CUaddress_mode& mode : texture.addressMode) mode = address_mode(spec.address);
  texture.filterMode = spec.linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
  if (!is_floating(buffer.dtype)) texture.flags |= CU_TRSF_READ_AS_INTEGER;
  if (spec.normalized) texture.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  CUtexObject object = 0;
  const CUresult result = driver.cuTexObjectCreate(&object, &resource, &texture, nullptr);
  if (result != CUDA_SUCCESS) {
    driver.fail(result,
                fmt::format("texture of {} [{}]", buffer.name, fmt::join(buffer.shape, ",")));
  }
  return {driver, object};
}

unsigned extent(std::int64_t value, const char* what, const LaunchPlan& plan) {
  if (value < 1 || !std::in_range<unsigned>(value)) {
    throw refused(fmt::format("launch of {}: a {} of {} is outside 1..{}", plan.entry, what, value,
                              std::numeric_limits<unsigned>::max()));
  }
  return static_cast<unsigned>(value);
}

const std::string& symbol_of(const LaunchPlan& plan) {
  return plan.symbol.empty() ? plan.entry : plan.symbol;
}

}  // namespace

Launcher::Launcher(const Driver& driver, const Plan& plan, const std::string& cubin,
                   const AddressOf& address_of, std::shared_ptr<const Module> loaded)
    : driver_(&driver),
      module_(loaded ? std::move(loaded)
                     : std::make_shared<const Module>(load_module(driver, cubin))) {
  bind(driver, plan, address_of);
  if (uses_heap(cubin)) {
    throw Failure(Status::correctness, "state",
                  "calls malloc: what it leaves in the device's heap is there for the next launch; "
                  "use scratch memory, which outlives no launch");
  }
  std::map<std::string, std::int64_t> constants = constants_of(cubin);
  for (const BufferPlan* buffer : plan.buffers()) constants.erase(buffer->symbol);
  variables_ = find(variables_of(cubin), constants);
  std::map<std::string, std::int64_t> most_smem_bytes;  // the attribute belongs to the entry
  for (const auto* launches : {&plan.launches, &plan.prepare}) {
    for (const LaunchPlan& launch : *launches) {
      std::int64_t& most = most_smem_bytes[symbol_of(launch)];
      most = std::max(most, launch.smem_bytes);
    }
  }
  const auto add = [&](const std::vector<LaunchPlan>& plans, std::vector<Launch>& launches) {
    for (const LaunchPlan& launch : plans) {
      launches.push_back(set_up(launch, most_smem_bytes[symbol_of(launch)], launches.empty()));
    }
  };
  add(plan.launches, launches_);
  add(plan.prepare, preparing_);
}

void Launcher::bind(const Driver& driver, const Plan& plan, const AddressOf& address_of) {
  slots_.resize(plan.args.size());
  for (std::size_t i = 0; i < plan.args.size(); ++i) {
    void* slot = slots_[i].bytes;
    if (const auto* scalar = std::get_if<ScalarPlan>(&plan.args[i])) {
      write_scalar(*scalar, slot);
    } else if (const auto* map = std::get_if<TensorMapPlan>(&plan.args[i])) {
      if (map->box.empty()) continue;  // no descriptor: the argument stays zero
      write_tensor_map(driver, *map, *plan.find_buffer(map->of), address_of(map->of), slot);
    } else {
      const auto& buffer = std::get<BufferPlan>(plan.args[i]);
      const CUdeviceptr data = address_of(buffer.name);
      std::memcpy(slot, &data, sizeof data);
      if (buffer.texture) {
        textures_.push_back(make_texture(driver, buffer, data));
        const CUtexObject object = textures_.back().get();
        std::memcpy(slot, &object, sizeof object);
      }
      const auto bytes = static_cast<std::size_t>(buffer.bytes());
      const auto zeroed = static_cast<std::size_t>(buffer.zeroed * size_bytes(buffer.dtype));
      if (zeroed > 0) memsets_.push_back({data, zeroed});
      if (!buffer.copy_of.empty()) copies_.push_back({data, address_of(buffer.copy_of), bytes});
      if (!buffer.symbol.empty()) symbols_.push_back({find_symbol(buffer), data, bytes});
    }
  }
}

void Launcher::set(const ScalarPlan& scalar, std::size_t place) {
  write_scalar(scalar, slots_.at(place).bytes);
}

CUdeviceptr Launcher::find_symbol(const BufferPlan& buffer) const {
  CUdeviceptr data = 0;
  std::size_t bytes = 0;
  const CUresult found =
      driver_->cuModuleGetGlobal(&data, &bytes, module_->get(), buffer.symbol.c_str());
  if (found == CUDA_ERROR_NOT_FOUND) {
    throw refused(fmt::format("the compiled kernel has no variable {}", buffer.symbol));
  }
  driver_->check(found, "cuModuleGetGlobal");
  if (bytes < static_cast<std::size_t>(buffer.bytes())) {
    throw refused(fmt::format("{} has {} bytes, but the variable {} has {}", buffer.name,
                              buffer.bytes(), buffer.symbol, bytes));
  }
  return data;
}

Launcher::Launch Launcher::set_up(const LaunchPlan& plan, std::int64_t most_smem_bytes,
                                  bool is_first) {
  Launch launch;
  for (const std::size_t arg : plan.args) launch.parameters.push_back(slots_.at(arg).bytes);
  const CUresult found =
      driver_->cuModuleGetFunction(&launch.function, module_->get(), symbol_of(plan).c_str());
  if (found == CUDA_ERROR_NOT_FOUND) {
    throw Failure(Status::runtime, "missing_entry",
                  fmt::format("the compiled kernel has no entry {}", plan.entry));
  }
  driver_->check(found, "cuModuleGetFunction");

  CUlaunchConfig& config = launch.config;
  config.gridDimX = extent(plan.grid[0], "grid", plan);
  config.gridDimY = extent(plan.grid[1], "grid", plan);
  config.gridDimZ = extent(plan.grid[2], "grid", plan);
  config.blockDimX = extent(plan.block[0], "block", plan);
  config.blockDimY = extent(plan.block[1], "block", plan);
  config.blockDimZ = extent(plan.block[2], "block", plan);
  launch.call =
      fmt::format("launch of {}, grid [{}], block [{}], {} bytes of shared memory", plan.entry,
                  fmt::join(plan.grid, ","), fmt::join(plan.block, ","), plan.smem_bytes);
  if (plan.smem_bytes < 0 || !std::in_range<int>(most_smem_bytes)) {
    throw refused(launch.call + ": no such amount of shared memory");
  }
  config.sharedMemBytes = static_cast<unsigned>(plan.smem_bytes);
  if (most_smem_bytes > 0) {
    const CUresult result = driver_->cuFuncSetAttribute(
        launch.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        static_cast<int>(most_smem_bytes));
    if (result != CUDA_SUCCESS) driver_->fail(result, launch.call);
  }
  if (plan.carveout >= 0) {
    driver_->check(
        driver_->cuFuncSetAttribute(
            launch.function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, plan.carveout),
        "cuFuncSetAttribute");
  }

  const std::int64_t blocks = plan.cluster[0] * plan.cluster[1] * plan.cluster[2];
  if (blocks != 1) {
    launch.call += fmt::format(", cluster [{}]", fmt::join(plan.cluster, ","));
    CUlaunchAttribute& cluster = launch.attributes.emplace_back();
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = extent(plan.cluster[0], "cluster", plan);
    cluster.value.clusterDim.y = extent(plan.cluster[1], "cluster", plan);
    cluster.value.clusterDim.z = extent(plan.cluster[2], "cluster", plan);
    constexpr std::int64_t kPortableClusterBlocks = 8;
    if (blocks > kPortableClusterBlocks) {
      const CUresult result = driver_->cuFuncSetAttribute(
          launch.function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
      if (result != CUDA_SUCCESS) driver_->fail(result, launch.call);
    }
  }
  // The first launch of a trial always waits for what is ahead of it. So what is timed does not
  // overlap with what is not.
  if (plan.early && !is_first) {
    CUlaunchAttribute& early = launch.attributes.emplace_back();
    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early.value.programmaticStreamSerializationAllowed = 1;
  }
  return launch;
}

/// The driver places each variable by itself, on an H200 at multiples of 256 bytes, and
/// `__constant__` ones, which a kernel can write through an ordinary pointer, among them. What pads
/// two variables is taken as theirs: a kernel could keep something there.
std::vector<ModuleMemory> Launcher::find(
    const std::vector<std::string>& variables,
    const std::map<std::string, std::int64_t>& constants) const {
  struct Piece {
    CUdeviceptr begin, end;
    std::string name;
  };
  std::vector<Piece> pieces;
  for (const std::string& name : variables) {
    CUdeviceptr data = 0;
    std::size_t bytes = 0;
    const CUresult found = driver_->cuModuleGetGlobal(&data, &bytes, module_->get(), name.c_str());
    if (found == CUDA_ERROR_NOT_FOUND) {
      throw refused(
          fmt::format("nothing says where the variable {} of the compiled kernel is, so "
                      "nothing could tell whether launches change it",
                      name));
    }
    driver_->check(found, "cuModuleGetGlobal");
    pieces.push_back({data / 8 * 8, (data + bytes + 7) / 8 * 8, name});
  }
  for (const auto& [name, size] : constants) {
    CUdeviceptr data = 0;
    std::size_t bytes = 0;
    const CUresult found = driver_->cuModuleGetGlobal(&data, &bytes, module_->get(), name.c_str());
    if (found == CUDA_ERROR_NOT_FOUND) continue;  // a table of the compiler's own
    driver_->check(found, "cuModuleGetGlobal");
    pieces.push_back({data / 8 * 8, (data + bytes + 7) / 8 * 8, name});
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.begin < b.begin; });

  std::vector<ModuleMemory> found;
  std::size_t num_names = 0;  // of the last in `found`
  for (const Piece& piece : pieces) {
    const auto is_between = [&](const Copy& symbol) {
      return symbol.to >= found.back().data && symbol.to < piece.begin;
    };
    if (found.empty() || piece.begin > found.back().data + found.back().bytes + kMostPaddingBytes ||
        std::any_of(symbols_.begin(), symbols_.end(), is_between)) {
      found.push_back({piece.begin, piece.end - piece.begin, piece.name});
      num_names = 1;
      continue;
    }
    ModuleMemory& last = found.back();
    last.bytes = std::max<std::size_t>(last.bytes, piece.end - last.data);
    if (++num_names <= kMostNames) last.names += ", " + piece.name;
    if (num_names == kMostNames + 1) last.names += ", ...";
  }
  return found;
}

void Launcher::write_symbols(CUstream stream) const {
  for (const Copy& copy : symbols_) {
    driver_->check(driver_->cuMemcpyDtoDAsync(copy.to, copy.from, copy.bytes, stream),
                   "cuMemcpyDtoDAsync");
  }
}

void Launcher::enqueue(CUstream stream) const {
  for (const Memset& memset : memsets_) {
    driver_->check(driver_->cuMemsetD8Async(memset.data, 0, memset.bytes, stream),
                   "cuMemsetD8Async");
  }
  for (const Copy& copy : copies_) {
    driver_->check(driver_->cuMemcpyDtoDAsync(copy.to, copy.from, copy.bytes, stream),
                   "cuMemcpyDtoDAsync");
  }
  enqueue(launches_, stream);
}

void Launcher::enqueue(const std::vector<Launch>& launches, CUstream stream) const {
  for (const Launch& launch : launches) {
    CUlaunchConfig config = launch.config;
    config.hStream = stream;
    // The driver takes pointers to non-const attributes and parameters, but only reads them.
    config.attrs = const_cast<CUlaunchAttribute*>(launch.attributes.data());
    config.numAttrs = static_cast<unsigned>(launch.attributes.size());
    const CUresult result = driver_->cuLaunchKernelEx(
        &config, launch.function, const_cast<void**>(launch.parameters.data()), nullptr);
    if (result != CUDA_SUCCESS) driver_->fail(result, launch.call);
  }
}

}  // namespace assay
