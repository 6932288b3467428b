#pragma once

#include <map>
#include <string>

#include "pack/example_pack.h"
#include "temp_folder.h"

namespace assay {

/// A kernel of the stand-in's, for its name. One configuration, tuned for N=1000; `rest` is of its
/// contract.
inline Pack stand_in_pack(const TempFolder& folder, const std::string& name,
                          const std::string& rest,
                          const std::map<std::string, std::string>& symbols = {}) {
  folder.write(name + ".cu", "");
  const auto contract = folder.write(name + ".yaml", "kernel: " + name + R"(
op: add_f32
arch: [80]
dims: [N]
params: {BLOCK: [64, 128]}
work: {flops: N, bytes: 12 * N}
reference: [{add: {a: A, b: B, out: C}}]
smoke: {N: 1000}
)" + rest);
  return example_pack(load_kernel(contract), {{{"N", std::int64_t{1000}}}},
                      parse_config("BLOCK=64"), symbols);
}

/// C = A + B.
inline Pack adder_pack(const TempFolder& folder) {
  return stand_in_pack(folder, "vector_add", R"(
args:
  - {name: A, dtype: f32, shape: [N], role: in}
  - {name: B, dtype: f32, shape: [N], role: in}
  - {name: C, dtype: f32, shape: [N], role: out}
  - {name: N, dtype: i32, value: N}
launches: [{grid: [cdiv(N, BLOCK)], block: [BLOCK]}]
)");
}

/// C[M,N] = A[M,K] @ B[N,K]^T, for which cuBLASLt's second algorithm was faster.
inline Pack product_pack(const TempFolder& folder) {
  folder.write("product.cu", "");
  const auto contract = folder.write("product.yaml", R"(
kernel: product
op: product_f32
arch: [80]
dims: [M, N, K]
params: {BLOCK: [64]}
work: {flops: 2 * M * N * K, bytes: 4 * M * N}
reference: [{gemm: {a: A, b: B, transpose_b: true, out: C}}]
baseline: [cublaslt]
smoke: {M: 2, N: 3, K: 4}
args:
  - {name: A, dtype: f32, shape: [M, K], role: in}
  - {name: B, dtype: f32, shape: [N, K], role: in}
  - {name: C, dtype: f32, shape: [M, N], role: out}
launches: [{grid: [1], block: [BLOCK]}]
)");
  const KernelSpec kernel = load_kernel(contract);
  Pack pack = example_pack(kernel, {kernel.smoke}, parse_config("BLOCK=64"));
  pack.tables[0].rows[0].baseline_ns = 900;
  return pack;
}

inline std::string write_pack(const TempFolder& folder, const Pack& pack) {
  return folder.write("x.pack", seal_pack(index_text(pack), kExampleCode)).string();
}

}  // namespace assay
