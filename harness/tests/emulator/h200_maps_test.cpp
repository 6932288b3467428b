#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "emulator/ops.h"
#include "emulator/tensor_map.h"
#include "h200/inputs.h"

// Tensor maps and copies of boxes against what the driver and the copy engine of an H200 did
// (h200/probe.cu): which maps are refused, which copies end a launch, and checksums of what the
// others leave in the tensor and in shared memory.

namespace assay::emulator {
namespace {

struct MapLine {
  int type = 0;
  cuuint32_t rank = 0;
  std::uint64_t address = 0;  // behind an aligned one
  std::array<cuuint64_t, 5> extents{}, strides{};
  std::array<cuuint32_t, 5> box{}, steps{};
  int interleave = 0, swizzle = 0, fill = 0;

  CUresult encode(CUtensorMap* map, std::uint64_t memory) const {
    return encode_tensor_map(
        map, static_cast<CUtensorMapDataType>(type), rank,
        reinterpret_cast<void*>(memory + address), extents.data(), strides.data(), box.data(),
        steps.data(), static_cast<CUtensorMapInterleave>(interleave),
        static_cast<CUtensorMapSwizzle>(swizzle), CU_TENSOR_MAP_L2_PROMOTION_NONE,
        static_cast<CUtensorMapFloatOOBfill>(fill));
  }
};

std::istream& operator>>(std::istream& text, MapLine& map) {
  text >> map.type >> map.rank >> map.address;
  for (auto& extent : map.extents) text >> extent;
  for (auto& stride : map.strides) text >> stride;
  for (auto& side : map.box) text >> side;
  for (auto& step : map.steps) text >> step;
  return text >> map.interleave >> map.swizzle >> map.fill;
}

constexpr std::size_t kTensorWords = 1 << 14, kBoxWords = 1 << 11;
constexpr const char* kModes[] = {"",    "",    "add", "min", "max",
                                  "inc", "dec", "and", "or",  "xor"};  // 0: load, 1: store

/// Makes the copy of a line, and says what became of it in the line's words.
std::string copied(const MapLine& line, std::istream& text) {
  int mode = 0, seed = 0;
  std::array<std::int32_t, 5> corner{};
  std::uint32_t shared = 0;
  text >> mode;
  for (std::int32_t& coordinate : corner) text >> coordinate;
  text >> seed >> shared;
  std::vector<std::uint32_t> tensor(kTensorWords), box(kBoxWords);
  h200::fill_copy(tensor.data(), tensor.size(), seed, 0, mode, line.type);
  h200::fill_copy(box.data(), box.size(), seed, 1, mode, line.type);
  CUtensorMap map;
  EXPECT_EQ(line.encode(&map, reinterpret_cast<std::uint64_t>(tensor.data())), CUDA_SUCCESS);
  const TensorMapView view = decode_tensor_map(&map).value();
  const bool is_load = mode == 0;
  if (shared % 128 != 0) return "716";                                     // misaligned address
  if (!copy_mistake(view, corner, shared, is_load).empty()) return "715";  // illegal instruction
  for (const BoxPiece& piece : box_pieces(view, corner, shared, is_load)) {
    if (piece.shared - shared >= kBoxWords * 4) continue;  // not looked at
    auto* const in_box = reinterpret_cast<std::byte*>(box.data()) + (piece.shared - shared);
    auto* const in_tensor = reinterpret_cast<std::byte*>(piece.global);
    if (is_load && piece.inside) std::memcpy(in_box, in_tensor, piece.bytes);
    for (std::uint32_t i = 0; is_load && !piece.inside && i < piece.bytes; ++i) {
      in_box[i] = fill_bytes(view)[i % 16];
    }
    if (mode == 1 && piece.inside) std::memcpy(in_tensor, in_box, piece.bytes);
    if (mode >= 2 && piece.inside &&
        !reduce_elements(parse_atomic(kModes[mode]).value(), reduction_type(view.type), in_tensor,
                         in_box, piece.bytes)) {
      return "715";
    }
  }
  std::ostringstream result;
  result << "1 " << std::hex << h200::checksum(tensor.data(), tensor.size()) << " "
         << h200::checksum(box.data(), box.size());
  return result.str();
}

TEST(H200, EncodesTensorMapsAndCopiesBoxes) {
  std::ifstream file(ASSAY_SOURCE_DIR "/harness/tests/emulator/h200/tensor_maps.txt");
  int num_lines = 0;
  for (std::string line; std::getline(file, line); ++num_lines) {
    const std::size_t colon = line.find(':');
    std::istringstream text(line.substr(0, colon));
    const std::string expected = line.substr(colon + 1);
    std::string kind;
    MapLine map;
    text >> kind >> map;
    if (kind == "copy") {
      EXPECT_EQ(copied(map, text), expected) << line;
    } else {
      CUtensorMap encoded;
      const CUresult result = map.encode(&encoded, 1 << 20);
      if (result == CUDA_ERROR_NOT_SUPPORTED) continue;  // interleaved, which the emulator has not
      EXPECT_EQ(std::to_string(result), expected) << line;
    }
  }
  EXPECT_GT(num_lines, 400);
}

}  // namespace
}  // namespace assay::emulator
