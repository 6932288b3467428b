// Words of a contract that say what is launched, with which data, and how the result is checked:
// each with a kernel that is right, and one that is wrong where MISTAKE is 1.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu_fixture.h"

namespace assay {
namespace {

struct ContractCase {
  std::string name;
  std::string contract;                                   // from args to reference
  std::string source;                                     // of the kernel
  std::string reference = {};                             // of ref.cu: the body of ref
  std::string parameters = "const float* x, float* out";  // of ref
  std::string wrong = "mismatch";                         // what the mistake is
};

std::ostream& operator<<(std::ostream& stream, const ContractCase& each) {
  return stream << each.name;
}

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
const std::string kOnce = kLength + kLaunch + kReference;
const std::string kUseX = kWord + "(const float* x, float* out, int n) {\n" + kIndex;

std::string repeated(const std::string& passes) {
  return "args:\n" + kX + kScratch + kOut + "launches: [{repeat: " + passes + ", entry: step, " +
         kBlocks +
         ",\n  args: [{from: [x, t, out]}, {to: [t, out]}, {dtype: i32, value: pass},\n"
         "         {dtype: i32, value: N}]}]\n" +
         kReference;
}

/// What is prepared of x is `p`.
const std::string kPrepare = kEntry + "lay_out(const float* x, float* p, int n) {\n" + kIndex;
const std::string kUsePrepared = kWord + "(float* p, float* out, int n) {\n" + kIndex;
const std::string kPrepared =
    "args:\n" + kX + "  - {name: p, dtype: f32, shape: [N], role: prepared}\n" + kOut + kLength +
    "prepare: [{entry: lay_out, " + kBlocks + ", args: [x, p, n]}]\n" + "launches: [{" + kBlocks +
    ", args: [p, out, n]}]\n" + kReference;

std::vector<ContractCase> contract_cases() {
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

      {"prepared", kPrepared,
       kPrepare + "p[i] = x[MISTAKE && i == 5 ? 6 : n - 1 - i]; }\n" + kUsePrepared +
           "out[i] = 2 * p[i]; }\n",
       "out[i] = 2 * x[n - 1 - i];"},
      {"prepared_in_part", kPrepared,
       kPrepare + "if (!MISTAKE || i > 0) p[i] = 2 * x[i]; }\n" + kUsePrepared +
           "out[i] = p[i]; }\n",
       "out[i] = 2 * x[i];", "const float* x, float* out", "unwritten"},
      {"prepared_is_changed", kPrepared,
       kPrepare + "p[i] = 2 * x[i]; }\n" + kUsePrepared +
           "out[i] = p[i]; if (MISTAKE && i == 7) p[i] += 1; }\n",
       "out[i] = 2 * x[i];", "const float* x, float* out", "input_modified"},

      {"symbol",
       "args:\n" + kX + "  - {name: c, dtype: f32, shape: [4], role: in, symbol: constants}\n" +
           kOut + kLength + kLaunch + reference_of("x, c, out"),
       "__constant__ float constants[5];\n" + kUseX +
           "out[i] = x[i] * constants[0] + constants[MISTAKE ? 2 : 3]; }\n",
       "out[i] = x[i] * c[0] + c[3];", "const float* x, const float* c, float* out"},
      {"symbol_in_a_namespace",
       "args:\n" + kX +
           "  - {name: c, dtype: f32, shape: [4], role: in, symbol: lib::constants}\n" + kOut +
           kLength + kLaunch + reference_of("x, c, out"),
       "namespace lib { __constant__ float constants[5]; }\n" + kUseX +
           "out[i] = x[i] * lib::constants[0] + lib::constants[MISTAKE ? 2 : 3]; }\n",
       "out[i] = x[i] * c[0] + c[3];", "const float* x, const float* c, float* out"},
      {"symbol_of_the_device",
       "args:\n" + kX + "  - {name: c, dtype: f32, shape: [N], role: in, symbol: table}\n" + kOut +
           kLength + kLaunch + reference_of("x, c, out"),
       "__device__ float table[3005];\n" + kUseX +
           "out[i] = x[i] + table[MISTAKE ? i / 2 : i]; }\n",
       "out[i] = x[i] + c[i];", "const float* x, const float* c, float* out"},
      {"struct_of_arguments",
       "args:\n" + kX + kOut + kLength +
           "  - {name: inner, struct: [n, {dtype: i16, value: 5}]}\n"
           "  - {name: p, struct: [{dtype: i8, value: 3}, x, {dtype: f64, value: 2}, out, "
           "inner]}\n" +
           kLaunch + kReference,
       "struct Inner { int n; short five; };\n"
       "struct Params { signed char three; const float* x; double two; float* out; Inner inner; "
       "};\n" +
           kWord + "(const __grid_constant__ Params p) {\nconst int n = p.inner.n;\n" + kIndex +
           "p.out[i] = float(p.two) * p.x[i] + p.inner.five + p.three + MISTAKE; }\n",
       "out[i] = 2 * x[i] + 8;"},
      {"cooperative",
       "args:\n" + kX + kScratch + kOut + kLength + "launches: [{" + kBlocks +
           ", cooperative: true}]\n" + kReference,
       "#include <cooperative_groups.h>\n" + kWord +
           "(const float* x, float* t, float* out, int n) {\n"
           "const int i = blockIdx.x * 128 + threadIdx.x; if (i < n) t[i] = x[i];\n"
           "cooperative_groups::this_grid().sync();\n"
           "if (i < n) out[i] = t[n - 1 - i] + MISTAKE; }\n",
       "out[i] = x[n - 1 - i];"},
      {"equal_infinities", "args:\n" + kX + kOut + kOnce,
       kUseX +
           "out[i] = x[i] < -1 ? (MISTAKE && i > 9 ? 1 : -1) * __int_as_float(0x7f800000) : x[i]; "
           "}\n",
       "out[i] = x[i] < -1 ? -__int_as_float(0x7f800000) : x[i];"},
      {"texture",
       "args:\n  - {name: x, dtype: f32, shape: [N], role: in, texture: point}\n" + kOut + kOnce,
       kWord + "(cudaTextureObject_t x, float* out, int n) {\n" + kIndex +
           "out[i] = tex1Dfetch<float>(x, n - 1 - i + MISTAKE); }\n",
       "out[i] = x[n - 1 - i];"},
      {"texture_of_channels",
       "args:\n  - {name: x, dtype: i16, shape: [N, 4], role: in, texture: {channels: 4},\n"
       "     fill: {name: uniform, low: -99, high: 99}}\n" +
           kOut + kLength + kLaunch + reference_of("x, out"),
       kWord + "(cudaTextureObject_t x, float* out, int n) {\n" + kIndex +
           "const short4 v = tex1Dfetch<short4>(x, i); out[i] = v.x - (MISTAKE ? v.z : v.w); }\n",
       "out[i] = x[4 * i] - x[4 * i + 3];", "const short* x, float* out"},
      {"texture_of_two_dimensions",
       "args:\n  - {name: x, dtype: f32, shape: [N, 64], role: in, texture: linear}\n" + kOut +
           kLength + kLaunch + reference_of("x, out"),
       kWord + "(cudaTextureObject_t x, float* out, int n) {\n" + kIndex +
           "out[i] = tex2D<float>(x, 4 + MISTAKE, i + 0.5f); }\n",  // between 3 and 4
       "out[i] = (x[64 * i + 3] + x[64 * i + 4]) / 2;", "const float* x, float* out"},
      {"texture_that_repeats",
       "args:\n  - {name: x, dtype: u8, shape: [N, 64], role: in, fill: {name: uniform, low: 0, "
       "high: 99},\n     texture: {address: wrap, normalized: true}}\n" +
           kOut + kLength + kLaunch + reference_of("x, out"),
       kWord + "(cudaTextureObject_t x, float* out, int n) {\n" + kIndex +
           "out[i] = tex2D<unsigned char>(x, (64 + 3.5f + MISTAKE) / 64, (i + 0.5f) / n); }\n",
       "out[i] = x[64 * i + 3];", "const unsigned char* x, float* out"},
      {"fill_column",
       "args:\n  - {name: m, dtype: f32, shape: [N, 3], role: in}\n"
       "  - {name: x, dtype: f32, shape: [N], role: in, fill: {column: {of: m, index: 2}}}\n" +
           kOut + kLength + kLaunch + reference_of("m, out"),
       kWord + "(const float*, const float* x, float* out, int n) {\n" + kIndex +
           "out[i] = x[i] * (MISTAKE ? 2 : 3); }\n",
       "out[i] = m[3 * i + 2] * 3;", "const float* m, float* out"},
      {"fill_order",
       "args:\n" + kX + "  - {name: o, dtype: i32, shape: [N], role: in, fill: {order: x}}\n" +
           "  - {name: r, dtype: i32, shape: [N], role: in, fill: {inverse: o}}\n" + kOut +
           kLength + kLaunch + reference_of("x, out"),
       kWord + "(const float* x, const int* o, const int* r, float* out, int n) {\n" + kIndex +
           "out[o[i]] = MISTAKE ? i / 2 : r[o[i]]; }\n",
       "float below = 0;\n"
       "for (int j = 0; j < n; ++j) below += x[j] < x[i] || (x[j] == x[i] && j < i);\n"
       "out[i] = below;"},
      {"fill_starts",
       "args:\n  - {name: ids, dtype: i32, shape: [N, 2], role: in,\n"
       "     fill: {name: routing, tokens: N, experts: 8, top: 2}}\n"
       "  - {name: rows, dtype: i32, shape: [N, 2], role: in, fill: {rows: ids}}\n"
       "  - {name: starts, dtype: i32, shape: [9], role: in, fill: {starts: ids}}\n"
       "  - {name: out, dtype: i32, shape: [N, 2], role: out}\n" +
           kLength + kLaunch + reference_of("ids, out"),
       kWord + "(const int*, const int* rows, const int* starts, int* out, int n) {\n" + kIndex +
           "for (int j = 2 * i; j < 2 * i + 2; ++j) {\n"
           "int e = 0; while (starts[e + 1] <= j) ++e;\n"
           "out[j] = 8 * rows[j] + e + (MISTAKE && j == 9); } }\n",
       "for (int s = 0; s < 2; ++s) {\n"
       "const int id = ids[2 * i + s]; int place = 0;\n"
       "for (int j = 0; j < 2 * n; ++j) place += ids[j] < id || (ids[j] == id && j < 2 * i + s);\n"
       "out[place] = 8 * i + id; }",
       "const int* ids, int* out"},
      {"fill_kernel",
       "args:\n" + kX +
           "  - {name: y, dtype: f32, shape: [N], role: in,\n"
           "     fill: {kernel: {source: ref.cu, entry: make, args: [x, y, seed],\n"
           "                     grid: [cdiv(N, 128)], block: [128]}}}\n" +
           kOut + kLength + kLaunch + reference_of("x, y, out"),
       kWord + "(const float* x, const float* y, float* out, int n) {\n" + kIndex +
           "out[i] = MISTAKE ? x[i] : y[i]; }\n",
       "out[i] = y[i];\n}\n" + kEntry +
           "make(const float* x, float* y, unsigned long long seed) {\n"
           "const int n = N, i = blockIdx.x * 128 + threadIdx.x;\n"
           "if (i < n) y[i] = x[i] + (seed >> 20) % 1000;",
       "const float* x, const float* y, float* out"},
      {"fill_file",
       "args:\n  - {name: x, dtype: u8, shape: [N], role: in, fill: {file: data.bin}}\n"
       "  - {name: out, dtype: u8, shape: [N], role: out}\n" +
           kLength + kLaunch + reference_of("out"),
       kWord + "(const unsigned char* x, unsigned char* out, int n) {\n" + kIndex +
           "out[i] = x[i] + (MISTAKE && i == 9); }\n",
       "out[i] = 'a' + i % 7;", "unsigned char* out"},
      {"fill_choices",
       "args:\n  - {name: x, dtype: i32, shape: [N, 2], role: in,\n"
       "     fill: {choices: {file: choices.txt, of: 20}}}\n"
       "  - {name: out, dtype: i32, shape: [N], role: out}\n" +
           kLength + kLaunch + reference_of("out"),
       kWord + "(const int* x, int* out, int n) {\n" + kIndex +
           "out[i] = x[2 * i] * 100 + x[2 * i + 1] + (MISTAKE && i == 9); }\n",
       "out[i] = i % 7 * 100 + 10 + i % 3;", "int* out"},
      {"init_copy",
       "args:\n" + kX + "  - {name: out, dtype: f32, shape: [N], role: out, init: {copy: x}}\n" +
           kOnce,
       kWord + "(const float*, float* out, int n) {\n" + kIndex +
           "if (i % 2 == 0) out[i] += MISTAKE ? 2 : 1; }\n",
       "out[i] = x[i] + (i % 2 == 0);"},
      {"inout",
       "args:\n" + kX + kState + kLength + kLaunch +
           "reference: [{add: {a: out, b: x, out: out}}]\n",
       kUseX + "out[i] = MISTAKE ? x[i] : out[i] + x[i]; }\n"},
      {"consumed", "args:\n  - {name: x, dtype: f32, shape: [N], role: consumed}\n" + kOut + kOnce,
       kWord + "(float* x, float* out, int n) {\n" + kIndex +
           "const float value = x[i]; x[i] = 7; out[i] = value * (MISTAKE ? 2 : 3); }\n",
       "out[i] = x[i] * 3;"},
      {"inout_of_ones_own", "args:\n" + kX + kState + kOnce,
       kUseX + "out[i] += x[i] * (MISTAKE ? 2 : 3); }\n", "out[i] += x[i] * 3;"},
      {"inout_updated_in_turn",
       "args:\n" + kX + kState + kLength + kLaunch +
           "reference:\n  - {kernel: {source: ref.cu, entry: ref, args: [x, out], grid: [cdiv(N, "
           "128)], block: [128]}}\n"
           "  - {kernel: {source: ref.cu, entry: more, args: [out, x], grid: [cdiv(N, 128)], "
           "block: [128]}}\n",
       kUseX + "out[i] = 2 * (out[i] + x[i]) + (MISTAKE ? 0 : x[i]); }\n",
       "out[i] += x[i];\n}\n" + kEntry +
           "more(float* out, const float* x) {\n"
           "const int n = N, i = blockIdx.x * 128 + threadIdx.x;\n"
           "if (i < n) out[i] = 2 * out[i] + x[i];"},
      {"check_first",
       "args:\n" + kX +
           "  - {name: out, dtype: f32, shape: [N], role: out, check: {first: N / 2}}\n" + kOnce,
       kUseX + "if (i < n / 2 - MISTAKE) out[i] = x[i]; }\n", "if (i < n / 2) out[i] = x[i];",
       "const float* x, float* out", "unwritten"},
      {"check_sorted",
       "args:\n" + kX +
           "  - {name: out, dtype: f32, shape: [N], role: out, check: {sorted: true}}\n"
           "  - {name: count, dtype: i32, shape: [1], role: scratch, init: zero}\n" +
           kOnce,
       kWord + "(const float* x, float* out, int* count, int n) {\n" + kIndex +
           "out[atomicAdd(count, 1)] = x[MISTAKE && i == 5 ? 6 : i]; }\n",
       "out[i] = x[i];"},
      {"check_sorted_integers",
       "args:\n  - {name: x, dtype: i16, shape: [N], role: in, fill: {name: uniform, low: -99, "
       "high: "
       "99}}\n"
       "  - {name: out, dtype: i16, shape: [N], role: out, check: {sorted: true, first: 3000}}\n" +
           kOnce,
       kWord + "(const short* x, short* out, int n) {\n" + kIndex +
           "if (i < 3000) out[2999 - i] = x[i] + (MISTAKE && i == 5); }\n",
       "out[i] = x[i];", "const short* x, short* out"},
      {"check_sum",
       "args:\n" + kX + "  - {name: out, dtype: f32, shape: [N], role: out, check: {sum: true}}\n" +
           kOnce,
       kUseX + "out[n - 1 - i] = x[i] + (MISTAKE && i < 9); }\n", "out[i] = x[i];"},
      {"check_sum_of_integers",
       "args:\n" + kX + "  - {name: out, dtype: u64, shape: [N], role: out, check: {sum: true}}\n" +
           kOnce,
       kWord + "(const float*, unsigned long long* out, int n) {\n" + kIndex +
           "out[n - 1 - i] = (1ull << 60) + i + (MISTAKE && i == 9); }\n",
       "out[i] = (1ull << 60) + i;", "const float* x, unsigned long long* out"},
      {"tolerance_absolute", "args:\n" + kX + kOut + kOnce + "tolerance: {absolute: 0.02}\n",
       kUseX + "out[i] = x[i] * x[i] + (MISTAKE ? 0.1f : 0.01f); }\n", "out[i] = x[i] * x[i];"},
      {"init_zero_of_some",
       "args:\n" + kX + "  - {name: out, dtype: i32, shape: [N], role: out, init: {zero: 4}}\n" +
           kOnce,
       kWord + "(const float*, int* out, int n) {\n" + kIndex +
           "if (i >= 4) out[i] = i; atomicAdd(out + i % 4, MISTAKE && i == 9 ? 0 : 1); }\n",
       "out[i] = i < 4 ? (n - i + 3) / 4 : i;", "const float* x, int* out"},
      {"reference_file",
       "args:\n  - {name: x, dtype: u8, shape: [N], role: in, fill: iota}\n"
       "  - {name: out, dtype: u8, shape: [N], role: out}\n" +
           kLength + kLaunch + "reference: [{file: data.bin, out: out}]\n",
       kWord + "(const unsigned char* x, unsigned char* out, int n) {\n" + kIndex +
           "out[i] = 'a' + (i + (MISTAKE && i == n - 1)) % 7; }\n"},
  };
}

class Contract : public test::RunnerTest, public testing::WithParamInterface<ContractCase> {
 protected:
  TrialRequest request_for(const ContractCase& each, bool mistake) {
    std::string data, choices;
    for (int i = 0; i < 3001; ++i) {
      data += static_cast<char>('a' + i % 7);
      choices += std::to_string(i % 7) + " " + std::to_string(10 + i % 3) + "\n";
    }
    folder_.write("data.bin", data);
    folder_.write("choices.txt", choices);
    return request_of_word(
        "dims: [N]\n" + each.contract + "work: {flops: 0, bytes: 0}\nsmoke: {N: 3001}\n",
        each.source,
        kEntry + "ref(" + each.parameters +
            ") {\n"
            "const int n = N, i = blockIdx.x * 128 + threadIdx.x;\n"
            "if (i >= n) return;\n" +
            each.reference + "\n}\n",
        mistake);
  }
};

TEST_P(Contract, ARightKernelPassesAndAWrongOneFails) {
  const TrialRequest right = request_for(GetParam(), false), wrong = request_for(GetParam(), true);
  if (std::string(GetParam().name).starts_with("texture") && test::needs_a_gpu("textures")) return;
  expect_only_right_passes(runner_->run(right), runner_->run(wrong), GetParam().wrong);
}

INSTANTIATE_TEST_SUITE_P(, Contract, testing::ValuesIn(contract_cases()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace assay
