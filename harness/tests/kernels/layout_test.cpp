// A contract says how much shared memory a block gets, and SharedLayout where the block lays what
// it has there. Both follow from the same parameters, and nothing else compares the two: a block
// with too little memory fails only where the device's limit is near.

#include "common/wgmma/layout.cuh"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

#include "base/device_info.h"
#include "kernels/test_tunables.h"
#include "space/plan.h"
#include "spec/kernel_spec.h"
#include "spec/twins.h"

namespace {

/// The parameters that the layout follows from.
struct Shape {
  bool swap;
  Mode mode;
  int block_m, block_n, block_k, stages, cluster_k, split_k;
  bool persistent = false;
};

constexpr std::array kShapes = {
    Shape{false, Mode::single, 64, 64, 64, 6, 1, 1},
    Shape{false, Mode::single, 64, 112, 128, 4, 1, 1},
    Shape{false, Mode::single, 64, 128, 64, 5, 2, 1},
    Shape{false, Mode::single, 64, 96, 64, 5, 3, 1},
    Shape{false, Mode::single, 128, 64, 64, 5, 1, 4},
    Shape{false, Mode::cooperative, 128, 256, 64, 4, 1, 1, true},
    Shape{false, Mode::cooperative, 256, 112, 64, 3, 1, 1, true},
    Shape{false, Mode::cooperative, 128, 160, 64, 3, 1, 1},
    Shape{false, Mode::cooperative, 128, 64, 64, 4, 4, 1},
    Shape{false, Mode::cooperative, 256, 64, 64, 4, 3, 2},
    Shape{false, Mode::pingpong, 64, 128, 64, 6, 1, 1, true},
    Shape{false, Mode::pingpong, 128, 192, 64, 4, 1, 1, true},
    Shape{true, Mode::single, 8, 64, 128, 9, 1, 1},
    Shape{true, Mode::single, 16, 128, 64, 12, 2, 1},
    Shape{true, Mode::single, 32, 64, 64, 12, 3, 2},
    Shape{true, Mode::cooperative, 64, 256, 64, 4, 1, 1},
    Shape{true, Mode::cooperative, 32, 128, 128, 4, 4, 1},
    Shape{true, Mode::pingpong, 16, 64, 128, 6, 1, 1, true},
};

template <Shape kShape>
struct Tunables : TestTunables {
  static constexpr int kBlockM = kShape.block_m, kBlockN = kShape.block_n;
  static constexpr int kBlockK = kShape.block_k, kStages = kShape.stages;
  static constexpr Mode kMode = kShape.mode;
  static constexpr bool kSwap = kShape.swap, kPersistent = kShape.persistent;
  static constexpr int kClusterK = kShape.cluster_k, kSplitK = kShape.split_k;
};

template <Shape kShape>
struct OneProduct : Geometry<Tunables<kShape>> {};
template <Shape kShape>
struct Floats : Geometry<Tunables<kShape>> {
  static constexpr bool kStaged = false;
};

/// The layout's end for each shape.
template <template <Shape> typename G, std::size_t... kIndex>
constexpr std::array<int, sizeof...(kIndex)> ends(std::index_sequence<kIndex...>) {
  return {SharedLayout<G<kShapes[kIndex]>>::kEnd...};
}
template <template <Shape> typename G>
constexpr auto kEnds = ends<G>(std::make_index_sequence<kShapes.size()>());

/// What a contract whose BLOCK_K counts so many elements of 16 bits gives a block of the shape.
/// Parameters without part in the layout have their first value.
std::int64_t given(const std::string& name, const Shape& shape, int elements_of_16_bits) {
  const auto folder = std::filesystem::path(ASSAY_SOURCE_DIR) / "kernels";
  const assay::KernelSpec kernel = assay::find_kernel(folder, name).value();
  const std::map<std::string, assay::Value> values = {
      {"SWAP_AB", std::int64_t{shape.swap}},
      {"MODE", std::string(shape.mode == Mode::single        ? "single"
                           : shape.mode == Mode::cooperative ? "cooperative"
                                                             : "pingpong")},
      {"BLOCK_M", std::int64_t{shape.block_m}},
      {"BLOCK_N", std::int64_t{shape.block_n}},
      {"BLOCK_K", std::int64_t{shape.block_k / elements_of_16_bits}},
      {"STAGES", std::int64_t{shape.stages}},
      {"CLUSTER_K", std::int64_t{shape.cluster_k}},
      {"SPLIT_K", std::int64_t{shape.split_k}},
      {"PANELS", std::int64_t{shape.mode == Mode::pingpong ? 1 : 2}},
      {"PERSISTENT", std::int64_t{shape.persistent}}};
  assay::Config config;
  for (const auto& param : kernel.params) {
    const auto found = values.find(param.name);
    config.emplace_back(param.name, found == values.end() ? param.values.front() : found->second);
  }
  const assay::Problem problem = {
      {"M", std::int64_t{4096}}, {"N", std::int64_t{4096}}, {"K", std::int64_t{4096}}};
  return assay::make_plan(kernel, problem, config, assay::nominal_device("90a"))
      .dynamic_smem_bytes();
}

TEST(SharedLayout, IsWhatContractsAskFor) {
  for (const char* name : {"gemm_wgmma", "gemm_wgmma_f16", "ln_linear_gelu", "rms_linear_gelu"}) {
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      EXPECT_EQ(given(name, kShapes[i], 1), kEnds<OneProduct>[i]) << name << ", shape " << i;
    }
  }
}

TEST(SharedLayout, OfFloatsIsWhatContractsAskFor) {
  for (const char* name : {"ln_linear_gelu_f32", "ln_linear_gelu_tf32"}) {
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      if (kShapes[i].split_k > 1) continue;
      EXPECT_EQ(given(name, kShapes[i], 2), kEnds<Floats>[i]) << name << ", shape " << i;
    }
  }
}

}  // namespace
