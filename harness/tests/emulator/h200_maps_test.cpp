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
// others leave in the tensor and in shared memory. The copies were drawn, and those kept are enough
// for each pair of mode, type, rank, swizzle, fill, step, place at the edges, and result.

namespace assay::emulator {
namespace {

constexpr std::size_t kTensorWords = 1 << 14, kBoxWords = 1 << 11;

/// Makes the copy of a line, and says what became of it in the line's words. Modes are 0 (load), 1
/// (store), and 2 and the number of an AtomicOperation.
std::string copied(const std::string& line) {
  char* next = const_cast<char*>(line.c_str()) + std::strlen("copy");
  const h200::MapRequest request = h200::read_map(&next);
  const auto number = [&] { return static_cast<int>(std::strtol(next, &next, 10)); };
  const int mode = number();
  std::array<std::int32_t, 5> corner{};
  for (std::int32_t& coordinate : corner) coordinate = number();
  const int seed = number();
  const auto shared = static_cast<std::uint32_t>(number());
  std::vector<std::uint32_t> tensor(kTensorWords), box(kBoxWords);
  h200::fill_copy(tensor.data(), tensor.size(), seed, 0, mode, request.type());
  h200::fill_copy(box.data(), box.size(), seed, 1, mode, request.type());
  CUtensorMap map;
  auto* const memory = reinterpret_cast<unsigned char*>(tensor.data());
  EXPECT_EQ(request.encode(cuTensorMapEncodeTiled, &map, memory), CUDA_SUCCESS);
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
      in_box[i] = view.fill_at(i);
    }
    if (mode == 1 && piece.inside) std::memcpy(in_tensor, in_box, piece.bytes);
    if (mode >= 2 && piece.inside &&
        !reduce_elements(static_cast<AtomicOperation>(mode - 2), element_type(view.type), in_tensor,
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
  int num_maps = 0, num_copies = 0;
  const auto encodes = [&](const h200::MapRequest& request, std::int64_t, int expected) {
    ++num_maps;
    CUtensorMap map;
    auto* const memory = reinterpret_cast<unsigned char*>(1 << 20);
    const int result = request.encode(cuTensorMapEncodeTiled, &map, memory);
    if (result == CUDA_ERROR_NOT_SUPPORTED) return;  // interleaved, which the emulator has not
    EXPECT_EQ(result, expected) << testing::PrintToString(request.fields);
  };
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("map")) {
      h200::read_maps(line.c_str(), encodes);
    } else {
      ++num_copies;
      EXPECT_EQ(copied(line), line.substr(line.find(':') + 1)) << line;
    }
  }
  EXPECT_GT(num_maps, 240);
  EXPECT_GT(num_copies, 160);
}

}  // namespace
}  // namespace assay::emulator
