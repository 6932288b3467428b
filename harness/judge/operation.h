#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "cuda/cublas.h"
#include "cuda/cusparse.h"
#include "judge/tolerance.h"
#include "launch/failure.h"
#include "space/plan.h"
#include "spec/vocabulary.h"
#include "support/support_kernels.h"

namespace assay {

/// A row-major tensor in device memory.
struct Operand {
  CUdeviceptr data = 0;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;

  std::int64_t elements() const { return element_count(shape); }
};

/// Reads `count` elements of a tensor, `step` apart, into the host's memory.
using ReadElements = std::function<std::vector<double>(const Operand& operand, std::int64_t first,
                                                       std::int64_t step, std::int64_t count)>;

/// One step of a reference: its inputs and outputs under the names that the operation gives them,
/// and its options.
struct OperationCall {
  std::map<std::string, Operand> operands;
  std::map<std::string, OptionValue> options;

  /// Throws Failure `oracle` naming the operand that the contract lacks.
  const Operand& operand(const std::string& name) const;
  /// Null for an operand that the contract leaves out.
  const Operand* find(const std::string& name) const;
  /// Throws Failure `oracle` naming the option that the contract lacks.
  bool flag(const std::string& name) const;
  double number(const std::string& name) const;
  /// The shape that a buffer of the kernel has which takes an output. Throws Failure `oracle` for a
  /// result that has none.
  const std::vector<std::int64_t>& declared(const std::string& output) const;

  std::map<std::string, std::vector<std::int64_t>> declared_shapes = {};
  /// The squared sizes of the terms of operands that are sums, or that came from sums, in f32; and,
  /// of outputs, where those that makes_terms() promises are to be written.
  std::map<std::string, CUdeviceptr> terms = {};
  /// The same of the parts of operands that are no sums of many terms: see makes_parts().
  std::map<std::string, CUdeviceptr> parts = {};

  /// 0 for an operand that has no parts, or an output's that are not wanted.
  CUdeviceptr parts_of(const std::string& name) const;
  /// 0 for an operand whose terms are not known, or an output's that are not wanted.
  CUdeviceptr terms_of(const std::string& name) const;
  /// The terms of an operand that was placed so.
  Strided terms_of(const std::string& name, const Strided& place) const;
};

/// All dimensions but the last are rows.
Rows rows_of(const Operand& operand);
/// A row-major operand whose elements stand as those of the output do.
Strided dense(const Operand& operand);
/// One value for each column of the output; left out if null.
Strided per_column(const Operand* operand);

/// What operations compute with. A library is loaded when an operation first needs it.
class OperationEngine {
 public:
  explicit OperationEngine(const SupportKernels& support) : support_(&support) {}

  /// Throws Error when cuBLAS is not there.
  const Cublas& cublas();
  /// Throws Error when cuSPARSE is not there.
  const Cusparse& cusparse();
  const Driver& driver() const { return support_->driver(); }
  const SupportKernels& support() const { return *support_; }
  CUstream stream() const { return support_->stream(); }

  /// See ReadElements.
  std::vector<double> read(const Operand& operand, std::int64_t first, std::int64_t step,
                           std::int64_t count);
  /// Enqueues the squares of the elements of two operands, as `dtype`; of `a` those of its parts,
  /// unless they are 0. They are overwritten by the next call.
  std::array<Operand, 2> squares(const Operand& a, const Operand& b, DType dtype,
                                 CUdeviceptr parts = 0);
  /// Room for the elements of two operands in f32. The next call takes it.
  std::array<Operand, 2> floats(const Operand& a, const Operand& b);
  /// Gives back the memory of squares() and floats().
  void release();

 private:
  const SupportKernels* support_;
  std::unique_ptr<Cublas> cublas_;
  std::unique_ptr<Cusparse> cusparse_;
  DeviceMemory staging_;
  std::int64_t staging_elements_ = 0;
  /// Memory that grows.
  struct Room {
    DeviceMemory memory;
    std::size_t bytes = 0;
  };
  std::array<Operand, 2> place(const Operand& a, const Operand& b, DType dtype, Room& room);

  Room squares_, floats_;
};

/// An output that an operation makes of its inputs.
struct OutputShape {
  std::vector<std::int64_t> extents;
  Arithmetic arithmetic = {};  // of a kernel that makes the same
};

/// One element computed in fp64; `scale` is the size of its terms.
struct ExactElement {
  double value = 0;
  double scale = 0;
};

/// A named operation of the reference. Its row in operations() says which operands and options it
/// has, and the contract was checked against that. To add an operation, add its row, its file in
/// judge/operations/ and its case in operation_of().
class Operation {
 public:
  virtual ~Operation() = default;

  /// What it makes of these inputs and options, in the order of the row's outputs. Throws Failure
  /// `oracle` saying which shapes do not fit.
  virtual std::vector<OutputShape> outputs(const OperationCall& call) const = 0;
  /// Whether `compute` also makes the squared sizes of the terms of its first output. The size of
  /// the terms of a sum, the root of the sum of their squares, is what its rounding errors go with,
  /// however much of them cancels. An operation that adds nothing passes on what it was given.
  virtual bool makes_terms(const OperationCall&) const { return false; }
  /// Whether `compute` also makes the squared sizes of the parts of its first output, of which each
  /// element is a sum. A kernel may multiply the parts by a factor apart from each other, and round
  /// each product, so they are the terms of a product of such an output, even where they cancel.
  virtual bool makes_parts(const OperationCall&) const { return false; }
  /// Enqueues the computation in fp32 or better of every element of every output.
  virtual void compute(const OperationCall& call, OperationEngine& engine) const = 0;
  /// Computes element `index` of output number `output` in fp64 from the inputs. Nothing: the
  /// operation has no such rule, and results that rest on it say that it was not checked.
  virtual std::optional<ExactElement> exact(const OperationCall& call, std::size_t output,
                                            std::int64_t index, const ReadElements& read) const;
};

/// The operation of a row.
const Operation& operation_of(OperationId id);

/// The failure of a reference that cannot be computed: status `runtime`, kind `oracle`.
template <typename... Parts>
Failure oracle_failure(fmt::format_string<Parts...> format, Parts&&... parts) {
  return {Status::runtime, "oracle", fmt::format(format, std::forward<Parts>(parts)...)};
}

/// The only object of an operation's class.
template <typename Class>
const Operation& only() {
  static const Class operation;
  return operation;
}

namespace operation {
// Each has a file of its name, or shares the file of its family.
const Operation& gemm();
const Operation& grouped_gemm();
const Operation& scaled_gemm();
const Operation& grouped_scaled_gemm();
const Operation& quantise();
const Operation& pointwise(OperationId id);
const Operation& layer_norm();
const Operation& rms_norm();
const Operation& softmax();
const Operation& sum();
const Operation& gather();
const Operation& scatter_add();
const Operation& spmv();
}  // namespace operation

}  // namespace assay
