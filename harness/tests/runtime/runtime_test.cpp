// libassay's C functions, on the stand-in GPU: host memory is its memory.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "assay/assay.h"
#include "base/file.h"
#include "cuda/driver.h"
#include "matchers.h"
#include "runtime_pack.h"

/// The stand-in's: the algorithm that ran last.
extern "C" std::uint64_t fake_lt_algorithm;

namespace assay {
namespace {

struct Closer {
  void operator()(assay_pack* pack) const { assay_close(pack); }
  void operator()(assay_plan* plan) const { assay_plan_release(plan); }
};
using PackPtr = std::unique_ptr<assay_pack, Closer>;
using PlanPtr = std::unique_ptr<assay_plan, Closer>;

/// Memory as the driver aligns it.
struct alignas(256) Memory {
  explicit Memory(float value = 0) { values.fill(value); }
  std::array<float, 1024> values;
};

class RuntimeTest : public testing::Test {
 protected:
  void open(const Pack& pack) {
    assay_pack* opened = nullptr;
    ASSERT_EQ(assay_open(write_pack(folder_, pack).c_str(), &opened, &error_), ASSAY_OK)
        << error_.text;
    pack_.reset(opened);
  }

  assay_status plan(double n, PlanPtr& plan, const char* op = "add_f32", int device = -1) {
    const assay_number size{"N", n};
    const assay_request request{sizeof request, op, &size, 1, device, 0};
    assay_plan* made = nullptr;
    const assay_status status = assay_plan_create(pack_.get(), &request, &made, &error_);
    plan.reset(made);
    return status;
  }

  /// The plan of N=1000.
  PlanPtr planned() {
    PlanPtr made;
    EXPECT_EQ(plan(1000, made), ASSAY_OK) << error_.text;
    return made;
  }

  assay_status prepare(const PlanPtr& plan) {
    return assay_prepare(plan.get(), nullptr, nullptr, 0, nullptr, &error_);
  }

  static assay_how how_of(const PlanPtr& plan) {
    assay_how how{};
    how.struct_bytes = sizeof how;
    EXPECT_EQ(assay_plan_how(plan.get(), &how), ASSAY_OK);
    return how;
  }

  /// Launches with A, B and C.
  assay_status launch(const PlanPtr& plan, void* workspace = nullptr, void* prepared = nullptr) {
    void* const arguments[] = {a_->values.data(), b_->values.data(), c_->values.data()};
    return assay_launch(plan.get(), nullptr, arguments, 3, workspace, prepared, &error_);
  }

  void prepare_and_launch(const PlanPtr& plan, void* workspace = nullptr) {
    ASSERT_EQ(prepare(plan), ASSAY_OK) << error_.text;
    ASSERT_EQ(launch(plan, workspace), ASSAY_OK) << error_.text;
  }

