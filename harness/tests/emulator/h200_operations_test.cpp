#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "emulator/float_formats.h"
#include "h200/inputs.h"
#include "run_ptx.h"

// Each conversion and each float operation, run as PTX, against what an H200 made of the same
// operands (h200/probe.cu).

namespace assay::emulator {
namespace {

constexpr int kCases = 512;

std::vector<std::uint64_t> run_operation(const std::string& operands, const std::string& name) {
  PtxRun run;
  for (int which = 0; which < 3; ++which) {
    std::vector<std::uint64_t> values;
    for (int number = 0; number < kCases; ++number) {
      values.push_back(h200::operand(number, which));
    }
    run.add(values);
  }
  const std::size_t results = run.add(std::vector<std::uint64_t>(kCases));
  run.shape = {.grid = {kCases / 128, 1, 1}, .block = {128, 1, 1}};
  run.run(h200::operation_ptx(operands, name));
  EXPECT_EQ(run.findings(), "") << name;
  std::vector<std::uint64_t> values = run.get<std::uint64_t>(results);
  for (std::uint64_t& value : values) value = h200::without_payload(name.c_str(), value);
  return values;
}

double decoded(const std::string& name, std::uint64_t bits) {
  const std::string type = name.substr(name.rfind('.') + 1);
  return decode(type == "f64"   ? PtxType::f64
                : type == "f32" ? PtxType::f32
                : type == "f16" ? PtxType::f16
                                : PtxType::bf16,
                bits);
}

/// The documented error of an approximation, and that of a value near it: in ratio to the result,
/// and absolute.
struct Error {
  double relative, absolute;
};

Error error_of(const std::string& name) {
  const std::string type = name.substr(name.rfind('.') + 1);
  if (type == "bf16") return {0x1p-6, 0x1p-133};
  if (type == "f16") return {0x1p-9, 0x1p-24};
  if (type == "f64") return {0x1p-19, 0};
  const std::string function = name.substr(0, name.find('.'));
  if (function == "tanh") return {0x1p-10, 0};
  if (function == "sin" || function == "cos") return {0, 0x1p-14};  // up to 100 pi
  if (function == "lg2") return {0x1p-22, 0x1p-22};
  return {0x1p-21, 0};
}

TEST(H200, ComputesAsItDoes) {
  std::ifstream text(ASSAY_SOURCE_DIR "/harness/tests/emulator/h200/operations.txt");
  int num_operations = 0;
  for (std::string line; std::getline(text, line); ++num_operations) {
    std::istringstream fields(line);
    std::string operands, name, kind;
    fields >> operands >> name >> kind >> std::hex;
    const std::vector<std::uint64_t> made = run_operation(operands, name);
    std::uint64_t expected = 0;
    for (std::size_t i = 0; fields >> expected; ++i) {
      if (kind == "=") {
        if (expected == 0) continue;  // cvt.rna of NaN, of which an H200 keeps the bits
        std::vector<std::uint32_t> words;
        for (std::size_t j = i * 64; j < i * 64 + 64; ++j) {
          words.push_back(static_cast<std::uint32_t>(made[j]));
          words.push_back(static_cast<std::uint32_t>(made[j] >> 32));
        }
        EXPECT_EQ(h200::checksum(words.data(), words.size()), expected)
            << name << ", cases from " << i * 64;
        continue;
      }
      const double a = decoded(name, made[i]), b = decoded(name, expected);
      const double x =
          decoded(name, h200::operand(static_cast<int>(i), 0) & (operands[1] == 'l'   ? ~0ull
                                                                 : operands[1] == 'r' ? 0xFFFFFFFF
                                                                                      : 0xFFFF));
      const bool is_periodic = name.starts_with("sin") || name.starts_with("cos");
      if (is_periodic && std::abs(x) > 314 && std::isfinite(x)) continue;  // nothing is documented
      const Error error = error_of(name);
      EXPECT_TRUE(made[i] == expected ||
                  std::abs(a - b) <= error.relative * std::abs(b) + error.absolute)
          << name << " of " << x << ": " << a << ", not " << b;
    }
  }
  EXPECT_EQ(num_operations, 250);
}

}  // namespace
}  // namespace assay::emulator
