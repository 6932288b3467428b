#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/cublas.h"
#include "support/support_kernels.h"

namespace assay {

/// A row-major tensor in device memory.
struct Operand {
  CUdeviceptr data = 0;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;

  std::int64_t elements() const;
};

/// One step of a reference: its operands under the names that the operation gives them, its
/// options, and where the fp32 result goes.
struct OperationCall {
  std::map<std::string, Operand> operands;
  std::map<std::string, std::int64_t> options;
  Operand out;

  /// Throws Failure `oracle` naming the operand that the contract lacks.
  const Operand& operand(const std::string& name) const;
  bool option(const std::string& name) const;
};

/// What operations compute with. cuBLAS is loaded when an operation first needs it.
class OperationEngine {
 public:
  OperationEngine(const Driver& driver, CUstream stream, const SupportKernels& support)
      : driver_(&driver), stream_(stream), support_(&support) {}

  /// Throws Error when cuBLAS is not there.
  const Cublas& cublas();
  const SupportKernels& support() const { return *support_; }
  CUstream stream() const { return stream_; }

  /// `count` elements of a tensor, `step` apart, as the host sees them.
  std::vector<double> read(const Operand& operand, std::int64_t first, std::int64_t step,
                           std::int64_t count);

 private:
  const Driver* driver_;
  CUstream stream_;
  const SupportKernels* support_;
  std::unique_ptr<Cublas> cublas_;
  DeviceMemory staging_;
  std::int64_t staging_elements_ = 0;
};

/// One element computed in fp64; `scale` is the root of the sum of its squared terms.
struct ExactElement {
  double value = 0;
  double scale = 0;
};

/// A named operation of the reference. To add one, add a row to the table and its functions.
struct Operation {
  std::string_view name;
  /// Checks shapes and dtypes; returns the length of the sum behind each element. Throws Failure.
  std::int64_t (*sum_length)(const OperationCall& call);
  /// Enqueues the computation in fp32 of every element.
  void (*compute)(const OperationCall& call, OperationEngine& engine);
  /// Computes element `index` of the output in fp64 from the same operands.
  ExactElement (*exact)(const OperationCall& call, std::int64_t index, OperationEngine& engine);
};

/// The row of an operation. Throws Failure that lists the operations.
const Operation& find_operation(std::string_view name);

/// The sizes of a `gemm`: out[m,n] = a @ b.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  DType dtype = DType::f32;  // of a and b
};

/// Throws Failure saying which shapes do not fit.
GemmShape gemm_shape(const OperationCall& call);

}  // namespace assay
