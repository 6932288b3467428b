#include "launch/argument_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstring>

#include "launch/failure.h"

namespace assay {
namespace {

template <typename T>
T cast(const ScalarPlan& scalar) {
  return std::visit([](auto value) { return static_cast<T>(value); }, scalar.value);
}

/// The upper half of the f32, rounded to nearest even.
std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
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
    case DType::e4m3:
    case DType::e5m2:
    case DType::ue8m0:
    case DType::e2m1:  // as bytes of two: see write_tensor_map
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
    case DType::e4m3:
    case DType::e5m2:
    case DType::ue8m0:
    case DType::e2m1:
    case DType::i64:
    case DType::u64:
      break;
  }
  throw refused("there is no texture of {}", to_text(dtype));
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

}  // namespace

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
    case DType::e4m3:
    case DType::e5m2:
    case DType::ue8m0:
    case DType::e2m1:
      return write(small_float_bits(scalar.dtype, cast<double>(scalar)));
  }
}

/// A descriptor lists the dimensions from the contiguous one outwards. A contract lists them the
/// other way round.
void write_tensor_map(const Driver& driver, const TensorMapPlan& map, const BufferPlan& buffer,
                      CUdeviceptr data, void* slot) {
  const std::size_t rank = buffer.shape.size();
  std::vector<cuuint64_t> extents(buffer.shape.rbegin(), buffer.shape.rend());
  extents[0] = static_cast<cuuint64_t>(size_bytes(buffer.dtype, buffer.shape.back()) /
                                       size_bytes(buffer.dtype));
  const std::vector<cuuint32_t> box(map.box.rbegin(), map.box.rend());
  std::vector<cuuint64_t> strides;  // in bytes, without the contiguous dimension's
  auto pitch = static_cast<cuuint64_t>(size_bytes(buffer.dtype));
  for (std::size_t i = 0; i + 1 < rank; ++i) strides.push_back(pitch *= extents[i]);
  strides.push_back(pitch);  // never read; it keeps the pointer valid for rank 1
  const std::vector<cuuint32_t> element_strides(rank, 1);

  CUtensorMap encoded;
  const CUresult result = driver.cuTensorMapEncodeTiled.result(
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
  const CUresult result = driver.cuTexObjectCreate.result(&object, &resource, &texture, nullptr);
  if (result != CUDA_SUCCESS) {
    driver.fail(result,
                fmt::format("texture of {} [{}]", buffer.name, fmt::join(buffer.shape, ",")));
  }
  return {driver, object};
}

Layout layout_of(const Plan& plan, std::size_t place) {
  const ArgPlan& arg = plan.args[place];
  if (const auto* scalar = std::get_if<ScalarPlan>(&arg)) {
    const std::int64_t bytes = size_bytes(scalar->dtype);
    return {bytes, bytes};
  }
  if (std::holds_alternative<TensorMapPlan>(arg)) return kTensorMapLayout;
  const auto* packed = std::get_if<StructPlan>(&arg);
  if (packed == nullptr) return kPointerLayout;
  StructLayout layout;
  for (const std::size_t member : packed->members) layout.add(layout_of(plan, member));
  return layout.layout();
}

LtShape product_shape(const Plan& plan, const ReferenceSpec& product) {
  std::int64_t batch = 1;
  const auto matrix = [&](const char* operand) {
    const BufferPlan& buffer = *plan.find_buffer(product.operands.at(operand));
    const std::size_t rank = buffer.shape.size();
    if (rank == 3) batch = buffer.shape[0];
    return LtShape::Matrix{buffer.dtype, buffer.shape[rank - 2], buffer.shape[rank - 1]};
  };
  LtShape shape{matrix("a"), matrix("b"), matrix("out")};
  shape.batch = batch;
  shape.transpose_a = std::get<bool>(product.options.at("transpose_a"));
  shape.transpose_b = std::get<bool>(product.options.at("transpose_b"));
  return shape;
}

}  // namespace assay
