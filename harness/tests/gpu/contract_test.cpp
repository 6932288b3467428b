// Words of a contract that say what is launched, with which data, and how the result is checked:
// each with a kernel that is right, and one that is wrong where MISTAKE is 1.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu_fixture.h"
#include "temp_folder.h"

namespace assay {
namespace {

struct Case {
  std::string name;
  std::string contract;                                   // from args to reference
  std::string source;                                     // of the kernel
  std::string reference = {};                             // of ref.cu: the body of ref
  std::string parameters = "const float* x, float* out";  // of ref
};

std::ostream& operator<<(std::ostream& stream, const Case& each) { return stream << each.name; }

const std::string kX = "  - {name: x, dtype: f32, shape: [N], role: in}\n";
const std::string kOut = "  - {name: out, dtype: f32, shape: [N], role: out}\n";
const std::string kScratch = "  - {name: t, dtype: f32, shape: [N], role: scratch}\n";
std::string reference_of(const std::string& args) {
  return "reference: [{kernel: {source: ref.cu, entry: ref, args: [" + args +
         "], grid: [cdiv(N, 128)], block: [128]}}]\n";
}
const std::string kReference = reference_of("x, out");
const std::string kBlocks = "grid: [cdiv(N, 128)], block: [128]";
const std::string kIndex = "const int i = blockIdx.x * 128 + threadIdx.x; if (i >= n) return;\n";
const std::string kEntry = "extern \"C\" __global__ void ";

/// A step that moves each value by one place and adds the number of the pass.
const std::string kStep =
    kEntry + "step(const float* x, float* out, int pass, int n) {\n" + kIndex +
    "out[i] = x[i + 1 < n ? i + 1 : 0] + (MISTAKE && pass == 2 ? 0 : pass); }\n";

const std::string kWord = kEntry + "word";
const std::string kLength = "  - {name: n, dtype: i32, value: N}\n";
const std::string kState = "  - {name: out, dtype: f32, shape: [N], role: inout}\n";
const std::string kLaunch = "launches: [{" + kBlocks + "}]\n";

std::string repeated(const std::string& passes) {
  return "args:\n" + kX + kScratch + kOut + "launches: [{repeat: " + passes + ", entry: step, " +
         kBlocks +
         ",\n  args: [{from: [x, t, out]}, {to: [t, out]}, {dtype: i32, value: pass},\n"
         "         {dtype: i32, value: N}]}]\n" +
         kReference;
}

std::vector<Case> cases() {
  return {
      {"launch_args",
       "args:\n" + kX + kScratch + kOut + "launches:\n  - {entry: twice, " + kBlocks +
           ", args: [t, x, {dtype: i32, value: N}]}\n  - {entry: sum, " + kBlocks +
           ", args: [{dtype: f32, value: 7 / 4}, x, t, out, {dtype: i32, value: N}]}\n" +
           kReference,
       kEntry + "twice(float* t, const float* x, int n) {\n" + kIndex + "t[i] = 2 * x[i]; }\n" +
           kEntry + "sum(float c, const float* x, const float* t, float* out, int n) {\n" + kIndex +
           "out[i] = x[i] + t[i] + (MISTAKE ? 1 : c); }\n",
       "out[i] = 3 * x[i] + 1.75f;"},
      {"repeat_odd", repeated("5"), kStep, "out[i] = x[(i + 5) % n] + 10;"},
      {"repeat_even", repeated("4"), kStep, "out[i] = x[(i + 4) % n] + 6;"},
      {"repeat_group",
       "args:\n" + kX + kScratch + kOut + "launches:\n  - repeat: 3\n    launches:\n" +
           "      - {entry: step, " + kBlocks +
           ", args: [{from: [x, t, out]}, {to: [t, out]}, {dtype: i32, value: 1},\n"
           "         {dtype: i32, value: N}]}\n" +
           "      - {entry: bump, when: pass == 1, " + kBlocks +
           ", args: [{to: [t, out]}, {dtype: i32, value: N}]}\n" + kReference,
       kStep + kEntry + "bump(float* t, int n) {\n" + kIndex + "t[i] += MISTAKE ? 99 : 100; }\n",
       "out[i] = x[(i + 3) % n] + 103;"},

      {"symbol",
       "args:\n" + kX + "  - {name: c, dtype: f32, shape: [4], role: in, symbol: constants}\n" +
           kOut + kLength + kLaunch + reference_of("x, c, out"),
       "__constant__ float constants[5];\n" + kWord + "(const float* x, float* out, int n) {\n" +
           kIndex + "out[i] = x[i] * constants[0] + constants[MISTAKE ? 2 : 3]; }\n",
       "out[i] = x[i] * c[0] + c[3];", "const float* x, const float* c, float* out"},
      {"init_copy",
       "args:\n" + kX + "  - {name: out, dtype: f32, shape: [N], role: out, init: {copy: x}}\n" +
           kLength + kLaunch + kReference,
       kWord + "(const float*, float* out, int n) {\n" + kIndex +
           "if (i % 2 == 0) out[i] += MISTAKE ? 2 : 1; }\n",
       "out[i] = x[i] + (i % 2 == 0);"},
      {"inout",
       "args:\n" + kX + kState + kLength + kLaunch +
           "reference: [{add: {a: out, b: x, out: out}}]\n",
       kWord + "(const float* x, float* out, int n) {\n" + kIndex +
           "out[i] = MISTAKE ? x[i] : out[i] + x[i]; }\n"},
      {"inout_of_ones_own", "args:\n" + kX + kState + kLength + kLaunch + kReference,
       kWord + "(const float* x, float* out, int n) {\n" + kIndex +
           "out[i] += x[i] * (MISTAKE ? 2 : 3); }\n",
       "out[i] += x[i] * 3;"},
      {"check_first",
       "args:\n" + kX +
           "  - {name: out, dtype: f32, shape: [N], role: out, check: {first: N / 2}}\n" + kLength +
           kLaunch + kReference,
       kWord + "(const float* x, float* out, int n) {\n" + kIndex +
           "if (i < n / 2 - MISTAKE) out[i] = x[i]; else out[i] = 7; }\n",
       "out[i] = x[i];"},
      {"check_sorted",
       "args:\n" + kX +
           "  - {name: out, dtype: f32, shape: [N], role: out, check: {sorted: true}}\n"
           "  - {name: count, dtype: i32, shape: [1], role: scratch, init: zero}\n" +
           kLength + kLaunch + kReference,
       kWord + "(const float* x, float* out, int* count, int n) {\n" + kIndex +
           "out[atomicAdd(count, 1)] = x[MISTAKE && i == 5 ? 6 : i]; }\n",
       "out[i] = x[i];"},
      {"check_sorted_integers",
       "args:\n  - {name: x, dtype: i16, shape: [N], role: in, fill: {name: uniform, low: -99, "
       "high: "
       "99}}\n"
       "  - {name: out, dtype: i16, shape: [N], role: out, check: {sorted: true, first: 3000}}\n" +
           kLength + kLaunch + kReference,
       kWord + "(const short* x, short* out, int n) {\n" + kIndex +
           "if (i < 3000) out[2999 - i] = x[i] + (MISTAKE && i == 5); }\n",
       "out[i] = x[i];", "const short* x, short* out"},
      {"check_sum",
       "args:\n" + kX + "  - {name: out, dtype: f32, shape: [N], role: out, check: {sum: true}}\n" +
           kLength + kLaunch + kReference,
       kWord + "(const float* x, float* out, int n) {\n" + kIndex +
           "out[n - 1 - i] = x[i] + (MISTAKE && i < 9); }\n",
       "out[i] = x[i];"},
      {"check_sum_of_integers",
       "args:\n" + kX + "  - {name: out, dtype: u64, shape: [N], role: out, check: {sum: true}}\n" +
           kLength + kLaunch + kReference,
       kWord + "(const float*, unsigned long long* out, int n) {\n" + kIndex +
           "out[n - 1 - i] = (1ull << 60) + i + (MISTAKE && i == 9); }\n",
       "out[i] = (1ull << 60) + i;", "const float* x, unsigned long long* out"},
      {"tolerance_absolute",
       "args:\n" + kX + kOut + kLength + kLaunch + kReference + "tolerance: {absolute: 0.02}\n",
       kWord + "(const float* x, float* out, int n) {\n" + kIndex +
           "out[i] = x[i] * x[i] + (MISTAKE ? 0.1f : 0.01f); }\n",
       "out[i] = x[i] * x[i];"},
      {"init_zero_of_some",
       "args:\n" + kX + "  - {name: out, dtype: i32, shape: [N], role: out, init: {zero: 4}}\n" +
           kLength + kLaunch + kReference,
       kWord + "(const float*, int* out, int n) {\n" + kIndex +
           "if (i >= 4) out[i] = i; atomicAdd(out + i % 4, MISTAKE && i == 9 ? 0 : 1); }\n",
       "out[i] = i < 4 ? (n - i + 3) / 4 : i;", "const float* x, int* out"},
  };
}

class Contract : public test::RunnerTest, public testing::WithParamInterface<Case> {
 protected:
  Outcome run(const Case& each, bool mistake) {
    return runner_->run(request_for(each, mistake, runner_->info()));
  }

  TrialRequest request_for(const Case& each, bool mistake, const DeviceInfo& info) {
    folder_.write("word.cu", each.source);
    folder_.write("ref.cu", kEntry + "ref(" + each.parameters +
                                ") {\n"
                                "const int n = N, i = blockIdx.x * 128 + threadIdx.x;\n"
                                "if (i >= n) return;\n" +
                                each.reference + "\n}\n");
    const auto path = folder_.write(
        "word.yaml", "kernel: word\nop: word\narch: [80]\ndims: [N]\nparams: {MISTAKE: [0, 1]}\n" +
                         each.contract + "work: {flops: 0, bytes: 0}\nsmoke: {N: 3001}\n");
    TrialRequest request =
        request_of(load_kernel(path), info, {{"MISTAKE", std::int64_t{mistake}}});
    request.measure.max_seconds_per_config = 0.02;
    return request;
  }

  TempFolder folder_;
};

TEST_P(Contract, ARightKernelPassesAndAWrongOneFails) {
  const Outcome right = run(GetParam(), false);
  expect_only_right_passes(right, run(GetParam(), true));
}

INSTANTIATE_TEST_SUITE_P(, Contract, testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace assay
