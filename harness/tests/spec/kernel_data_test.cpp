// Arguments, launches and references: what a contract says of data.

#include <set>

#include "matchers.h"
#include "message_of.h"
#include "spec/choices.h"
#include "spec/kernel_parts.h"
#include "spec/loaded_kernels.h"

namespace assay {
namespace {

using testing::Pair;

TEST(LoadKernel, ReadsEachFormOfArgument) {
  const KernelSpec kernel = load("gemm_mma");
  ASSERT_EQ(kernel.args.size(), 9u);
  EXPECT_EQ(buffer(kernel, "A").dtype, DType::bf16);
  EXPECT_THAT(texts(buffer(kernel, "A").shape), ElementsAre("M", "K"));
  EXPECT_EQ(buffer(kernel, "B").fill.generator, "normal");  // the default
  EXPECT_EQ(buffer(kernel, "C").role, Role::out);
  EXPECT_FALSE(buffer(kernel, "C").zeroed);
  EXPECT_EQ(buffer(kernel, "partial").role, Role::scratch);
  EXPECT_TRUE(buffer(kernel, "partial").zeroed);
  EXPECT_THAT(texts(buffer(kernel, "partial").shape), ElementsAre("SPLIT_K", "M", "N"));
  EXPECT_THAT(texts(buffer(kernel, "order").shape), ElementsAre("cdiv(M, BLOCK_M)"));
  const auto& map = std::get<TensorMapSpec>(arg(kernel, "A_map").form);
  EXPECT_EQ(map.of, "A");
  EXPECT_THAT(texts(map.box), ElementsAre("BLOCK_M", "BLOCK_K"));
  EXPECT_EQ(map.swizzle_bytes, 128);
  EXPECT_EQ(std::get<ScalarSpec>(arg(kernel, "M").form).dtype, DType::i32);
}

TEST(LoadKernel, GeneratorsGetAllTheirArguments) {
  const KernelSpec kernel = load("gemm_mma");
  const auto& sizes = buffer(kernel, "sizes").fill.arguments;
  EXPECT_EQ(sizes.at("low").expr.text(), "0");
  EXPECT_EQ(sizes.at("high").expr.text(), "min(M, 7)");
  EXPECT_EQ(buffer(kernel, "routes").fill.arguments.size(), 3u);

  std::string text = read_file(spec_tests() / "kernels/gemm_small.yaml");
  replace_all(text, "shape: [M, K], role: in", "shape: [M, K], role: in, fill: uniform");
  const KernelSpec uniform = load_text("gemm_small", text);
  const auto& range = buffer(uniform, "A").fill.arguments;
  EXPECT_EQ(range.at("low").expr.eval({}), -1);
  EXPECT_EQ(range.at("high").expr.eval({}), 1);
}

TEST(LoadKernel, LaunchesMayHaveArgumentsOfTheirOwnAndBeRepeated) {
  const KernelSpec kernel =
      edited("launches:\n",
             "launches:\n"
             "  - {repeat: SPLIT_K, launches: [\n"
             "      {entry: first, grid: [pass + 1], block: [32], args: [M, A]},\n"
             "      {entry: second, grid: [1], block: [32],\n"
             "       args: [{from: [A, C, C]}, {to: [C, C]}, {dtype: f32, value: pass / 4}]}]}\n"
             "  - {repeat: 2, grid: [pass + 1], block: [32]}\n");
  ASSERT_EQ(kernel.launches.size(), 5u);
  const LaunchSpec& first = kernel.launches[0];
  const LaunchSpec& second = kernel.launches[1];
  EXPECT_EQ(first.repeat->expr.text(), "SPLIT_K");
  EXPECT_EQ(second.group, first.group);
  EXPECT_NE(kernel.launches[2].group, first.group);
  EXPECT_EQ(kernel.launches[3].repeat, std::nullopt);
  EXPECT_EQ(kernel.launches[2].args, std::nullopt);
  EXPECT_EQ(first.args_where.line + 2, second.args_where.line);
  EXPECT_THAT(first.args->at(0).names, ElementsAre("M"));
  EXPECT_THAT(second.args->at(0).names, ElementsAre("A", "C", "C"));
  EXPECT_THAT(second.args->at(1).names, ElementsAre("C", "C"));
  EXPECT_THAT(second.args->at(2).names, IsEmpty());
  EXPECT_EQ(second.args->at(2).scalar.dtype, DType::f32);
  // The slot of the pass is behind all others.
  std::vector<std::int64_t> values(kernel.symbols.size() + 1);
  values.back() = 7;
  EXPECT_EQ(first.grid[0].expr.eval(values), 8);
  EXPECT_EQ(second.args->at(2).scalar.value.expr.eval_real(values), 1.75);
}

TEST(LoadKernel, PassIsTheNumberOfAPassAlone) {
  EXPECT_NO_THROW(edited("smem: ", "pass: 1\n  smem: "));
  EXPECT_THAT([] { edited("smem: ", "pass: 1\n  smem: ", "{entry:", "{repeat: 2, entry:"); },
              ThrowsMessage<SpecError>(HasSubstr("called \"pass\"")));
}

TEST(LoadKernel, AResultThatOnlyAnOperationReadsNeedsNoBuffer) {
  std::string text = read_file(spec_tests() / "kernels/add_chain.yaml");
  replace_all(text, "  - {name: B, dtype: f32, shape: *shape, role: out}\n", "");
  const KernelSpec kernel = load_text("add_chain", text);
  ASSERT_EQ(kernel.reference.size(), 2u);
  EXPECT_EQ(kernel.reference[0].operands.at("out"), "B");
  EXPECT_EQ(kernel.reference[1].operands.at("b"), "B");
}

TEST(LoadKernel, AKernelOfOnesOwnIsAStepOfTheReference) {
  const KernelSpec kernel = with_reference(
      "  - kernel:\n      source: ./below/ref.cu\n      entry: rows\n"
      "      args: [A, n, {name: squares, shape: [M, half], init: zero}]\n"
      "      grid: [cdiv(M, 256)]\n      block: [256]\n      sum_length: N\n"
      "  - kernel: {source: below/ref.cu, entry: sums, args: [squares, {name: C, dtype: f32}],\n"
      "             grid: [1], block: [1]}\n",
      "params: {BLOCK: {from: 32, to: 256, times: 2}}\nlet: {half: cdiv(N, 2)}\n",
      "  - {name: n, dtype: i32, value: N}\n");
  ASSERT_EQ(kernel.reference.size(), 2u);
  EXPECT_EQ(kernel.reference[0].operation, "kernel");
  const ReferenceKernelSpec& rows = kernel.reference[0].kernel.value();
  EXPECT_EQ(rows.source.filename(), "ref.cu");
  EXPECT_EQ(rows.entry, "rows");
  EXPECT_THAT(texts(rows.grid), ElementsAre("cdiv(M, 256)"));
  EXPECT_EQ(rows.sum_length->expr.text(), "N");
  ASSERT_EQ(rows.args.size(), 3u);
  EXPECT_EQ(rows.args[0].role, Role::in);
  EXPECT_EQ(rows.args[0].dtype, DType::bf16);
  EXPECT_EQ(rows.args[1].dtype, DType::i32);
  EXPECT_EQ(rows.args[2].role, Role::out);
  EXPECT_TRUE(rows.args[2].zeroed);
  EXPECT_EQ(rows.args[2].dtype, DType::f32);
  EXPECT_THAT(texts(rows.args[2].shape), ElementsAre("M", "half"));
  const ReferenceKernelSpec& sums = kernel.reference[1].kernel.value();
  EXPECT_EQ(sums.args[0].role, Role::in);
  EXPECT_EQ(sums.args[1].role, Role::out);
  EXPECT_TRUE(sums.args[1].zeroed);  // as the kernel's own output is
  EXPECT_EQ(sums.args[1].dtype, DType::f32);
}

// A kernel that does STEPS time steps in a launch had no reference: it could neither read a
// parameter, nor repeat a step, nor have memory beside its results.
TEST(LoadKernel, AReferenceMayMakePassesOverScratchAsAParameterSays) {
  const auto load_with = [](const std::string& args, const std::string& more) {
    return with_reference("  - kernel: {source: below/ref.cu, entry: step, args: [" + args +
                              "], grid: [half], block: [256]" + more + "}\n",
                          "params: {STEPS: [1, 2], BLOCK: [32]}\nlet: {half: cdiv(N, STEPS)}\n",
                          "");
  };
  const std::string spare = "{name: spare, dtype: bf16, shape: [M, N], role: scratch}";
  const KernelSpec kernel =
      load_with("{from: [A, " + spare + ", C]}, {to: [spare, C]}", ", repeat: 2 * STEPS");
  const ReferenceKernelSpec& step = kernel.reference[0].kernel.value();
  EXPECT_EQ(step.repeat->expr.text(), "2 * STEPS");
  ASSERT_EQ(step.args.size(), 3u);
  EXPECT_EQ(step.args[1].role, Role::scratch);
  EXPECT_EQ(step.args[2].role, Role::out);
  EXPECT_THAT(step.turns, ElementsAre(ElementsAre("A", "spare", "C"), ElementsAre("spare", "C")));
  // What a trial means depends on all of this.
  EXPECT_NE(
      kernel.contract_hash,
      load_with("{from: [A, " + spare + ", C]}, {to: [spare, C]}", ", repeat: 2").contract_hash);
  EXPECT_NE(kernel.contract_hash,
            load_with("A, {to: [" + spare + ", C]}", ", repeat: 2 * STEPS").contract_hash);
}

TEST(LoadKernel, BuffersMayBeUpdatedCopiedAndCheckedInPart) {
  const std::string reference = "  - add: {a: S, b: A, out: S}\n  - sum: {x: S, out: C}\n";
  const auto load_with = [&](const std::string& state, const std::string& fill,
                             const std::string& init) {
    return with_reference(reference, "",
                          "  - {name: S, dtype: bf16, shape: [M, N], role: inout" + state +
                              "}\n  - {name: F, dtype: f32, shape: [9], role: in" + fill +
                              "}\n  - {name: T, dtype: f32, shape: [9], role: scratch" + init +
                              "}\n");
  };
  const std::string check = ", check: {first: N, sorted: true}";
  const std::string fill = ", symbol: filter, fill: {name: normal, std: 1 / sqrt(N)}";
  const KernelSpec kernel = load_with(check, fill, ", init: {copy: F}");
  const BufferSpec& state = buffer(kernel, "S");
  EXPECT_EQ(state.role, Role::inout);
  EXPECT_EQ(state.fill.generator, "normal");
  EXPECT_EQ(state.check.first->expr.text(), "N");
  EXPECT_TRUE(state.check.sorted);
  EXPECT_FALSE(state.check.sum);
  EXPECT_EQ(buffer(kernel, "F").symbol, "filter");
  EXPECT_TRUE(buffer(kernel, "F").fill.arguments.at("std").expr.is_real());
  EXPECT_EQ(buffer(kernel, "T").copy_of, "F");
  EXPECT_FALSE(buffer(kernel, "T").zeroed);
  EXPECT_EQ(buffer(load_with("", "", ", init: {zero: 4}"), "T").zeroed_elements->expr.text(), "4");
  std::set<std::string> hashes = {kernel.contract_hash};
  for (const auto& other :
       {load_with("", fill, ", init: {copy: F}"), load_with(check, "", ", init: {copy: F}"),
        load_with(", check: {sum: true}", fill, ", init: {copy: F}"), load_with(check, fill, ""),
        load_with(check, fill, ", init: {zero: 4}"), load_with(check, fill, ", init: zero"),
        load_with(check, ", fill: {name: normal, std: 1 / N}", ", init: {copy: F}")}) {
    EXPECT_TRUE(hashes.insert(other.contract_hash).second);
  }
}

TEST(LoadKernel, AStructHoldsArgumentsAheadOfIt) {
  const KernelSpec kernel =
      with_reference("  - sum: {x: A, out: C}\n", "",
                     "  - {name: F, dtype: f32, shape: [9], role: in, symbol: lib::filter}\n"
                     "  - {name: n, dtype: i64, value: N}\n"
                     "  - {name: inner, struct: [n, {dtype: f32, value: 1 / 2}]}\n"
                     "  - {name: p, struct: [A, inner]}\n");
  EXPECT_EQ(buffer(kernel, "F").symbol, "lib::filter");
  const auto& inner = std::get<StructSpec>(arg(kernel, "inner").form).members;
  ASSERT_EQ(inner.size(), 2u);
  EXPECT_EQ(inner[0].name, "n");
  EXPECT_EQ(inner[1].name, "");
  EXPECT_EQ(inner[1].scalar.dtype, DType::f32);
  EXPECT_TRUE(inner[1].scalar.value.expr.is_real());
  EXPECT_EQ(std::get<StructSpec>(arg(kernel, "p").form).members[1].name, "inner");
  // What a struct holds, and what is copied to a variable, is passed by no launch.
  std::vector<std::string> passed;
  for (const std::size_t i : passed_args(kernel)) passed.push_back(kernel.args[i].name);
  EXPECT_THAT(passed, Not(Contains("A")));
  EXPECT_THAT(passed, Not(Contains("F")));
  EXPECT_THAT(passed, Not(Contains("inner")));
  EXPECT_THAT(passed, Contains("p"));
}

/// add_chain with an input J that is filled so, and one called ids.
KernelSpec with_fill(const std::string& dtype, const std::string& fill) {
  return with_reference("  - sum: {x: A, out: C}\n", "",
                        "  - {name: J, dtype: " + dtype + ", shape: [N], role: in, fill: " + fill +
                            "}\n  - {name: ids, dtype: i32, shape: [M, 2], role: in,\n"
                            "     fill: {name: routing, tokens: M, experts: 8, top: 2}}\n");
}

TEST(LoadKernel, AnInputMayBeMadeOfAnotherOrByAKernel) {
  std::set<std::string> hashes;
  for (const char* name : {"order", "rows", "counts", "starts", "inverse", "sorted"}) {
    const KernelSpec kernel = with_fill("i32", fmt::format("{{{}: ids}}", name));
    EXPECT_EQ(buffer(kernel, "J").fill.generator, name);
    EXPECT_EQ(buffer(kernel, "J").fill.of, "ids");
    EXPECT_TRUE(hashes.insert(kernel.contract_hash).second);
  }
  const KernelSpec column = with_fill("bf16", "{column: {of: A, index: M - 1}}");
  EXPECT_EQ(buffer(column, "J").fill.of, "A");
  EXPECT_EQ(buffer(column, "J").fill.arguments.at("index").expr.text(), "M - 1");

  const std::string kernel_fill =
      "{kernel: {source: below/ref.cu, entry: make, args: [ids, J, seed], grid: [M], block: [32]}}";
  const KernelSpec kernel = with_fill("f32", kernel_fill);
  const ReferenceKernelSpec& make = buffer(kernel, "J").fill.kernel.value();
  EXPECT_THAT(own_kernels(kernel), ElementsAre(&make));
  EXPECT_EQ(make.args[0].role, Role::in);
  EXPECT_FALSE(make.args[0].seed);
  EXPECT_EQ(make.args[1].role, Role::out);
  EXPECT_TRUE(make.args[2].seed);
  EXPECT_EQ(make.args[2].dtype, DType::u64);
  std::string other = kernel_fill;
  replace_all(other, "grid: [M]", "grid: [N]");
  EXPECT_NE(with_fill("f32", other).contract_hash, kernel.contract_hash);
}

/// gemm_small with one text replaced, written to `folder`.
std::filesystem::path write_edited(const TempFolder& folder, std::string_view from,
                                   std::string_view to) {
  std::string text = read_file(spec_tests() / "kernels/gemm_small.yaml");
  replace_all(text, from, to);
  folder.write("inner/gemm_small.cu", "");
  return folder.write("inner/gemm_small.yaml", text);
}

TEST(LoadKernel, WhatIsInAFileBelongsToTheContract) {
  const TempFolder folder;
  const auto path = write_edited(folder, "shape: [M, K], role: in",
                                 "shape: [M, K], role: in, fill: {file: ../p/a.bin}");
  folder.write("p/a.bin", "12345678");
  const KernelSpec kernel = load_kernel(path);
  EXPECT_EQ(buffer(kernel, "A").fill.file->bytes, 8);
  EXPECT_EQ(buffer(kernel, "A").fill.file->path.filename(), "a.bin");
  folder.write("p/a.bin", "12345679");
  EXPECT_NE(load_kernel(path).contract_hash, kernel.contract_hash);
  folder.write("p/a.bin", "12345678");
  EXPECT_EQ(load_kernel(path).contract_hash, kernel.contract_hash);
}

// A line of any file was quoted, such as one of /etc/shadow.
TEST(LoadKernel, AMistakeInAFileElsewhereIsNotQuoted) {
  const TempFolder folder;
  const auto refusal = [&](const std::string& file) -> std::string {
    const auto path = write_edited(
        folder, "name: A, dtype: bf16, shape: [M, K], role: in",
        "name: A, dtype: i32, shape: [M, K], role: in, fill: {choices: {file: " + file +
            ", of: K}}");
    return message_of<UsageError>([&] { load_kernel(path); });
  };
  folder.write("secret.txt", "root:hash");
  folder.write("inner/c.txt", "1 x");
  std::filesystem::create_symlink("../secret.txt", folder / "inner/link.txt");
  EXPECT_THAT(refusal("c.txt"), HasSubstr("c.txt:1:3: expected a number"));
  for (const std::string& file :
       std::vector<std::string>{"../secret.txt", "link.txt", (folder / "secret.txt").string()}) {
    EXPECT_THAT(refusal(file),
                AllOf(HasSubstr("; put it beside the contract"), Not(HasSubstr("root"))))
        << file;
  }
}

TEST(ReadChoices, ARowIsALineOfDifferentNumbers) {
  const auto read = [](const std::string& text) {
    return read_choices(std::make_shared<const SourceText>(SourceText{"c.txt", text}));
  };
  const Choices choices = read("7 0\n12\t3\n");
  EXPECT_EQ(choices.rows, 2);
  EXPECT_EQ(choices.per_row, 2);
  EXPECT_THAT(choices.numbers, ElementsAre(7, 0, 12, 3));
  EXPECT_EQ(choices.where(3).line, 2);
  EXPECT_EQ(choices.where(3).column, 4);
  const auto refusal = [&](const std::string& text) -> std::string {
    return message_of<SpecError>([&] { read(text); });
  };
  EXPECT_EQ(refusal("1 2\n3 5 3\n"),
            "c.txt:2:5: expected different numbers in a row, found 3 again\n  3 5 3\n      ^");
  EXPECT_EQ(refusal("1 -2\n"),
            "c.txt:1:3: expected a number from 0 to 2147483647, found \"-2\"\n  1 -2\n    ^");
  EXPECT_EQ(refusal("1 2147483648\n").substr(0, 20), "c.txt:1:3: expected ");
  EXPECT_EQ(refusal("1 2,\n").substr(0, 20), "c.txt:1:3: expected ");
  EXPECT_EQ(refusal("1 2\n3\n"), "c.txt:2:2: expected 2 numbers in each row, found 1\n  3\n   ^");
  EXPECT_EQ(refusal("1 2\n\n3 4\n"), "c.txt:2:1: expected 2 numbers in each row, found 0");
  EXPECT_EQ(refusal(""), "c.txt:1:1: expected rows of numbers, found none");
  EXPECT_EQ(refusal("\n"), "c.txt:1:1: expected numbers in each row, found 0");
}

TEST(LoadKernel, ChoicesOfAFileAreReadAndBelongToTheContract) {
  const TempFolder folder;
  const auto write = [&](const std::string& dtype) {
    return write_edited(
        folder, "args:\n",
        "args:\n  - {name: I, dtype: " + dtype +
            ", shape: [M, 2], role: in, fill: {choices: {file: ../c.txt, of: N}}}\n");
  };
  const auto path = write("i32");
  folder.write("c.txt", "0 1\n");
  const KernelSpec kernel = load_kernel(path);
  EXPECT_EQ(buffer(kernel, "I").fill.generator, kFillChoices);
  EXPECT_EQ(buffer(kernel, "I").fill.arguments.at("of").expr.text(), "N");
  folder.write("c.txt", "1 0\n");
  EXPECT_NE(load_kernel(path).contract_hash, kernel.contract_hash);
  folder.write("c.txt", "1 1\n");
  EXPECT_THROW(load_kernel(path), SpecError);
  folder.write("c.txt", "1 0\n");
  EXPECT_THROW(load_kernel(write("i64")), SpecError);
}

TEST(LoadKernel, AnInputMayBePassedAsATexture) {
  const auto load_with = [](const std::string& shape, const std::string& texture) {
    return with_reference(
        "  - sum: {x: A, out: C}\n", "",
        "  - {name: T, dtype: f32, shape: " + shape + ", role: in, texture: " + texture + "}\n");
  };
  EXPECT_EQ(buffer(load_with("[M]", "point"), "T").texture, TextureSpec());
  EXPECT_EQ(buffer(load_with("[M, N]", "linear"), "T").texture.value().linear, true);
  const KernelSpec kernel =
      load_with("[M, N, 4]", "{channels: 4, address: mirror, normalized: true}");
  EXPECT_EQ(buffer(kernel, "T").texture, (TextureSpec{4, false, AddressMode::mirror, true}));
  EXPECT_NE(kernel.contract_hash,
            load_with("[M, N, 4]", "{channels: 4, address: wrap, normalized: true}").contract_hash);
}

TEST(LoadKernel, AReferenceOfOnesOwnUpdatesAnInOutArgumentInPlace) {
  const KernelSpec kernel = with_reference(
      "  - kernel: {source: below/ref.cu, entry: step, args: [S, A], grid: [1], block: [1]}\n"
      "  - kernel: {source: below/ref.cu, entry: rows, args: [S, C], grid: [1], block: [1]}\n"
      "  - add: {a: S, b: A, out: sum}\n"
      "  - sum: {x: sum, out: D}\n",
      "",
      "  - {name: S, dtype: bf16, shape: [M, N], role: inout}\n"
      "  - {name: D, dtype: f32, shape: [M], role: out}\n");
  const auto& step = kernel.reference[0].kernel->args;
  EXPECT_EQ(step[0].role, Role::inout);
  EXPECT_EQ(step[1].role, Role::in);
  const auto& rows = kernel.reference[1].kernel->args;
  EXPECT_EQ(rows[0].role, Role::inout) << "a second step goes on where it is";
  EXPECT_EQ(rows[1].role, Role::out);
}

TEST(LoadKernel, OperandsMayBeLeftOutAndResultsRounded) {
  const KernelSpec kernel = with_reference(
      "  - rms_norm: {x: A, out: normal, round: bf16}\n"
      "  - gelu: {x: normal, tanh: true, out: active}\n"
      "  - sum: {x: active, out: C}\n");
  EXPECT_THAT(kernel.reference[0].operands, ElementsAre(Pair("out", "normal"), Pair("x", "A")));
  EXPECT_EQ(kernel.reference[0].round, DType::bf16);
  EXPECT_EQ(kernel.reference[1].round, std::nullopt);
  EXPECT_EQ(std::get<bool>(kernel.reference[1].options.at("tanh")), true);
  // So it is a factor of a product beside another matrix of bf16, which a result in f32 is not.
  EXPECT_EQ(with_reference("  - rms_norm: {x: A, out: normal, round: bf16}\n"
                           "  - gemm: {a: normal, b: A, transpose_b: true, out: P}\n"
                           "  - sum: {x: P, out: C}\n")
                .reference.size(),
            3u);
  const std::string rounded = kernel.contract_hash;
  EXPECT_NE(with_reference("  - rms_norm: {x: A, out: normal}\n"
                           "  - gelu: {x: normal, tanh: true, out: active}\n"
                           "  - sum: {x: active, out: C}\n")
                .contract_hash,
            rounded);
}

/// A contract whose output was recorded, with this fill of its input A.
KernelSpec recorded(const std::string& fill, const std::string& content = "12345678",
                    const std::string& more = "") {
  const TempFolder folder;
  folder.write("chain.cu", "");
  folder.write("gen.cu", "");
  folder.write("data/c.bin", content);
  return load_kernel(
      folder.write("chain.yaml",
                   "kernel: chain\nop: chain\narch: [80]\ndims: [M, N]\nargs:\n"
                   "  - {name: A, dtype: f32, shape: [M], role: in, fill: " +
                       fill +
                       "}\n  - {name: B, dtype: i32, shape: [M], role: in, fill: {order: A}}\n"
                       "  - {name: C, dtype: f32, shape: [M], role: out}\n"
                       "launches: [{grid: [1], block: [32]}]\nwork: {flops: 0, bytes: 0}\n"
                       "reference: [{file: data/c.bin, out: C" +
                       more + "}]\nsmoke: {M: 2, N: 3}\n"));
}

TEST(LoadKernel, AnOutputMayBeRecordedIfTheInputsAreTheSameInEachRun) {
  for (const std::string fill :
       {"zeros", "ones", "iota", "{file: data/c.bin}",
        "{kernel: {source: gen.cu, entry: g, args: [A], grid: [1], block: [32]}}"}) {
    const KernelSpec kernel = recorded(fill, "12345678", ", sum_length: N");
    const ReferenceSpec& step = kernel.reference.at(0);
    EXPECT_EQ(step.operation, "file");
    EXPECT_EQ(step.operands.at("out"), "C");
    EXPECT_EQ(step.file->bytes, 8);
    EXPECT_EQ(step.sum_length->expr.text(), "N");
  }
  for (const std::string fill :
       {"normal", "uniform",
        "{kernel: {source: gen.cu, entry: g, args: [A, seed], grid: [1], block: [32]}}"}) {
    EXPECT_THROW(recorded(fill), SpecError) << fill;
  }
  EXPECT_EQ(recorded("ones").contract_hash, recorded("ones").contract_hash);
  EXPECT_NE(recorded("ones").contract_hash, recorded("ones", "12345679").contract_hash);
  EXPECT_NE(recorded("ones").contract_hash,
            recorded("ones", "12345678", ", sum_length: N").contract_hash);
}

}  // namespace
}  // namespace assay
