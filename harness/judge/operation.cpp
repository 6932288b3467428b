#include "judge/operation.h"

namespace assay {

const Operation& operation_of(OperationId id) {
  using Id = OperationId;
  static const std::map<Id, const Operation& (*)()> others = {
      {Id::gemm, operation::gemm},
      {Id::grouped_gemm, operation::grouped_gemm},
      {Id::scaled_gemm, operation::scaled_gemm},
      {Id::grouped_scaled_gemm, operation::grouped_scaled_gemm},
      {Id::quantise, operation::quantise},
      {Id::layer_norm, operation::layer_norm},
      {Id::rms_norm, operation::rms_norm},
      {Id::softmax, operation::softmax},
      {Id::sum, operation::sum},
      {Id::gather_rows, operation::gather},
      {Id::topk_sum, operation::gather},
      {Id::scatter_add, operation::scatter_add},
      {Id::spmv, operation::spmv}};
  const auto found = others.find(id);
  return found == others.end() ? operation::pointwise(id) : found->second();
}

const Operand* OperationCall::find(const std::string& name) const {
  const auto found = operands.find(name);
  return found == operands.end() ? nullptr : &found->second;
}

const Operand& OperationCall::operand(const std::string& name) const {
  const Operand* const found = find(name);
  if (found == nullptr) throw oracle_failure("the reference lacks operand {}", name);
  return *found;
}

static CUdeviceptr data_of(const std::map<std::string, CUdeviceptr>& known,
                           const std::string& name) {
  const auto found = known.find(name);
  return found == known.end() ? 0 : found->second;
}

CUdeviceptr OperationCall::parts_of(const std::string& name) const { return data_of(parts, name); }
CUdeviceptr OperationCall::terms_of(const std::string& name) const { return data_of(terms, name); }

Strided OperationCall::terms_of(const std::string& name, const Strided& place) const {
  Strided placed = place;
  placed.data = terms_of(name);
  placed.dtype = DType::f32;
  return placed;
}

template <typename T>
static T option_of(const OperationCall& call, const char* what, const std::string& name) {
  const auto found = call.options.find(name);
  const T* value = found == call.options.end() ? nullptr : std::get_if<T>(&found->second);
  if (value == nullptr) throw oracle_failure("the reference lacks {} {}", what, name);
  return *value;
}

bool OperationCall::flag(const std::string& name) const {
  return option_of<bool>(*this, "flag", name);
}
double OperationCall::number(const std::string& name) const {
  return option_of<double>(*this, "number", name);
}

const std::vector<std::int64_t>& OperationCall::declared(const std::string& output) const {
  const auto found = declared_shapes.find(output);
  if (found == declared_shapes.end()) {
    throw oracle_failure(
        "{} must be an output of the kernel, since only its shape says how much there is to make",
        output);
  }
  return found->second;
}

Rows rows_of(const Operand& operand) {
  const std::int64_t columns = operand.shape.back();
  return {operand.elements() / columns, columns};
}

Strided dense(const Operand& operand) {
  return {operand.data, 0, rows_of(operand).columns, 1, operand.dtype};
}

Strided per_column(const Operand* operand) {
  if (operand == nullptr) return {};
  return {operand->data, 0, 0, 1, operand->dtype};
}

const Cublas& OperationEngine::cublas() {
  if (!cublas_) cublas_ = std::make_unique<Cublas>();
  return *cublas_;
}

const Cusparse& OperationEngine::cusparse() {
  if (!cusparse_) cusparse_ = std::make_unique<Cusparse>();
  return *cusparse_;
}

std::vector<double> OperationEngine::read(const Operand& operand, std::int64_t first,
                                          std::int64_t step, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(double);
  if (count > staging_elements_) {
    staging_ = allocate(driver(), bytes);
    staging_elements_ = count;
  }
  std::vector<double> values(static_cast<std::size_t>(count));
  support_->gather(operand.dtype, operand.data, first, step, count, staging_.get());
  support_->download(values.data(), staging_.get(), bytes);
  return values;
}

std::array<Operand, 2> OperationEngine::place(const Operand& a, const Operand& b, DType dtype,
                                              Room& room) {
  constexpr std::size_t kAlignment = 256;
  const auto bytes_of = [&](const Operand& operand) {
    const auto bytes = static_cast<std::size_t>(size_bytes(dtype, operand.elements()));
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  const std::size_t bytes = bytes_of(a) + bytes_of(b);
  if (bytes > room.bytes) {
    room = {};  // before there are both
    room = {allocate(driver(), bytes), bytes};
  }
  std::array<Operand, 2> placed = {a, b};
  CUdeviceptr data = room.memory.get();
  for (Operand& operand : placed) {
    operand.data = data;
    operand.dtype = dtype;
    data += bytes_of(operand);
  }
  return placed;
}

std::array<Operand, 2> OperationEngine::squares(const Operand& a, const Operand& b, DType dtype,
                                                CUdeviceptr parts) {
  const std::array<Operand, 2> made = place(a, b, dtype, squares_);
  if (parts != 0) {
    support_->pointwise(Pointwise::copy, dense({parts, DType::f32, a.shape}), {}, dtype,
                        made[0].data, rows_of(a));
  } else {
    support_->square(a.dtype, a.data, a.elements(), dtype, made[0].data);
  }
  support_->square(b.dtype, b.data, b.elements(), dtype, made[1].data);
  return made;
}

std::array<Operand, 2> OperationEngine::floats(const Operand& a, const Operand& b) {
  return place(a, b, DType::f32, floats_);
}

void OperationEngine::release() {
  squares_ = {};
  floats_ = {};
}

std::optional<ExactElement> Operation::exact(const OperationCall&, std::size_t, std::int64_t,
                                             const ReadElements&) const {
  return std::nullopt;
}

}  // namespace assay
