#include "judge/host_products.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace assay {
namespace {

template <typename T>
std::vector<double> copy_as(const Operand& operand) {
  const auto* const data = reinterpret_cast<const T*>(operand.data);
  std::vector<double> values(static_cast<std::size_t>(operand.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, std::uint16_t>) {  // bf16
      values[i] = std::bit_cast<float>(std::uint32_t{data[i]} << 16);
    } else {
      values[i] = static_cast<double>(data[i]);
    }
  }
  return values;
}

std::vector<double> host_values(const Operand& operand) {
  switch (operand.dtype) {
    case DType::bf16:
      return copy_as<std::uint16_t>(operand);
    case DType::f16:
      return copy_as<_Float16>(operand);
    case DType::f32:
      return copy_as<float>(operand);
    case DType::f64:
      return copy_as<double>(operand);
    case DType::i32:
      return copy_as<std::int32_t>(operand);
    default:
      throw oracle_failure("the host multiplies no elements of {}", to_text(operand.dtype));
  }
}

/// The nearest bf16, and of two the even one.
std::uint16_t to_bf16(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void write_values(const Operand& out, std::int64_t first, const std::vector<double>& values) {
  const auto write = [&](auto round) {
    auto* const data = reinterpret_cast<decltype(round(0.0))*>(out.data) + first;
    for (std::size_t i = 0; i < values.size(); ++i) data[i] = round(values[i]);
  };
  switch (out.dtype) {
    case DType::bf16:
      return write(to_bf16);
    case DType::f16:
      return write([](double value) { return static_cast<_Float16>(value); });
    case DType::f32:
      return write([](double value) { return static_cast<float>(value); });
    case DType::f64:
      return write([](double value) { return value; });
    default:
      throw oracle_failure("the host makes no product of {}", to_text(out.dtype));
  }
}

/// The matrix with its rows as columns.
std::vector<double> transposed(const std::vector<double>& matrix, std::size_t rows) {
  const std::size_t columns = matrix.size() / rows;
  std::vector<double> made(matrix.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      made[column * rows + row] = matrix[row * columns + column];
    }
  }
  return made;
}

}  // namespace

void multiply_on_host(const GemmShape& gemm, const Operand& a, const Operand& b,
                      const Operand& out) {
  const auto m = static_cast<std::size_t>(gemm.m), n = static_cast<std::size_t>(gemm.n),
             k = static_cast<std::size_t>(gemm.k);
  std::vector<double> x = host_values(a), y = host_values(b);
  if (gemm.transpose_a) x = transposed(x, k);
  if (gemm.transpose_b) y = transposed(y, n);
  std::vector<double> sums(n);
  for (std::size_t row = 0; row < m; ++row) {
    sums.assign(n, 0);
    for (std::size_t i = 0; i < k; ++i) {
      const double factor = x[row * k + i];
      const double* const terms = y.data() + i * n;
      for (std::size_t column = 0; column < n; ++column) sums[column] += factor * terms[column];
    }
    write_values(out, static_cast<std::int64_t>(row * n), sums);
  }
}

void multiply_sparse_on_host(const OperationCall& call) {
  const std::vector<double> starts = host_values(call.operand("starts")),
                            columns = host_values(call.operand("columns")),
                            values = host_values(call.operand("values")),
                            x = host_values(call.operand("x"));
  std::vector<double> sums;
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    const double begin = starts[row], end = starts[row + 1];
    const bool is_last = row + 2 == starts.size();
    if (begin > end || (row == 0 && begin != 0) || end > static_cast<double>(values.size()) ||
        (is_last && end != static_cast<double>(values.size()))) {
      throw oracle_failure(
          "spmv: starts must rise from 0 to the {} values, found {} to {} in row {}", values.size(),
          begin, end, row);
    }
    double sum = 0;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      if (!(columns[i] >= 0 && columns[i] < static_cast<double>(x.size()))) {
        throw oracle_failure("spmv: value {} is in column {} of {}", i, columns[i], x.size());
      }
      sum += values[i] * x[static_cast<std::size_t>(columns[i])];
    }
    sums.push_back(sum);
  }
  write_values(call.operand("out"), 0, sums);
}

void scatter_on_host(const OperationCall& call) {
  const Operand& out = call.operand("out");
  const std::vector<double> x = host_values(call.operand("x")),
                            index = host_values(call.operand("index"));
  const std::size_t columns = x.size() / std::max<std::size_t>(index.size(), 1);
  const auto* const x_terms = reinterpret_cast<const float*>(call.terms_of("x"));
  std::vector<double> sums(static_cast<std::size_t>(out.elements())), terms = sums;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double row = index[i / columns];
    const auto place = static_cast<std::size_t>(std::max(row, 0.0)) * columns + i % columns;
    if (row < 0 || place >= sums.size()) continue;
    sums[place] += x[i];
    terms[place] += x_terms != nullptr ? x_terms[i] : x[i] * x[i];
  }
  write_values(out, 0, sums);
  auto* const out_terms = reinterpret_cast<float*>(call.terms_of("out"));
  for (std::size_t i = 0; out_terms != nullptr && i < terms.size(); ++i) {
    out_terms[i] = static_cast<float>(terms[i]);
  }
}

}  // namespace assay
