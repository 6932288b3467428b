#include "judge/operation.h"

#include <fmt/format.h>

namespace assay {

const Operation& operation_of(OperationId id) {
  switch (id) {
    case OperationId::gemm:
      return operation::gemm();
    case OperationId::add:
      return operation::add();
  }
  throw oracle_failure("an operation without code");
}

Failure oracle_failure(const std::string& message) { return {Status::runtime, "oracle", message}; }

const Operand& OperationCall::operand(const std::string& name) const {
  const auto found = operands.find(name);
  if (found == operands.end()) {
    throw oracle_failure(fmt::format("the reference lacks operand {}", name));
  }
  return found->second;
}

bool OperationCall::flag(const std::string& name) const {
  const auto found = options.find(name);
  const bool* value = found == options.end() ? nullptr : std::get_if<bool>(&found->second);
  if (value == nullptr) throw oracle_failure(fmt::format("the reference lacks flag {}", name));
  return *value;
}

const Cublas& OperationEngine::cublas() {
  if (!cublas_) cublas_ = std::make_unique<Cublas>();
  return *cublas_;
}

std::vector<double> OperationEngine::read(const Operand& operand, std::int64_t first,
                                          std::int64_t step, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(double);
  if (count > staging_elements_) {
    staging_ = allocate(*driver_, bytes);
    staging_elements_ = count;
  }
  std::vector<double> values(static_cast<std::size_t>(count));
  support_->gather(operand.dtype, operand.data, first, step, count, staging_.get());
  driver_->check(driver_->cuMemcpyDtoHAsync(values.data(), staging_.get(), bytes, stream_),
                 "cuMemcpyDtoHAsync");
  driver_->check(driver_->cuStreamSynchronize(stream_), "cuStreamSynchronize");
  return values;
}

std::optional<ExactElement> Operation::exact(const OperationCall&, std::size_t, std::int64_t,
                                             const ReadElements&) const {
  return std::nullopt;
}

}  // namespace assay
