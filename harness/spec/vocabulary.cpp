#include "spec/vocabulary.h"

namespace assay {
namespace {

// What an output can be compared in, and cuBLAS multiply.
const std::vector<DType> kFloats = {DType::bf16, DType::f16, DType::f32};
const std::vector<DType> kNumbers = {DType::bf16, DType::f16, DType::f32, DType::f64,
                                     DType::i32,  DType::i64, DType::u8};

}  // namespace

const std::vector<RoleRow>& roles() {
  static const std::vector<RoleRow> rows = {
      {Role::in, "in"}, {Role::out, "out"}, {Role::scratch, "scratch"}};
  return rows;
}

const std::vector<OperationRow>& operations() {
  static const std::vector<OperationRow> rows = {
      {OperationId::gemm,
       "gemm",
       {{"a", 2, kFloats}, {"b", 2, kFloats, "a"}},
       {{"out", 2, kFloats}},
       {{"transpose_a", false}, {"transpose_b", false}}},
      {OperationId::add, "add", {{"a", 0, kNumbers}, {"b", 0, kNumbers}}, {{"out", 0, kFloats}}},
  };
  return rows;
}

const std::vector<GeneratorRow>& generators() {
  using Makes = GeneratorRow::Makes;
  static const std::vector<GeneratorRow> rows = {
      {Generator::normal, "normal", Makes::floating, {}},
      {Generator::uniform, "uniform", Makes::any, {{"low", -1}, {"high", 1}}},
      {Generator::zeros, "zeros", Makes::any, {}},
      {Generator::ones, "ones", Makes::any, {}},
      {Generator::iota, "iota", Makes::any, {}},
      {Generator::permutation, "permutation", Makes::integer, {}},
      {Generator::routing,
       "routing",
       Makes::integer,
       {{"tokens", {}}, {"experts", {}}, {"top", {}}}},
  };
  return rows;
}

const std::vector<BaselineEntry>& baselines() {
  static const std::vector<BaselineEntry> rows = {{BaselineId::cublaslt, "cublaslt", "gemm"}};
  return rows;
}

const std::vector<ProtocolRow>& protocols() {
  static const std::vector<ProtocolRow> rows = {
      {Preparation::cold, "cold"},
      {Preparation::hot, "hot"},
      {Preparation::sustained, "sustained"},
      {Preparation::graph, "graph"},
  };
  return rows;
}

}  // namespace assay
