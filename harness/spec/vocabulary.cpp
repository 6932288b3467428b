#include "spec/vocabulary.h"

namespace assay {
namespace {

// What cuBLAS multiplies.
const std::vector<DType> kFloats = {DType::bf16, DType::f16, DType::f32};
// And cuSPARSE.
const std::vector<DType> kSparse = {DType::f32, DType::f64};
// What tensor cores multiply that is stored with scales, and the scales.
const std::vector<DType> kSmallFloats = {DType::e4m3, DType::e5m2, DType::e2m1};
const std::vector<DType> kScales = {DType::f32, DType::ue8m0};
const std::vector<DType> kReals = {DType::bf16, DType::f16,  DType::f32,
                                   DType::f64,  DType::e4m3, DType::e5m2};
const std::vector<DType> kIntegers = {DType::i32, DType::i64, DType::u8,  DType::i8,
                                      DType::i16, DType::u16, DType::u32, DType::u64};
const std::vector<DType> kNumbers = {DType::bf16, DType::f16, DType::f32, DType::f64, DType::e4m3,
                                     DType::e5m2, DType::i32, DType::i64, DType::u8,  DType::i8,
                                     DType::i16,  DType::u16, DType::u32, DType::u64};

// Which elements share a scale, and which dimension of the scales is contiguous.
const std::vector<OptionRow> kScaleOptions = {{"a_block_rows", 1.0},
                                              {"b_block_rows", 128.0},
                                              {"block_columns", 128.0},
                                              {"transpose_a_scales", false},
                                              {"transpose_b_scales", false}};

/// `{silu: {x: A, out: B}}`: any shape, and out has it too.
OperationRow unary(OperationId id, std::string_view name, const std::vector<DType>& dtypes,
                   std::vector<OptionRow> options = {}) {
  return {id, name, {{"x", 0, dtypes}}, {{"out", 0, dtypes}}, std::move(options)};
}

/// `{add: {a: A, b: B, out: C}}`
OperationRow binary(OperationId id, std::string_view name, const std::vector<DType>& dtypes) {
  return {id, name, {{"a", 0, dtypes}, {"b", 0, dtypes}}, {{"out", 0, dtypes}}};
}

}  // namespace

const std::vector<OperationRow>& operations() {
  static const std::vector<OperationRow> rows = {
      {OperationId::gemm,
       "gemm",
       {{"a", 2, kFloats}, {"b", 2, kFloats, "a"}},
       {{"out", 2, kFloats}},
       {{"transpose_a", false}, {"transpose_b", false}}},
      {OperationId::grouped_gemm,
       "grouped_gemm",
       {{"a", 2, kFloats}, {"b", 3, kFloats, "a"}, {"starts", 1, kIntegers}},
       {{"out", 2, kFloats}},
       {{"transpose_b", false}}},
      {OperationId::scaled_gemm,
       "scaled_gemm",
       {{"a", 2, kSmallFloats},
        {"a_scales", 2, kScales},
        {"b", 2, kSmallFloats},
        {"b_scales", 2, kScales}},
       {{"out", 2, kFloats}},
       kScaleOptions},
      {OperationId::grouped_scaled_gemm,
       "grouped_scaled_gemm",
       {{"a", 2, kSmallFloats},
        {"a_scales", 2, kScales},
        {"b", 3, kSmallFloats},
        {"b_scales", 3, kScales},
        {"starts", 1, kIntegers}},
       {{"out", 2, kFloats}},
       kScaleOptions},
      {OperationId::quantise,
       "quantise",
       {{"x", 0, kReals}},
       {{"out", 0, kReals}, {"scales", 0, {DType::f32}}},
       {{"block_rows", 1.0},
        {"block_columns", 128.0},
        {"limit", 448.0},
        {"powers_of_two", false},
        {"transpose_scales", false}}},
      binary(OperationId::add, "add", kNumbers),
      binary(OperationId::mul, "mul", kNumbers),
      {OperationId::bias, "bias", {{"x", 0, kReals}, {"bias", 1, kReals}}, {{"out", 0, kReals}}},
      unary(OperationId::relu, "relu", kNumbers, {{"slope", 0.0, true}}),
      unary(OperationId::silu, "silu", kReals),
      unary(OperationId::gelu, "gelu", kReals, {{"tanh", false}}),
      {OperationId::swiglu,
       "swiglu",
       {{"a", 0, kReals}, {"b", 0, kReals, {}, true}},
       {{"out", 0, kReals}},
       {{"interleaved", false}}},
      {OperationId::layer_norm,
       "layer_norm",
       {{"x", 0, kReals}, {"weight", 1, kReals, {}, true}, {"bias", 1, kReals, {}, true}},
       {{"out", 0, kReals}},
       {{"epsilon", 1e-5}}},
      {OperationId::rms_norm,
       "rms_norm",
       {{"x", 0, kReals}, {"weight", 1, kReals, {}, true}},
       {{"out", 0, kReals}},
       {{"epsilon", 1e-5}}},
      unary(OperationId::softmax, "softmax", kReals),
      {OperationId::sum, "sum", {{"x", 0, kNumbers}}, {{"out", 1, kNumbers}}, {{"all", false}}},
      {OperationId::transpose, "transpose", {{"x", 2, kNumbers}}, {{"out", 2, kNumbers}}},
      {OperationId::gather_rows,
       "gather_rows",
       {{"x", 2, kNumbers}, {"index", 1, kIntegers}},
       {{"out", 2, kNumbers}}},
      {OperationId::scatter_add,
       "scatter_add",
       {{"x", 2, kNumbers}, {"index", 1, kIntegers}},
       {{"out", 2, kNumbers}}},
      {OperationId::topk_sum,
       "topk_sum",
       {{"x", 2, kReals}, {"weight", 2, kReals}, {"index", 2, kIntegers, {}, true}},
       {{"out", 2, kReals}}},
      {OperationId::spmv,
       "spmv",
       {{"starts", 1, {DType::i32}},
        {"columns", 1, {DType::i32}},
        {"values", 1, kSparse},
        {"x", 1, kSparse, "values"}},
       {{"out", 1, kSparse}}},
  };
  return rows;
}

const std::vector<GeneratorRow>& generators() {
  using Makes = GeneratorRow::Makes;
  using Numbers = GeneratorRow::Numbers;
  static const std::vector<GeneratorRow> rows = {
      {Generator::normal,
       "normal",
       Makes::floating,
       {{"mean", 0, Numbers::real, true}, {"std", 1, Numbers::real, true}}},
      {Generator::uniform,
       "uniform",
       Makes::any,
       {{"low", -1, Numbers::as_dtype}, {"high", 1, Numbers::as_dtype}}},
      {Generator::zeros, "zeros", Makes::any, {}, true},
      {Generator::ones, "ones", Makes::any, {}, true},
      {Generator::iota, "iota", Makes::any, {}, true},
      {Generator::permutation, "permutation", Makes::integer, {}},
      {Generator::routing,
       "routing",
       Makes::integer,
       {{"tokens", {}},
        {"experts", {}},
        {"top", {}},
        {"hit", 0, Numbers::integer, true},
        {"skew", 0, Numbers::real, true}}},
      {Generator::distinct, "distinct", Makes::integer, {{"of", {}}}},
      {Generator::row_starts,
       "row_starts",
       Makes::integer,
       {{"nonzeros", {}}, {"skew", 0, Numbers::real}}},
  };
  return rows;
}

const std::vector<DerivationRow>& derivations() {
  static const std::vector<DerivationRow> rows = {
      {Derivation::column, "column", true, false, 2, false, {"index"}},
      {Derivation::sorted, "sorted", true},
      {Derivation::order, "order"},
      {Derivation::rows, "rows", false, false, 2},
      {Derivation::counts, "counts", false, true, 0, false},
      {Derivation::starts, "starts", false, true, 0, false},
      {Derivation::inverse, "inverse", false, true},
      {Derivation::quantise, "quantise", false, false, 0, true, {"block"}, {"powers_of_two"}},
      {Derivation::scales, "scales", false, false, 0, false, {}, {"transpose"}},
  };
  return rows;
}

bool is_made_by_host(Derivation derivation) {
  return derivation != Derivation::column && derivation != Derivation::quantise &&
         derivation != Derivation::scales;
}

const std::vector<OperationRow>& baseline_operations() {
  static const std::vector<OperationRow> rows = [] {
    std::vector<OperationRow> made = {
        {OperationId::gemm,
         kCublasLt,
         {{"a", 0, kFloats}, {"b", 0, kFloats, "a"}, {"bias", 1, kFloats, {}, true}},
         {{"out", 0, kFloats}},
         {{"transpose_a", false},
          {"transpose_b", false},
          {"relu", false},
          {"gelu", false},
          {"tf32", false, true}}}};
    for (const OperationRow& row : operations()) {
      // What makes two things is no step of a baseline.
      if (row.id == OperationId::gemm || row.outputs.size() > 1) continue;
      made.push_back(row);
      if (row.id == OperationId::grouped_gemm) made.back().options.push_back({kCublasLt, false});
    }
    return made;
  }();
  return rows;
}

}  // namespace assay
