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

inline std::string write_pack(const TempFolder& folder, const Pack& pack) {
  return folder.write("x.pack", seal_pack(index_text(pack), kExampleCode)).string();
}

}  // namespace assay
