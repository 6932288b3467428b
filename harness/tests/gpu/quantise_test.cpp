// Inputs of small floating numbers with scales, on a real GPU; products of them; and what cuBLASLt
// makes of them.

#include <cmath>
#include <cstring>
#include <map>
#include <string>

#include "gpu_fixture.h"
#include "matchers.h"

namespace assay {
namespace {

constexpr std::int64_t kRows = 37, kColumns = 300;

float from_bf16(const std::string& bytes, std::int64_t i) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + 2 * i, 2);
  bits <<= 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

class QuantisedInputs : public test::GpuTest {
 protected:
  /// X[37,300] of bf16, and what is made of it: Y by `quantise`, and S, its scales.
  KernelSpec kernel_of(const std::string& values, const std::string& scales) {
    folder_.write("q.cu", "");
    return load_kernel(
        folder_.write("q.yaml",
                      "kernel: q\nop: q\narch: [80]\ndims: [M, K]\nargs:\n"
                      "  - {name: X, dtype: bf16, shape: [M, K], role: in}\n"
                      "  - {name: Y, shape: [M, K], role: in, " +
                          values + "}\n" + "  - {name: S, role: in, " + scales + "}\n" +
                          "  - {name: C, dtype: f32, shape: [M], role: out}\n"
                          "launches: [{grid: [1], block: [32]}]\nwork: {flops: 0, bytes: 0}\n"
                          "reference: [{sum: {x: X, out: C}}]\nsmoke: {M: 37, K: 300}\n"));
  }
};

struct Format {
  DType dtype;
  std::int64_t block_rows, block_columns;
  bool transpose, powers_of_two;
};

TEST_F(QuantisedInputs, ValuesAndScalesBelongTogetherHoweverTheyAreDrawn) {
  for (const Format& format : std::vector<Format>{{DType::e4m3, 1, 128, true, false},
                                                  {DType::e4m3, 16, 128, false, false},
                                                  {DType::e5m2, 37, 300, false, false},
                                                  {DType::e2m1, 1, 32, true, true}}) {
    const auto cdiv = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    const std::int64_t down = cdiv(kRows, format.block_rows);
    const std::int64_t across = cdiv(kColumns, format.block_columns);
    const std::int64_t outer = format.transpose ? across : down;
    const std::int64_t width = (format.transpose ? down : across) + 3;
    const bool bytes = format.powers_of_two;
    const KernelSpec kernel = kernel_of(
        fmt::format("dtype: {}, fill: {{quantise: {{of: X, block: [{}, {}], powers_of_two: {}}}}}",
                    to_text(format.dtype), format.block_rows, format.block_columns,
                    format.powers_of_two),
        fmt::format("dtype: {}, shape: [{}, {}], fill: {{scales: {{of: Y, transpose: {}}}}}",
                    bytes ? "ue8m0" : "f32", outer, width, format.transpose));
    OwnKernels own(*this);
    const Plan plan = make_plan(kernel, kernel.smoke, {}, own.info);
    std::map<std::string, std::shared_ptr<Input>> made;
    for (const char* name : {"X", "Y", "S"}) {
      made[name] = own.inputs.get(plan, *plan.find_buffer(name), 1);
    }
    const auto bytes_of = [&](const char* name) {
      const GuardedBuffer& buffer = made[name]->buffer;
      const std::vector<char> read = own.read<char>(buffer.data, buffer.bytes);
      return std::string(read.begin(), read.end());
    };
    for (const DataKind kind : {DataKind::as_drawn, DataKind::large, DataKind::sparse}) {
      for (const char* name : {"X", "Y", "S"}) own.inputs.draw(*made[name], 7, kind);
      const std::string x = bytes_of("X"), y = bytes_of("Y"), s = bytes_of("S");
      for (std::int64_t at = 0; at < down * across; ++at) {
        const std::int64_t row = at / across * format.block_rows;
        const std::int64_t column = at % across * format.block_columns;
        float most = 0;
        for (std::int64_t r = row; r < std::min(kRows, row + format.block_rows); ++r) {
          for (std::int64_t c = column; c < std::min(kColumns, column + format.block_columns);
               ++c) {
            most = std::max(most, std::abs(from_bf16(x, r * kColumns + c)));
          }
        }
        float scale = most == 0 ? 1 : most / static_cast<float>(largest(format.dtype));
        if (format.powers_of_two) scale = std::exp2(std::ceil(std::log2(scale)));
        const std::int64_t place = format.transpose ? at % across * width + at / across
                                                    : at / across * width + at % across;
        if (bytes) {
          EXPECT_EQ(std::uint8_t(s[static_cast<std::size_t>(place)]),
                    small_float_bits(DType::ue8m0, scale));
        } else {
          float found = 0;
          std::memcpy(&found, s.data() + 4 * place, sizeof found);
          EXPECT_EQ(found, scale);
        }
        for (std::int64_t r = row; r < std::min(kRows, row + format.block_rows); ++r) {
          for (std::int64_t c = column; c < std::min(kColumns, column + format.block_columns);
               ++c) {
            const std::int64_t i = r * kColumns + c;
            const int expected = small_float_bits(format.dtype, from_bf16(x, i) / scale);
            const int found =
                format.dtype == DType::e2m1
                    ? std::uint8_t(y[static_cast<std::size_t>(i / 2)]) >> (i % 2 * 4) & 15
                    : std::uint8_t(y[static_cast<std::size_t>(i)]);
            ASSERT_EQ(found, expected) << to_text(format.dtype) << " " << r << " " << c;
          }
        }
      }
      // Behind the scales of a row there is padding.
      EXPECT_EQ(s.substr(s.size() - (bytes ? 1 : 4)), std::string(bytes ? 1 : 4, '\0'));
    }
  }
}

// An output in e4m3 of silu(a b) * (c d) was refused: its bound went with the whole output's size,
// and of millions of elements some have one factor far above the others.
TEST_F(QuantisedInputs, TermsGoWithTheElementsOverTheirScales) {
  const OwnKernels own(*this);
  const Blocks blocks{.batch = 1,
                      .rows = 2,
                      .columns = 128,
                      .block_rows = 1,
                      .block_columns = 128,
                      .down = 2,
                      .across = 1};
  constexpr std::size_t kElements = 256;
  std::vector<float> x(kElements), squares(kElements);
  for (std::size_t i = 0; i < kElements; ++i) {
    x[i] = static_cast<float>(i + 1);
    squares[i] = static_cast<float>(3 * i);
  }
  const auto memory = [&](std::size_t bytes) { return allocate(own.driver, bytes); };
  const DeviceMemory data = memory(kElements * 4), terms = memory(kElements * 4);
  const DeviceMemory made = memory(kElements), made_terms = memory(kElements * 4);
  const DeviceMemory most = memory(2 * 4);
  own.driver.cuMemcpyHtoDAsync(data.get(), x.data(), kElements * 4, own.stream.get());
  own.driver.cuMemcpyHtoDAsync(terms.get(), squares.data(), kElements * 4, own.stream.get());
  own.support.largest(DType::f32, data.get(), blocks, most.get());
  own.support.quantise(DType::f32, data.get(), blocks, most.get(), {448, false}, DType::e4m3,
                       made.get(), terms.get(), made_terms.get());
  const std::vector<float> found = own.read<float>(made_terms.get(), kElements);
  for (std::size_t i = 0; i < kElements; ++i) {
    const float scale = (i < 128 ? 128.0F : 256.0F) / 448;
    ASSERT_FLOAT_EQ(found[i], squares[i] / (scale * scale)) << i;
  }
}

using ScaledProducts = test::RunnerTest;

const char* const kProduct =
    "dims: [M, N, K]\nargs:\n"
    "  - {name: X, dtype: bf16, shape: [M, K], role: in}\n"
    "  - {name: W, dtype: bf16, shape: [N, K], role: in}\n"
    "  - {name: A, dtype: e4m3, shape: [M, K], role: in, fill: {quantise: {of: X, block: [1, "
    "128]}}}\n"
    "  - {name: B, dtype: e4m3, shape: [N, K], role: in, fill: {quantise: {of: W, block: [128, "
    "128]}}}\n"
    "  - {name: SA, dtype: f32, shape: [cdiv(K, 128), 4 * cdiv(M, 4)], role: in, fill: {scales: "
    "{of: A, transpose: true}}}\n"
    "  - {name: SB, dtype: f32, shape: [cdiv(N, 128), 4 * cdiv(K, 512)], role: in, fill: {scales: "
    "B}}\n"
    "  - {name: AT, dtype: e4m3, shape: [M, K], role: in, fill: {quantise: {of: X, block: [M, "
    "K]}}}\n"
    "  - {name: BT, dtype: e4m3, shape: [N, K], role: in, fill: {quantise: {of: W, block: [N, "
    "K]}}}\n"
    "  - {name: SAT, dtype: f32, shape: [1, 1], role: in, fill: {scales: AT}}\n"
    "  - {name: SBT, dtype: f32, shape: [1, 1], role: in, fill: {scales: BT}}\n"
    "  - {name: C, dtype: bf16, shape: [M, N], role: out}\n"
    "  - {name: m, dtype: i32, value: M}\n"
    "  - {name: n, dtype: i32, value: N}\n"
    "  - {name: k, dtype: i32, value: K}\n"
    "reference:\n"
    "  - scaled_gemm: {a: A, a_scales: SA, b: B, b_scales: SB, transpose_a_scales: true, out: C}\n"
    "work: {flops: 2 * M * N * K, bytes: M * K + N * K + 2 * M * N}\n";

/// One thread for each element.
const char* const kNaive =
    "extern \"C\" __global__ void fp8(const unsigned char* a, const float* sa,\n"
    "    const unsigned char* b, const float* sb, unsigned short* c, int m, int n, int k) {\n"
    "  auto value = [](int bits) {\n"
    "    const int e = bits >> 3 & 15, f = bits & 7;\n"
    "    const float size = e == 0 ? f * exp2f(-9) : (8 + f) * exp2f(e - 10);\n"
    "    return bits & 128 ? -size : size; };\n"
    "  const int row = blockIdx.x, columns = (k + 511) / 512 * 4;\n"
    "  for (int column = threadIdx.x; column < n; column += 128) {\n"
    "    float sum = 0;\n"
    "    for (int i = 0; i < k; ++i)\n"
    "      sum += sa[i / 128 * ((m + 3) / 4 * 4) + row] * sb[column / 128 * columns + i / 128] *\n"
    "             value(a[row * k + i]) * value(b[column * k + i]);\n"
    "    const unsigned bits = __float_as_uint(sum);\n"
    "    c[row * n + column] = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16; } }\n";

TEST_F(ScaledProducts, AProductIsRightAlsoWhereNoBlockDividesIt) {
  folder_.write("fp8.cu", kNaive);
  const KernelSpec kernel = load_kernel(folder_.write(
      "fp8.yaml", "kernel: fp8\nop: fp8\narch: [80]\n" + std::string(kProduct) +
                      "launches: [{grid: [M], block: [128], args: [A, SA, B, SB, C, m, n, k]}]\n"
                      "smoke: {M: 37, N: 130, K: 784}\n"));
  const Outcome outcome = runner_->run(request_of(kernel, runner_->info()));
  EXPECT_EQ(to_text(outcome.status), "correct") << outcome.message;
}

TEST_F(ScaledProducts, BaselinesOfCublasLtHaveScalesOfBlocksOrOne) {
  if (test::needs_a_gpu("cuBLASLt")) return;
  folder_.write("work.cu", "extern \"C\" __global__ void work() {}\n");
  const KernelSpec kernel = load_kernel(folder_.write(
      "work.yaml",
      "kernel: work\nop: work\narch: [80]\n" + std::string(kProduct) +
          "launches: [{grid: [1], block: [32], args: [{dtype: i32, value: 1}]}]\n"
          "smoke: {M: 256, N: 384, K: 1024}\nbaseline:\n"
          "  - blocks: [{scaled_gemm: {a: A, a_scales: SA, b: B, b_scales: SB, "
          "transpose_a_scales: true, out: C}}]\n"
          "  - whole: [{scaled_gemm: {a: AT, a_scales: SAT, b: BT, b_scales: SBT, out: C}}]\n"
          "    relative: 0.125\n"
          "  - strict: [{scaled_gemm: {a: AT, a_scales: SAT, b: BT, b_scales: SBT, out: C}}]\n"
          "  - unscaled: [{scaled_gemm: {a: A, a_scales: SAT, b: B, b_scales: SBT, out: C}}]\n"
          "    relative: 0.125\n"));
  if (runner_->info().cc != 90) GTEST_SKIP() << "cuBLASLt has such scales on Hopper GPUs";
  const auto failures = failures_of(kernel);
  EXPECT_EQ(failures.at("blocks"), "");
  EXPECT_EQ(failures.at("whole_other_accuracy"), "");
  EXPECT_THAT(failures.at("strict"), HasSubstr("C["));
  EXPECT_THAT(failures.at("unscaled"), HasSubstr("relative error"));
}

}  // namespace
}  // namespace assay
