#pragma once

#include "judge/operation.h"

namespace assay {

/// An operation that makes each element of `out` of one element of each of one or two operands.
class PointwiseOperation : public Operation {
 public:
  std::vector<OutputShape> outputs(const OperationCall& call) const override;
  bool makes_terms(const OperationCall& call) const override;
  void compute(const OperationCall& call, OperationEngine& engine) const override;
  std::optional<ExactElement> exact(const OperationCall& call, std::size_t output,
                                    std::int64_t index, const ReadElements& read) const override;

 protected:
  /// Which elements meet. `b` is null for an operation of one operand.
  struct Layout {
    std::vector<std::int64_t> extents;  // of the output
    const Operand* a = nullptr;
    Strided a_at;
    const Operand* b = nullptr;
    Strided b_at;
  };

  /// Throws Failure `oracle` saying which shapes do not fit.
  virtual Layout layout(const OperationCall& call) const = 0;
  virtual Pointwise function(const OperationCall& call) const = 0;
  /// The function in fp64.
  virtual double value(const OperationCall& call, double a, double b) const = 0;
  virtual Arithmetic arithmetic() const { return {}; }

  /// Of one operand `x`, or of two of one shape, `a` and `b`.
  static Layout of_x(const OperationCall& call);
  static Layout of_a_and_b(const OperationCall& call, const char* operation);
};

/// An operation of one operand `x` whose function needs no options.
class UnaryOperation : public PointwiseOperation {
 public:
  UnaryOperation(Pointwise on_device, double (*on_host)(double), const Arithmetic& added)
      : function_(on_device), value_(on_host), arithmetic_(added) {}

 protected:
  Layout layout(const OperationCall& call) const override { return of_x(call); }
  Pointwise function(const OperationCall&) const override { return function_; }
  double value(const OperationCall&, double a, double) const override { return value_(a); }
  Arithmetic arithmetic() const override { return arithmetic_; }

 private:
  Pointwise function_;
  double (*value_)(double);
  Arithmetic arithmetic_;
};

/// An operation of two operands `a` and `b` of one shape.
class BinaryOperation : public PointwiseOperation {
 public:
  BinaryOperation(const char* name, Pointwise on_device, double (*on_host)(double, double))
      : name_(name), function_(on_device), value_(on_host) {}

 protected:
  Layout layout(const OperationCall& call) const override { return of_a_and_b(call, name_); }
  Pointwise function(const OperationCall&) const override { return function_; }
  double value(const OperationCall&, double a, double b) const override { return value_(a, b); }

 private:
  const char* name_;
  Pointwise function_;
  double (*value_)(double, double);
};

}  // namespace assay
