#pragma once

#include <map>
#include <string>

#include "pack/example_pack.h"
#include "temp_folder.h"

namespace assay {

/// A contract whose entry is one of the stand-in's kernels.
inline KernelSpec stand_in_kernel(const TempFolder& folder, const std::string& name,
                                  const std::string& rest) {
  folder.write(name + ".cu", "");
  return load_kernel(folder.write(name + ".yaml", "kernel: " + name + R"(
op: add_f32
arch: [80]
dims: [N]
params: {BLOCK: [64, 128]}
work: {flops: N, bytes: 12 * N}
reference: [{add: {a: A, b: B, out: C}}]
smoke: {N: 1000}
)" + rest));
}

/// C = A + B. One configuration, tuned for N=1000.
inline Pack adder_pack(const TempFolder& folder) {
  return example_pack(stand_in_kernel(folder, "vector_add", R"(
args:
  - {name: A, dtype: f32, shape: [N], role: in}
  - {name: B, dtype: f32, shape: [N], role: in}
  - {name: C, dtype: f32, shape: [N], role: out}
  - {name: N, dtype: i32, value: N}
launches: [{grid: [cdiv(N, BLOCK)], block: [BLOCK]}]
)"),
                      {{{"N", std::int64_t{1000}}}}, parse_config("BLOCK=64"));
}

inline std::string write_pack(const TempFolder& folder, const Pack& pack) {
  return folder.write("x.pack", seal_pack(index_text(pack), kExampleCode)).string();
}

}  // namespace assay