  const TempFolder folder_;
  PackPtr pack_;
  assay_error error_{};
  std::unique_ptr<Memory> a_ = std::make_unique<Memory>(2.0f);
  std::unique_ptr<Memory> b_ = std::make_unique<Memory>(3.0f);
  std::unique_ptr<Memory> c_ = std::make_unique<Memory>();
};

TEST_F(RuntimeTest, LaunchesWhatWasTuned) {
  open(adder_pack(folder_));
  const PlanPtr add = planned();
  EXPECT_EQ(assay_workspace_bytes(add.get()), 0u);
  EXPECT_EQ(launch(add), ASSAY_NOT_PREPARED);
  prepare_and_launch(add);
  EXPECT_EQ(c_->values[0], 5.0f);
  EXPECT_EQ(c_->values[999], 5.0f);
  EXPECT_EQ(c_->values[1000], 0.0f);
}

TEST_F(RuntimeTest, SaysHow) {
  open(adder_pack(folder_));
  EXPECT_STREQ(assay_op(pack_.get(), 0), "add_f32");
  EXPECT_EQ(assay_op(pack_.get(), 1), nullptr);
  PlanPtr exact, near, otherwise;
  ASSERT_EQ(plan(1000, exact), ASSAY_OK) << error_.text;
  ASSERT_EQ(plan(500, near), ASSAY_OK);
  ASSERT_EQ(plan(1, otherwise), ASSAY_OK);
  assay_how how = how_of(exact);
  EXPECT_EQ(how.match, ASSAY_EXACT);
  EXPECT_STREQ(how.why, "");
  EXPECT_STREQ(how.kernel, "vector_add");
  EXPECT_STREQ(how.configuration, "BLOCK=64");
  EXPECT_STREQ(how.gpu, "Fake GPU");
  EXPECT_EQ(how.time_ns, 1000);
  how = how_of(near);
  EXPECT_EQ(how.match, ASSAY_NEAR);
  EXPECT_EQ(how.factor, 2);
  EXPECT_EQ(how.regret, 1.2);
  EXPECT_STREQ(how.problem, "N=1000");
  how = how_of(otherwise);
  EXPECT_EQ(how.match, ASSAY_DEFAULT);
  EXPECT_THAT(how.why, StartsWith("no tuned problem is near"));
}

// A caller that was compiled with an older header has a shorter struct.
TEST_F(RuntimeTest, WritesNoMoreThanTheCallersStruct) {
  open(adder_pack(folder_));
  const PlanPtr add = planned();
  assay_how how{};
  how.struct_bytes = offsetof(assay_how, kernel);
  ASSERT_EQ(assay_plan_how(add.get(), &how), ASSAY_OK);
  EXPECT_STREQ(how.why, "");
  EXPECT_EQ(how.kernel, nullptr);
  how.struct_bytes = 0;
  EXPECT_EQ(assay_plan_how(add.get(), &how), ASSAY_INVALID_ARGUMENT);
}

TEST_F(RuntimeTest, NamesTheArguments) {
  open(adder_pack(folder_));
  PlanPtr add;
  ASSERT_EQ(plan(500, add), ASSAY_OK);
  ASSERT_EQ(assay_num_arguments(add.get()), 3u);
  assay_argument argument{};
  argument.struct_bytes = sizeof argument;
  ASSERT_EQ(assay_plan_argument(add.get(), 2, &argument), ASSAY_OK);
  EXPECT_STREQ(argument.name, "C");
  EXPECT_STREQ(argument.dtype, "f32");
  EXPECT_EQ(argument.role, ASSAY_OUT);
  EXPECT_EQ(argument.rank, 1u);
  EXPECT_EQ(argument.shape[0], 500);
  EXPECT_EQ(argument.bytes, 2000u);
  EXPECT_EQ(assay_plan_argument(add.get(), 3, &argument), ASSAY_INVALID_ARGUMENT);
}

TEST_F(RuntimeTest, PlansOutliveTheirPack) {
  open(adder_pack(folder_));
  const PlanPtr add = planned();
  pack_.reset();
  prepare_and_launch(add);
}

TEST_F(RuntimeTest, SaysWhatIsWrongWithACall) {
  assay_pack* none = nullptr;
  EXPECT_EQ(assay_open("/nowhere/x.pack", &none, &error_), ASSAY_BAD_PACK);
  EXPECT_THAT(error_.text, HasSubstr("cannot read /nowhere/x.pack: No such file"));
  EXPECT_EQ(assay_open(nullptr, &none, nullptr), ASSAY_INVALID_ARGUMENT);
  open(adder_pack(folder_));
  PlanPtr add;
  EXPECT_EQ(plan(1000, add, "sub_f32"), ASSAY_INVALID_ARGUMENT);
  EXPECT_THAT(error_.text, HasSubstr("no op sub_f32"));
  EXPECT_EQ(plan(0.5, add), ASSAY_INVALID_ARGUMENT);
  EXPECT_EQ(plan(1000, add, "add_f32", 7), ASSAY_NO_DRIVER);
  EXPECT_STREQ(error_.text, "there is no GPU 7");
  EXPECT_STREQ(assay_status_name(ASSAY_NO_DRIVER), "ASSAY_NO_DRIVER");
  EXPECT_EQ(plan(4e9, add), ASSAY_NOTHING_FITS);  // N is an i32
  EXPECT_THAT(error_.text, HasSubstr("but i32 holds"));

  ASSERT_EQ(plan(1000, add), ASSAY_OK);
  ASSERT_EQ(prepare(add), ASSAY_OK);
  void* arguments[] = {a_->values.data(), b_->values.data() + 1, c_->values.data()};
  EXPECT_EQ(assay_launch(add.get(), nullptr, arguments, 3, nullptr, nullptr, &error_),
            ASSAY_INVALID_ARGUMENT);
  EXPECT_THAT(error_.text, StartsWith("B is at 0x"));
  EXPECT_EQ(assay_launch(add.get(), nullptr, arguments, 2, nullptr, nullptr, &error_),
            ASSAY_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.text, "expected 3 arguments, found 2");
  EXPECT_EQ(assay_launch(nullptr, nullptr, arguments, 3, nullptr, nullptr, nullptr),
            ASSAY_INVALID_ARGUMENT);
}

TEST_F(RuntimeTest, CallsCublasLtWhereItIsFaster) {
  open(product_pack(folder_));
  const auto plan_of = [&](double m) {
    const assay_number sizes[] = {{"M", m}, {"N", 3}, {"K", 4}};
    const assay_request request{sizeof request, "product_f32", sizes, 3, -1, 0};
    assay_plan* made = nullptr;
    EXPECT_EQ(assay_plan_create(pack_.get(), &request, &made, &error_), ASSAY_OK) << error_.text;
    return PlanPtr(made);
  };
  const PlanPtr product = plan_of(2);
  assay_how how = how_of(product);
  EXPECT_EQ(how.match, ASSAY_FALLBACK);
  EXPECT_STREQ(how.kernel, "cublasLtMatmul");
  EXPECT_STREQ(how.configuration, "algorithm 2");
  EXPECT_EQ(how.time_ns, 900);
  EXPECT_STREQ(how.why, "no kernel was clearly faster than cuBLASLt");
  EXPECT_EQ(assay_workspace_bytes(product.get()), 32u << 20);

  auto workspace = std::make_unique<Memory>();
  EXPECT_EQ(launch(product, workspace.get()), ASSAY_NOT_PREPARED);
  ASSERT_EQ(prepare(product), ASSAY_OK) << error_.text;
  for (int i = 0; i < 12; ++i) b_->values[static_cast<std::size_t>(i)] = static_cast<float>(i);
  ASSERT_EQ(launch(product, workspace.get()), ASSAY_OK) << error_.text;
  const auto is = [&](std::size_t at, float value) { EXPECT_EQ(c_->values[at], value) << at; };
  is(0, 2.0f * (0 + 1 + 2 + 3));
  is(2, 2.0f * (8 + 9 + 10 + 11));
  is(3, 12.0f);
  is(6, 0.0f);
  EXPECT_EQ(fake_lt_algorithm, 2u);

  const PlanPtr near = plan_of(4);
  how = how_of(near);
  EXPECT_EQ(how.match, ASSAY_FALLBACK);
  EXPECT_STREQ(how.configuration, "cuBLASLt's first choice");
  prepare_and_launch(near, workspace.get());
  EXPECT_EQ(fake_lt_algorithm, 1u);
  // cuBLASLt takes 256 bytes for granted, callers promise 16.
  void* const arguments[] = {a_->values.data() + 4, b_->values.data(), c_->values.data()};
  ASSERT_EQ(assay_launch(near.get(), nullptr, arguments, 3, workspace.get(), nullptr, &error_),
            ASSAY_OK);
  EXPECT_EQ(fake_lt_algorithm, 2u);
}

TEST_F(RuntimeTest, RefusesDamagedMachineCode) {
  Pack pack = adder_pack(folder_);
  pack.codes[0].hash[0] = 'x';
  open(pack);
  const PlanPtr add = planned();
  EXPECT_EQ(prepare(add), ASSAY_BAD_PACK);
  EXPECT_THAT(error_.text, HasSubstr("its machine code has another hash"));
}

// To load a module while a stream is captured ended a server that had run for 29 hours.
TEST_F(RuntimeTest, LoadsNothingWhileAStreamIsCaptured) {
  open(adder_pack(folder_));
  const PlanPtr add = planned();
  const Driver driver;
  ASSERT_EQ(driver.cuStreamBeginCapture.result(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_SUCCESS);
  EXPECT_EQ(prepare(add), ASSAY_CAPTURING);
  CUgraph graph = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture.result(nullptr, &graph), CUDA_SUCCESS);
  driver.cuGraphDestroy.result(graph);
  EXPECT_EQ(prepare(add), ASSAY_OK) << error_.text;

  ASSERT_EQ(driver.cuStreamBeginCapture.result(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_SUCCESS);
  EXPECT_EQ(prepare(add), ASSAY_OK);  // it is loaded already
  EXPECT_EQ(launch(add), ASSAY_OK);
  ASSERT_EQ(driver.cuStreamEndCapture.result(nullptr, &graph), CUDA_SUCCESS);
  driver.cuGraphDestroy.result(graph);
}

// The stand-in adds only if it gets the descriptor that it expects, with the address of the launch.
TEST_F(RuntimeTest, GivesEachLaunchItsTensorMap) {
  open(stand_in_pack(folder_, "tensor_map_add", R"(
args:
  - {name: A, dtype: f32, shape: [50, 20], role: in}
  - {name: B, dtype: f32, shape: [50, 20], role: in}
  - {name: C, dtype: f32, shape: [50, 20], role: out}
  - {name: map, tensor_map: {of: A, box: [4, 8], swizzle_bytes: 32}}
  - {name: N, dtype: i32, value: N}
launches: [{grid: [1], block: [BLOCK], args: [map, B, C, N]}]
)"));
  const PlanPtr add = planned();
  prepare_and_launch(add);
  EXPECT_EQ(c_->values[999], 5.0f);
  a_ = std::make_unique<Memory>(7.0f);
  ASSERT_EQ(launch(add), ASSAY_OK);
  EXPECT_EQ(c_->values[999], 10.0f);
}

// C = (A + Z) + B, where Z starts at zero in the workspace and A + Z is prepared.
TEST_F(RuntimeTest, HasRoomForScratchAndForWhatIsPrepared) {
  open(stand_in_pack(folder_, "vector_add", R"(
args:
  - {name: A, dtype: f32, shape: [N], role: in}
  - {name: B, dtype: f32, shape: [N], role: in}
  - {name: P, dtype: f32, shape: [N], role: prepared}
  - {name: Z, dtype: f32, shape: [N], role: scratch, init: zero}
  - {name: X, dtype: f32, shape: [N], role: scratch}
  - {name: C, dtype: f32, shape: [N], role: out}
  - {name: n, dtype: i32, value: N}
prepare: [{grid: [1], block: [BLOCK], args: [A, A, P, n]}]
launches:
  - {grid: [1], block: [BLOCK], args: [P, Z, X, n]}
  - {grid: [1], block: [BLOCK], args: [X, B, C, n]}
)"));
  const PlanPtr add = planned();
  EXPECT_EQ(assay_workspace_bytes(add.get()), 2u * 4096);
  EXPECT_EQ(assay_prepared_bytes(add.get()), 4096u);
  auto workspace = std::make_unique<std::array<Memory, 2>>();
  (*workspace)[0].values.fill(1000.0f);
  auto prepared = std::make_unique<Memory>();
  EXPECT_EQ(prepare(add), ASSAY_INVALID_ARGUMENT);  // it has no arguments
  void* const inputs[] = {a_->values.data(), b_->values.data(), nullptr};
  ASSERT_EQ(assay_prepare(add.get(), nullptr, inputs, 3, prepared->values.data(), &error_),
            ASSAY_OK)
      << error_.text;
  ASSERT_EQ(launch(add, workspace->data(), prepared->values.data()), ASSAY_OK) << error_.text;
  EXPECT_EQ(c_->values[999], 7.0f);  // 2 + 2 + 0 + 3
  EXPECT_EQ(launch(add, nullptr, prepared->values.data()), ASSAY_INVALID_ARGUMENT);
  EXPECT_THAT(error_.text, HasSubstr("the workspace of 8192 bytes is at 0x0"));
}

// What a program really uses is what should be tuned.
TEST_F(RuntimeTest, LogsEachProblemOnce) {
  const std::string log = folder_ / "sizes.txt";
  ::setenv("ASSAY_LOG_SIZES", log.c_str(), 1);
  open(adder_pack(folder_));
  ::unsetenv("ASSAY_LOG_SIZES");
  PlanPtr add;
  for (const double n : {1000, 500, 1000, 500}) ASSERT_EQ(plan(n, add), ASSAY_OK);
  plan(1, add, "sub_f32");
  EXPECT_EQ(read_file(log), "add_f32 N=1000\nadd_f32 N=500\n");
  ::setenv("ASSAY_LOG_SIZES", (folder_ / "nowhere/x").c_str(), 1);
  assay_pack* none = nullptr;
  EXPECT_EQ(assay_open((folder_ / "x.pack").c_str(), &none, &error_), ASSAY_INVALID_ARGUMENT);
  EXPECT_THAT(error_.text, StartsWith("ASSAY_LOG_SIZES: cannot write "));
  ::unsetenv("ASSAY_LOG_SIZES");
}

// Two plans of one piece of code would write over each other's variables.
TEST_F(RuntimeTest, CopiesInputsToVariablesOfThePlan) {
  open(stand_in_pack(folder_, "vector_add", R"(
args:
  - {name: A, dtype: f32, shape: [N], role: in}
  - {name: B, dtype: f32, shape: [N], role: in, symbol: weights}
  - {name: C, dtype: f32, shape: [N], role: out}
  - {name: N, dtype: i32, value: N}
launches: [{grid: [1], block: [BLOCK], args: [A, A, C, N]}]
)",
                     {{"weights", "_Z7weights"}}));
  const PlanPtr add = planned();
  EXPECT_EQ(assay_prepare_reads(add.get()), 1);
  EXPECT_EQ(prepare(add), ASSAY_INVALID_ARGUMENT);
  void* const inputs[] = {a_->values.data(), b_->values.data(), c_->values.data()};
  ASSERT_EQ(assay_prepare(add.get(), nullptr, inputs, 3, nullptr, &error_), ASSAY_OK)
      << error_.text;
  const Driver driver;
  CUdeviceptr variable = 0;
  std::size_t bytes = 0;
  driver.cuModuleGetGlobal.result(&variable, &bytes, nullptr,
                                  "weights");  // the stand-in has only one
  EXPECT_EQ(*reinterpret_cast<const float*>(variable), 3.0f);
  EXPECT_EQ(launch(add), ASSAY_OK) << error_.text;
}

TEST_F(RuntimeTest, PassesStructsByValue) {
  open(stand_in_pack(folder_, "vector_add", R"(
args:
  - {name: A, dtype: f32, shape: [N], role: in}
  - {name: B, dtype: f32, shape: [N], role: in}
  - {name: C, dtype: f32, shape: [N], role: out}
  - {name: a, struct: [A]}
  - {name: N, dtype: i32, value: N}
launches: [{grid: [1], block: [BLOCK], args: [a, B, C, N]}]
)"));
  const PlanPtr add = planned();
  prepare_and_launch(add);
  EXPECT_EQ(c_->values[999], 5.0f);
}

}  // namespace
}  // namespace assay
