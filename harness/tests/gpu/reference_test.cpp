// Every word that a reference may use, with a kernel that is right and one that is wrong in the way
// that is likely for it; and references of a user's own that cannot be trusted.

#include <cmath>
#include <string>
#include <vector>

#include "gpu_fixture.h"
#include "judge/reference.h"
#include "matchers.h"

namespace assay {
namespace {

/// A contract of M x N elements with a thread for each, and its kernel. `code` is run for element
/// `i` of row `r` and column `c`, and wrong where MISTAKE is 1.
struct Word {
  std::string name;
  std::vector<std::string> args;  // of the contract, without name: "{dtype: f32, ..}"
  std::string reference;
  std::string parameters;  // of the kernel, before M and N
  std::string code;
  std::string own_reference = {};  // of ref.cu
};

std::ostream& operator<<(std::ostream& stream, const Word& word) { return stream << word.name; }

const std::string kMatrixX = "{name: x, dtype: f32, shape: [M, N], role: in}";
const std::string kY = "{name: y, dtype: f32, shape: [M, N], role: in}";
const std::string kMatrixOut = "{name: out, dtype: f32, shape: [M, N], role: out}";
const std::string kXOut = "const float* x, float* out";
const std::string kXYOut = "const float* x, const float* y, float* out";
const std::string kSigmoid = "auto sigmoid = [](float v) { return 1 / (1 + __expf(-v)); };\n";
const std::string kMatrixIndex =
    "{name: index, dtype: i32, shape: [M], role: in, fill: {name: uniform, low: 0, high: M}}";
const std::string kWeight =
    "{name: weight, dtype: f32, shape: [N], role: in, fill: {name: uniform, low: 1, high: 3}}";

const std::vector<std::string> kOfX = {kMatrixX, kMatrixOut};
const std::vector<std::string> kOfXAndY = {kMatrixX, kY, kMatrixOut};

std::vector<Word> words() {
  const std::string row_loop = "float s = 0; for (int k = 0; k < N; ++k) ";
  return {
      {"mul", kOfXAndY, "[{mul: {a: x, b: y, out: out}}]", kXYOut,
       "out[i] = x[i] * (MISTAKE ? 1 : y[i]);"},
      {"relu", kOfX, "[{relu: {x: x, out: out}}]", kXOut,
       "out[i] = MISTAKE ? fabsf(x[i]) : fmaxf(x[i], 0);"},
      {"leaky_relu", kOfX, "[{relu: {x: x, slope: 0.25, out: out}}]", kXOut,
       "out[i] = x[i] > 0 ? x[i] : (MISTAKE ? 0 : 0.25f * x[i]);"},
      {"silu", kOfX, "[{silu: {x: x, out: out}}]", kXOut,
       kSigmoid + "out[i] = x[i] * (MISTAKE ? 1 : sigmoid(x[i]));"},
      // The two forms differ by 5e-4 at most.
      {"gelu", kOfX, "[{gelu: {x: x, out: out}}]", kXOut,
       "out[i] = MISTAKE ? 0.5f * x[i] * (1 + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * "
       "x[i] * x[i]))) : x[i] * normcdff(x[i]);"},
      {"gelu_tanh", kOfX, "[{gelu: {x: x, tanh: true, out: out}}]", kXOut,
       kSigmoid + "out[i] = MISTAKE ? x[i] * normcdff(x[i]) : x[i] * sigmoid(1.5957691216f * (x[i] "
                  "+ 0.044715f * x[i] * x[i] * x[i]));"},
      {"bias",
       {kMatrixX, kWeight, kMatrixOut},
       "[{bias: {x: x, bias: weight, out: out}}]",
       kXYOut,
       "out[i] = x[i] + y[MISTAKE ? r : c];"},
      {"swiglu", kOfXAndY, "[{swiglu: {a: x, b: y, out: out}}]", kXYOut,
       kSigmoid + "out[i] = MISTAKE ? x[i] * y[i] * sigmoid(y[i]) : x[i] * sigmoid(x[i]) * y[i];"},
      {"swiglu_halves",
       {"{name: x, dtype: f32, shape: [M, 2 * N], role: in}", kMatrixOut},
       "[{swiglu: {a: x, out: out}}]",
       kXOut,
       kSigmoid + "const float g = x[r * 2 * N + c], u = x[r * 2 * N + N + c];\n"
                  "out[i] = MISTAKE ? u * sigmoid(u) * g : g * sigmoid(g) * u;"},
      {"swiglu_interleaved",
       {"{name: x, dtype: f32, shape: [M, 2 * N], role: in}", kMatrixOut},
       "[{swiglu: {a: x, interleaved: true, out: out}}]",
       kXOut,
       kSigmoid + "const float g = x[r * 2 * N + 2 * c], u = x[r * 2 * N + 2 * c + 1];\n"
                  "out[i] = MISTAKE ? u * sigmoid(u) * g : g * sigmoid(g) * u;"},
      {"rms_norm",
       {kMatrixX, kWeight, kMatrixOut},
       "[{rms_norm: {x: x, weight: weight, out: out}}]",
       kXYOut,
       row_loop + "s += x[r * N + k] * x[r * N + k];\n"
                  "out[i] = x[i] * rsqrtf(s / N + (MISTAKE ? 0.01f : 1e-5f)) * y[c];"},
      {"layer_norm",
       {"{name: x, dtype: f32, shape: [M, N], role: in, fill: {name: uniform, low: 1, high: 3}}",
        kWeight, kMatrixOut},
       "[{layer_norm: {x: x, weight: weight, bias: weight, out: out}}]",
       kXYOut,
       row_loop +
           "s += x[r * N + k];\nconst float mean = s / N;\nfloat q = 0;\n"
           "for (int k = 0; k < N; ++k) q += (x[r * N + k] - mean) * (x[r * N + k] - mean);\n"
           "out[i] = (x[i] - mean) * rsqrtf(q / (MISTAKE ? N - 1 : N) + 1e-5f) * y[c] + y[c];"},
      {"softmax", kOfX, "[{softmax: {x: x, out: out}}]", kXOut,
       row_loop + "s += __expf(x[r * N + k]);\n"
                  "out[i] = __expf(x[i]) / (s - (MISTAKE ? __expf(x[r * N + N - 1]) : 0));"},
      {"sum",
       {kMatrixX, "{name: out, dtype: f32, shape: [M], role: out}"},
       "[{sum: {x: x, out: out}}]",
       kXOut,
       row_loop + "s += x[r * N + k];\nif (c == 0) out[r] = s - (MISTAKE ? x[i] : 0);"},
      {"sum_all",
       {kMatrixX, "{name: out, dtype: f32, shape: [1], role: out}"},
       "[{sum: {x: x, all: true, out: out}}]",
       kXOut,
       "if (i == 0) { float s = 0; for (int k = MISTAKE; k < M * N; ++k) s += x[k]; out[0] = s; }"},
      {"transpose",
       {kMatrixX, "{name: out, dtype: f32, shape: [N, M], role: out}"},
       "[{transpose: {x: x, out: out}}]",
       kXOut,
       "out[MISTAKE ? i : c * M + r] = x[i];"},
      {"transpose_bytes",
       {"{name: x, dtype: i8, shape: [M, N], role: in, fill: {name: uniform, low: -128, high: "
        "128}}",
        "{name: out, dtype: i8, shape: [N, M], role: out}"},
       "[{transpose: {x: x, out: out}}]",
       "const signed char* x, signed char* out",
       "out[c * M + r] = x[i] + (MISTAKE && i == 77);"},
      {"gather_rows",
       {kMatrixX, kMatrixIndex, kMatrixOut},
       "[{gather_rows: {x: x, index: index, out: out}}]",
       "const float* x, const int* index, float* out",
       "out[i] = x[(MISTAKE ? r : index[r]) * N + c];"},
      {"scatter_add",
       {kMatrixX, kMatrixIndex, kMatrixOut},
       "[{scatter_add: {x: x, index: index, out: out}}]",
       "const float* x, const int* index, float* out",
       "float s = 0; for (int k = MISTAKE; k < M; ++k) if (index[k] == r) s += x[k * N + c];\n"
       "out[i] = s;"},
      {"topk_sum",
       {"{name: x, dtype: f32, shape: [2 * M, N], role: in}",
        "{name: weight, dtype: f32, shape: [M, 2], role: in}", kMatrixOut},
       "[{topk_sum: {x: x, weight: weight, out: out}}]",
       kXYOut,
       "out[i] = y[2 * r] * x[2 * r * N + c] + (MISTAKE ? 1 : y[2 * r + 1]) * x[(2 * r + 1) * N + "
       "c];"},
      {"grouped_gemm",
       {"{name: a, dtype: f32, shape: [M, 16], role: in}",
        "{name: b, dtype: f32, shape: [4, N, 16], role: in}",
        "{name: starts, dtype: i32, shape: [5], role: in, fill: iota}", kMatrixOut},
       "[{grouped_gemm: {a: a, b: b, starts: starts, transpose_b: true, out: out}}]",
       "const float* a, const float* b, const int* starts, float* out",
       "float s = 0; const int e = MISTAKE ? 0 : r;\n"
       "for (int k = 0; k < 16; ++k) s += a[r * 16 + k] * b[(e * N + c) * 16 + k];\nout[i] = s;"},
      {"spmv",
       {"{name: starts, dtype: i32, shape: [M + 1], role: in, fill: {name: row_starts, nonzeros: 7 "
        "* M, skew: 0.5}}",
        "{name: columns, dtype: i32, shape: [7 * M], role: in, fill: {name: uniform, low: 0, high: "
        "N}}",
        "{name: values, dtype: f32, shape: [7 * M], role: in}",
        "{name: x, dtype: f32, shape: [N], role: in}",
        "{name: out, dtype: f32, shape: [M], role: out}"},
       "[{spmv: {starts: starts, columns: columns, values: values, x: x, out: out}}]",
       "const int* starts, const int* columns, const float* values, const float* x, float* out",
       "if (c != 0) return;\nfloat s = 0;\n"
       "for (int k = starts[r] + MISTAKE; k < starts[r + 1]; ++k) s += values[k] * x[columns[k]];\n"
       "out[r] = s;"},
      {"chain_rounded",
       {kMatrixX, kY, "{name: out, dtype: bf16, shape: [M, N], role: out}"},
       "[{mul: {a: x, b: y, out: product, round: bf16}}, {silu: {x: product, out: out}}]",
       "const float* x, const float* y, unsigned short* out",
       "auto bf16 = [](float v) { unsigned b = __float_as_uint(v); return (b + 0x7FFF + (b >> 16 & "
       "1)) >> 16; };\n"
       "const float p = __uint_as_float(bf16(x[i] * y[i]) << 16);\n"
       "out[i] = bf16(p / (MISTAKE ? 1 : 1 + __expf(-p)));"},
      // A product was written in f32 over memory of half the size.
      {"product_rounded",
       {"{name: a, dtype: bf16, shape: [M, 16], role: in}",
        "{name: b, dtype: bf16, shape: [N, 16], role: in}", kMatrixOut},
       "[{gemm: {a: a, b: b, transpose_b: true, out: product, round: bf16}}, {add: {a: product, b: "
       "product, out: out}}]",
       "const unsigned short* a, const unsigned short* b, float* out",
       "float s = 0; for (int k = 0; k < 16; ++k)\n"
       "s += __uint_as_float(a[r * 16 + k] << 16) * __uint_as_float(b[c * 16 + k] << 16);\n"
       "out[i] = (MISTAKE ? 1 : 2) * s;"},
      {"f64",
       {"{name: x, dtype: f64, shape: [M, N], role: in}",
        "{name: out, dtype: f64, shape: [M, N], role: out}"},
       "[{mul: {a: x, b: x, out: out}}]",
       "const double* x, double* out",
       "out[i] = MISTAKE ? (float)x[i] * (float)x[i] : x[i] * x[i];"},
      {"real_scalar",
       {kMatrixX, "{name: factor, dtype: f32, value: 7 / 4}", kMatrixOut},
       "[{kernel: {source: ref.cu, entry: ref, args: [x, factor, out], grid: [1], block: [32]}}]",
       "const float* x, float factor, float* out",
       "out[i] = x[i] * (MISTAKE ? 1 : factor);",
       "extern \"C\" __global__ void ref(const float* x, float factor, float* out) {\n"
       "for (int i = threadIdx.x; i < M * N; i += 32) out[i] = x[i] * (1.75f + 0 * factor); }"},
      {"own_kernel", kOfX,
       "[{kernel: {source: ref.cu, entry: ref, args: [x, {name: twice, shape: [M, N]}], grid: [M], "
       "block: [N]}}, {add: {a: x, b: twice, out: out}}]",
       kXOut, "out[i] = (MISTAKE ? 2 : 3) * x[i];",
       "extern \"C\" __global__ void ref(const float* x, float* out) {\n"
       "const int i = blockIdx.x * N + threadIdx.x; out[i] = 2 * x[i]; }"},
      {"own_integers",
       {"{name: x, dtype: u16, shape: [M, N], role: in, fill: {name: uniform, low: 0, high: 9}}",
        "{name: out, dtype: u64, shape: [M], role: out}"},
       "[{kernel: {source: ref.cu, entry: ref, args: [x, out], grid: [1], block: [M]}}]",
       "const unsigned short* x, unsigned long long* out",
       "unsigned long long s = 1ull << 60; for (int k = 0; k < N; ++k) s += x[r * N + k];\n"
       "if (c == 0) out[r] = s + MISTAKE;",
       "extern \"C\" __global__ void ref(const unsigned short* x, unsigned long long* out) {\n"
       "unsigned long long s = 1ull << 60; const int r = threadIdx.x;\n"
       "for (int k = 0; k < N; ++k) s += x[r * N + k]; out[r] = s; }"},
  };
}

class ReferenceTest : public test::RunnerTest {
 protected:
  Outcome run(const Word& word, bool mistake) {
    std::string args;
    for (const std::string& arg : word.args) args += "  - " + arg + "\n";
    const std::string rows = word.name == "grouped_gemm" ? "4" : "61";
    return runner_->run(request_of_word(
        "dims: [M, N]\nargs:\n" + args +
            "  - {name: M_, dtype: i32, value: M}\n  - {name: N_, dtype: i32, value: N}\n"
            "launches: [{grid: [cdiv(M * N, 128)], block: [128]}]\n"
            "work: {flops: 0, bytes: 0}\nreference: " +
            word.reference + "\nsmoke: {M: " + rows + ", N: 54}\n",
        "extern \"C\" __global__ void word(" + word.parameters +
            ", int M, int N) {\n"
            "const int i = blockIdx.x * 128 + threadIdx.x, r = i / N, c = i % N;\n"
            "if (i >= M * N) return;\n" +
            word.code + "\n}\n",
        word.own_reference, mistake));
  }
};

class Words : public ReferenceTest, public testing::WithParamInterface<Word> {};

TEST_P(Words, ARightKernelPassesAndAWrongOneFails) {
  const Outcome right = run(GetParam(), false);
  expect_only_right_passes(right, run(GetParam(), true));
}

INSTANTIATE_TEST_SUITE_P(, Words, testing::ValuesIn(words()),
                         [](const auto& instance) { return instance.param.name; });

/// x doubled, by a reference with this body, and a kernel that does it.
Word doubled(const std::string& body) {
  return {"doubled",
          kOfX,
          "[{kernel: {source: ref.cu, entry: ref, args: [x, out], grid: [M], block: [N]}}]",
          kXOut,
          "out[i] = 2 * x[i];",
          "extern \"C\" __global__ void ref(float* x, float* out) {\n"
          "const int i = blockIdx.x * N + threadIdx.x;\n" +
              body + "\n}\n"};
}

TEST_F(ReferenceTest, AReferenceIsNamedInTheResult) {
  const Outcome outcome = run(doubled("out[i] = 2 * x[i];"), false);
  ASSERT_EQ(outcome.status, Status::correct) << outcome.message;
  EXPECT_EQ(outcome.validation->reference, "kernel ref of ref.cu");
}

TEST_F(ReferenceTest, AReferenceThatCannotBeTrustedIsRefused) {
  const std::pair<const char*, const char*> bodies[] = {
      {"if (i != 77) out[i] = 2 * x[i];",
       "the reference ref of ref.cu did not write 1 of the 3294 elements of out; the first is "
       "out[1,23]"},
      {"out[i] = 2 * x[i] + (i == 5 ? clock64() & 0xFFFFFF : 0);", "same each time"},
      {"out[i] = 2 * x[i]; if (i == 0) out[-1] = 1;", "wrote outside of out"},
      {"out[i] = 2 * x[i]; x[i] = 0;", "changed x, which it was to read"},
      {"out[i] = i == 9 ? 0 / (x[i] - x[i]) : 2 * x[i];", "made a NaN or an infinity in out"},
  };
  for (const auto& [body, sentence] : bodies) {
    const Outcome outcome = run(doubled(body), false);
    EXPECT_EQ(outcome.status, Status::runtime) << body;
    EXPECT_EQ(outcome.kind, "oracle") << body;
    EXPECT_THAT(outcome.message, HasSubstr(sentence)) << body;
    // What it left behind harms nobody.
    const Outcome good = run(doubled("out[i] = 2 * x[i];"), false);
    EXPECT_EQ(good.status, Status::correct) << body << ": " << good.message;
  }
}

// Nor is a kernel that fills an input, if it writes beside the input or changes another one.
TEST_F(ReferenceTest, AFillThatCannotBeTrustedIsRefused) {
  Word word = doubled("");
  word.args = {kMatrixX,
               "{name: y, dtype: f32, shape: [M, N], role: in, fill: {kernel: {source: ref.cu, "
               "entry: make, args: [x, y], grid: [M], block: [N]}}}",
               kMatrixOut};
  word.parameters = kXYOut;
  word.reference = "[{add: {a: x, b: y, out: out}}]";
  word.code = "out[i] = x[i] + y[i];";
  const std::pair<std::string, std::string> mistakes[] = {
      {"", ""}, {"y[M * N] = 0;", "writes outside of it"}, {"y[i] = 3; x[0] = 0;", "changes x"}};
  for (const auto& [code, mistake] : mistakes) {
    word.own_reference =
        "extern \"C\" __global__ void make(float* x, float* y) {\n"
        "const int i = blockIdx.x * N + threadIdx.x; y[i] = 3 * x[i];\n" +
        code + " }";
    const Outcome outcome = run(word, false);
    EXPECT_EQ(outcome.kind, mistake.empty() ? "" : "oracle") << outcome.message;
    EXPECT_THAT(
        outcome.message,
        HasSubstr(mistake.empty() ? "" : "kernel make of ref.cu, which fills y, " + mistake));
  }
}

// Sums by atomics come in any order.
TEST_F(ReferenceTest, AReferenceMayDifferWithinTheTolerance) {
  Word word = doubled("");
  word.args = {kMatrixX, "{name: out, dtype: f32, shape: [1], role: out, init: zero}"};
  word.reference =
      "[{kernel: {source: ref.cu, entry: ref, args: [x, out], grid: [M], block: [N], sum_length: "
      "M * N}}]";
  word.own_reference =
      "extern \"C\" __global__ void ref(const float* x, float* out) {\n"
      "atomicAdd(out, fabsf(x[blockIdx.x * N + threadIdx.x])); }";
  word.code = "if (i == 0) for (int k = 0; k < M * N; ++k) *out += fabsf(x[k]);";
  const Outcome outcome = run(word, false);
  EXPECT_EQ(outcome.status, Status::correct) << outcome.kind << ": " << outcome.message;
}

// A hidden layer in bf16 was compared as if nothing had rounded it. A kernel whose sums differ in
// the last bit of fp32 has other elements on the other side of a rounding, and was refused for
// them.
TEST_F(ReferenceTest, AResultBetweenReferenceKernelsIsRounded) {
  Word word = doubled("");
  word.reference =
      "[{kernel: {source: ref.cu, entry: hide, args: [x, {name: h, shape: [M, N], dtype: bf16}], "
      "grid: [M], block: [N]}}, {kernel: {source: ref.cu, entry: show, args: [h, out], grid: [M], "
      "block: [N]}}]";
  word.own_reference =
      "#include <cuda_bf16.h>\n#define I (blockIdx.x * N + threadIdx.x)\n"
      "extern \"C\" __global__ void hide(const float* x, __nv_bfloat16* h) { h[I] = x[I]; }\n"
      "extern \"C\" __global__ void show(const __nv_bfloat16* h, float* out) {\n"
      "out[I] = 2 * __bfloat162float(h[I]); }";
  const auto rounded = [](const std::string& value) {  // to bf16, as the hardware does
    return "const unsigned b = __float_as_uint(" + value +
           "), u = b + 0x7FFF + (b >> 16 & 1);\n"
           "out[i] = (MISTAKE ? 2.05f : 2.f) * __uint_as_float(u & 0xFFFF0000u);";
  };
  word.code = rounded("x[i] * (1 + 1.f / (1 << 17))");
  const Outcome outcome = run(word, false);
  EXPECT_EQ(outcome.status, Status::correct) << outcome.kind << ": " << outcome.message;
  EXPECT_EQ(run(word, true).status, Status::correctness);
}

// A kernel that folds a norm's weights into those of a product rounds x * gamma * W, and adds beta
// * W. Where gamma * x and beta cancel it was held to their sum, and a right output of 512 x 4096
// elements, whose inputs had a few large values, had one out of bounds.
TEST_F(ReferenceTest, TheTermsOfAProductOfANormAreItsParts) {
  constexpr std::int64_t kM = 5, kN = 3, kK = 8;
  folder_.write("norm.cu", "");
  const KernelSpec kernel = load_kernel(folder_.write(
      "norm.yaml",
      "kernel: norm\nop: norm\narch: [80]\ndims: [M, N, K]\nargs:\n"
      "  - {name: X, dtype: f32, shape: [M, K], role: in, fill: normal}\n"
      "  - {name: W, dtype: bf16, shape: [N, K], role: in, fill: normal}\n"
      "  - {name: gamma, dtype: f32, shape: [K], role: in, fill: normal}\n"
      "  - {name: beta, dtype: f32, shape: [K], role: in, fill: normal}\n"
      "  - {name: Y, dtype: bf16, shape: [M, N], role: out}\n"
      "launches: [{grid: [1], block: [32]}]\nwork: {flops: 0, bytes: 0}\nreference:\n"
      "  - layer_norm: {x: X, weight: gamma, bias: beta, out: P, round: bf16}\n"
      "  - gemm: {a: P, b: W, transpose_b: true, out: Y}\nsmoke: {M: 5, N: 3, K: 8}\n"));
  OwnKernels own(*this);
  OperationEngine engine(own.support);
  References references(engine);
  const Plan plan = make_plan(kernel, kernel.smoke, {}, own.info);
  InputMap inputs;
  std::map<std::string, std::vector<double>> values;
  for (const char* name : {"X", "W", "gamma", "beta"}) {
    const BufferPlan& buffer = *plan.find_buffer(name);
    inputs[name] = own.inputs.get(plan, buffer, 1);
    values[name] = engine.read({inputs[name]->buffer.data, buffer.dtype, buffer.shape}, 0, 1,
                               buffer.elements());
  }
  const auto reference = references.get(plan, inputs);
  const ReferenceOutput& output = reference->outputs.at("Y");
  const std::vector<double> terms =
      engine.read({output.terms(), DType::f32, {kM, kN}}, 0, 1, kM * kN);
  for (std::int64_t m = 0; m < kM; ++m) {
    const auto at = [&](const char* name, std::int64_t i) {
      return values[name][static_cast<std::size_t>(i)];
    };
    double mean = 0, variance = 0;
    for (std::int64_t k = 0; k < kK; ++k) mean += at("X", m * kK + k) / kK;
    for (std::int64_t k = 0; k < kK; ++k) variance += std::pow(at("X", m * kK + k) - mean, 2) / kK;
    for (std::int64_t n = 0; n < kN; ++n) {
      double squares = 0;
      for (std::int64_t k = 0; k < kK; ++k) {
        const double x = (at("X", m * kK + k) - mean) / std::sqrt(variance + 1e-5);
        const double a = x * at("gamma", k), b = at("beta", k);
        const double parts = std::max(a * a + b * b, (a + b) * (a + b));
        squares += parts * std::pow(at("W", n * kK + k), 2);
      }
      const double found = terms[static_cast<std::size_t>(m * kN + n)];
      EXPECT_NEAR(found / squares, 1, 0.02) << m << ", " << n;  // they are multiplied as bf16
    }
  }
}

}  // namespace
}  // namespace assay
