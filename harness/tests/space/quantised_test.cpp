// Inputs of small floating numbers with scales: what a contract says of them, and their shapes.

#include "matchers.h"
#include "message_of.h"
#include "space/plan.h"
#include "space/test_kernel.h"
#include "spec/kernel_spec.h"
#include "temp_folder.h"

namespace assay {
namespace {

constexpr const char* kQuantised = "{quantise: {of: X, block: [1, 128]}}";

/// What a contract of X[10,300] says of `values`, Y[10,300], and of `scales`.
struct Inputs {
  std::string values = kQuantised, scales = "{scales: {of: Y, transpose: true}}";
  std::string scales_shape = "cdiv(K, 128), 12", values_dtype = "e4m3", scales_dtype = "f32";
};

Plan plan_of(const Inputs& inputs) {
  const TempFolder folder;
  folder.write("fills.cu", "");
  const auto path =
      folder.write("fills.yaml",
                   "kernel: fills\nop: fills\narch: [80]\ndims: [M, K]\nargs:\n"
                   "  - {name: X, dtype: bf16, shape: [M, K], role: in}\n"
                   "  - {name: Y, dtype: " +
                       inputs.values_dtype + ", shape: [M, K], role: in, fill: " + inputs.values +
                       "}\n  - {name: S, dtype: " + inputs.scales_dtype + ", shape: [" +
                       inputs.scales_shape + "], role: in, fill: " + inputs.scales +
                       "}\n  - {name: C, dtype: f32, shape: [M], role: out}\n"
                       "launches: [{grid: [1], block: [32]}]\nwork: {flops: 0, bytes: 0}\n"
                       "reference: [{sum: {x: X, out: C}}]\nsmoke: {M: 10, K: 300}\n");
  const KernelSpec kernel = load_kernel(path);
  return make_plan(kernel, kernel.smoke, {}, test_device());
}

std::string refusal(const Inputs& inputs) {
  return message_of<std::exception>([&] { plan_of(inputs); });
}

TEST(Quantised, RowsOfScalesMayBeLongerAndNotShorter) {
  EXPECT_EQ(refusal({.scales_shape = "3, 10"}), "");
  EXPECT_THAT(refusal({.scales_shape = "3, 9"}),
              HasSubstr("S is [3,9], but the scales of Y are [3,10], or longer rows"));
  EXPECT_THAT(refusal({.scales_shape = "4, 12"}), HasSubstr("the scales of Y are [3,10]"));
  EXPECT_EQ(refusal({.scales = "{scales: Y}", .scales_shape = "10, 3"}), "");
  EXPECT_EQ(refusal({.values = "{quantise: {of: X, block: [128, 128]}}",
                     .scales = "{scales: Y}",
                     .scales_shape = "1, 4"}),
            "");
  EXPECT_EQ(refusal({.values = "{quantise: {of: X, block: [M, K]}}",
                     .scales = "{scales: Y}",
                     .scales_shape = "1, 1"}),
            "");
}

TEST(Quantised, EachMistakeIsNamed) {
  const std::string powers = "{quantise: {of: X, block: [1, 128], powers_of_two: true}}";
  EXPECT_EQ(refusal({.values = powers, .scales_dtype = "ue8m0"}), "");
  EXPECT_THAT(refusal({.scales_dtype = "ue8m0"}), HasSubstr("ue8m0 holds powers of two"));
  EXPECT_THAT(refusal({.values_dtype = "f16"}),
              HasSubstr("expected quantise in an input of e4m3, e5m2 or e2m1, found f16"));
  EXPECT_THAT(refusal({.scales = "{scales: X}"}),
              HasSubstr("expected an input that is made by quantise and stands before its scales, "
                        "found \"X\""));
  EXPECT_THAT(refusal({.scales_dtype = "f64"}),
              HasSubstr("expected scales in an input of f32 or ue8m0, found f64"));
  EXPECT_THAT(refusal({.values = "{quantise: {of: X, block: [0, 128]}}"}),
              HasSubstr("block_rows of Y is 0, expected at least 1"));
  EXPECT_THAT(refusal({.values = "{quantise: X}"}), HasSubstr("expected the quantise of an input"));
  EXPECT_THAT(refusal({.scales = "normal", .scales_dtype = "ue8m0"}),
              HasSubstr("expected a generator of ue8m0 values, found \"normal\""));
}

}  // namespace
}  // namespace assay
