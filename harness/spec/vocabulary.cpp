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
      {"normal", Makes::floating, {}},
      {"uniform", Makes::any, {{"low", -1}, {"high", 1}}},
      {"zeros", Makes::any, {}},
      {"ones", Makes::any, {}},
      {"iota", Makes::any, {}},
      {"permutation", Makes::integer, {}},
      {"routing", Makes::integer, {{"tokens", {}}, {"experts", {}}, {"top", {}}}},
  };
  return rows;
}

const std::vector<BaselineEntry>& baselines() {
  static const std::vector<BaselineEntry> rows = {{"cublaslt", "gemm"}};
  return rows;
}

const std::vector<ProtocolRow>& protocols() {
  static const std::vector<ProtocolRow> rows = {{"cold"}, {"hot"}, {"sustained"}, {"graph"}};
  return rows;
}

}  // namespace assay
