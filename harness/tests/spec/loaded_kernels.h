#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/find_named.h"
#include "spec/kernel_spec.h"
#include "spec/spec_files.h"
#include "temp_folder.h"

namespace assay {

inline KernelSpec load(const std::string& name) {
  return load_kernel(spec_tests() / "kernels" / (name + ".yaml"));
}

inline std::vector<std::string> texts(const std::vector<ExprSpec>& exprs) {
  std::vector<std::string> all;
  for (const ExprSpec& expr : exprs) all.push_back(expr.expr.text());
  return all;
}

inline const ArgSpec& arg(const KernelSpec& kernel, std::string_view name) {
  const ArgSpec* const found = find_named(kernel.args, name);
  return found != nullptr ? *found : throw std::out_of_range(std::string(name));
}

inline const BufferSpec& buffer(const KernelSpec& kernel, std::string_view name) {
  return std::get<BufferSpec>(arg(kernel, name).form);
}

/// A contract of this text, beside its source and `others`, all of them empty.
inline KernelSpec load_text(const std::string& name, const std::string& text,
                            std::initializer_list<const char*> others = {}) {
  const TempFolder folder;
  folder.write(name + ".cu", "");
  for (const char* other : others) folder.write(other, "");
  return load_kernel(folder.write(name + ".yaml", text));
}

/// The contract of gemm_mma with one text replaced, or two.
inline KernelSpec edited(std::string_view from, std::string_view to,
                         std::string_view second_from = "", std::string_view second_to = "") {
  std::string text = read_file(spec_tests() / "kernels/gemm_mma.yaml");
  EXPECT_NE(text.find(from), std::string::npos) << from;
  replace_all(text, from, to);
  if (!second_from.empty()) replace_all(text, second_from, second_to);
  return load_text("gemm_mma", text);
}

/// add_chain with other lines in place of its reference and parameters.
inline KernelSpec with_reference(const std::string& reference, const std::string& params = "",
                                 const std::string& more_args = "") {
  return load_text(
      "chain",
      "kernel: chain\nop: chain\narch: [80]\ndims: [M, N]\n" + params +
          "args:\n  - {name: A, dtype: bf16, shape: [M, N], role: in}\n" + more_args +
          "  - {name: C, dtype: bf16, shape: [M], role: out, init: zero}\n"
          "launches: [{grid: [1], block: [32]}]\nwork: {flops: 0, bytes: 0}\nreference:\n" +
          reference + "smoke: {M: 2, N: 3}\n",
      {"below/ref.cu"});
}

}  // namespace assay
