// Products are tested with those of an H200 (h200_products_test.cpp).
#include "emulator/tensor_product.h"

#include "h200/inputs.h"
#include "run_ptx.h"

namespace assay::emulator {
namespace {

Matrix8 numbered_rows() {
  Matrix8 rows;
  for (std::size_t i = 0; i < 64; ++i) rows[i / 8][i % 8] = static_cast<std::uint16_t>(i);
  return rows;
}

TEST(TensorWarp, GivesEachLaneTwoNeighboursOfARow) {
  const WarpWords plain = load_matrix(numbered_rows(), false);
  EXPECT_EQ(plain[0], 0x00010000u);
  EXPECT_EQ(plain[5], 8u + 2u + ((8u + 3u) << 16));  // row 1, columns 2 and 3
  EXPECT_EQ(plain[31], 62u + (63u << 16));
  const WarpWords transposed = load_matrix(numbered_rows(), true);
  EXPECT_EQ(transposed[5], 2u * 8 + 1u + ((3u * 8 + 1u) << 16));  // column 1, rows 2 and 3
}

TEST(TensorWarp, StoresWhatWasLoaded) {
  for (const bool transposed : {false, true}) {
    EXPECT_EQ(store_matrix(load_matrix(numbered_rows(), transposed), transposed), numbered_rows());
  }
}

/// Elements of a matrix of wmma in memory, row by row; those between the rows are left out.
std::vector<double> matrix_of(const std::vector<std::uint32_t>& words, const char* layout,
                              const char* type, int rows, int columns) {
  const PtxType format = ptx_type(type);
  const int bits = bits_of(format), pitch = (layout[0] == 'r' ? columns : rows) + 16;
  std::vector<double> result;
  for (int i = 0; i < rows * columns; ++i) {
    const int row = i / columns, column = i % columns;
    const int at = layout[0] == 'r' ? row * pitch + column : column * pitch + row;
    const std::uint32_t word = words[at * bits / 32] >> (at * bits % 32);
    result.push_back(is_float(format) ? decode(format, word)
                     : bits == 32     ? static_cast<std::int32_t>(word)
                     : type[0] == 's' ? static_cast<std::int8_t>(word)
                                      : static_cast<std::uint8_t>(word));
  }
  return result;
}

TEST(TensorWarp, MultipliesMatricesInMemory) {
  for (const char* const text : {"m16n16k16 row col row f16 f32", "m16n16k16 col row col f16 f16",
                                 "m32n8k16 row row col f16 f32", "m8n32k16 col col row f16 f32",
                                 "m16n16k16 row col row bf16 f32", "m32n8k16 col col row bf16 f32",
                                 "m8n32k16 row row col bf16 f32", "m16n16k8 col row col tf32 f32",
                                 "m16n16k16 row col row s8 s32", "m32n8k16 row row row u8 s32",
                                 "m8n32k16 col col col s8 s32"}) {
    const h200::WmmaForm form(text);
    std::vector<std::uint32_t> in(3 * h200::kWmmaWords);
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i] = h200::wmma_word(form, static_cast<int>(i), {h200::kSmallIntegers, 2});
    }
    PtxRun warp;
    warp.add(in);
    warp.add(std::vector<std::uint32_t>(h200::kWmmaWords + 1024));
    warp.shape.block = {32, 1, 1};
    warp.run(h200::wmma_ptx(form));
    EXPECT_EQ(warp.findings(), "") << text;
    const auto part = [&](int number) {
      return std::vector(in.begin() + number * h200::kWmmaWords,
                         in.begin() + (number + 1) * h200::kWmmaWords);
    };
    const auto a = matrix_of(part(0), form.layouts[0], form.factor, form.m, form.k);
    const auto b = matrix_of(part(1), form.layouts[1], form.factor, form.k, form.n);
    auto expected = matrix_of(part(2), form.layouts[2], form.sum, form.m, form.n);
    for (int i = 0; i < form.m * form.n; ++i) {
      for (int k = 0; k < form.k; ++k) {
        expected[i] += a[i / form.n * form.k + k] * b[k * form.n + i % form.n];
      }
    }
    EXPECT_EQ(matrix_of(warp.get<std::uint32_t>(1), form.layouts[2], form.sum, form.m, form.n),
              expected)
        << text;
  }
}

}  // namespace
}  // namespace assay::emulator
