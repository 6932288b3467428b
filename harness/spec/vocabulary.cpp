#include "spec/vocabulary.h"

namespace assay {

const std::vector<OperationRow>& operations() {
  static const std::vector<OperationRow> rows = {
      {"gemm", {"a", "b"}, {"transpose_a", "transpose_b"}, 2},
      {"add", {"a", "b"}, {}, 0},
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
