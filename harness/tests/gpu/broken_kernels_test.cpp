// One kernel for each status and kind. Each is broken in one way, and each is followed by a good
// one. The fault must be named, and it must cost only its own trial.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>

#include "device/gpu_device.h"
#include "gpu_fixture.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct Expected {
  Status status = Status::correct;
  std::string kind;
  std::string protocol = "cold";
  bool or_mismatch = false;
};

/// From the first comment of x.cu: "// Must end as correctness/unwritten: why", or "... under
/// sustained: why". "May end as correct: why" is of one that the data of some timed launches finds
/// out, and a re-rank always.
Expected expected_of(const fs::path& source) {
  std::ifstream file(source);
  std::string line;
  std::getline(file, line);
  std::smatch found;
  const std::regex form("// (Must|May) end as ([a-z]+)(?:/([a-z_]+))?(?: under ([a-z]+))?.*");
  if (!std::regex_match(line, found, form)) return {};
  const std::string protocol = found[4].matched ? found[4].str() : Expected{}.protocol;
  // The emulator names what only shows on a GPU where blocks do not all run at once.
  if (test::is_emulated() && source.stem() == "races_in_place") return {Status::runtime, "race"};
  return {parse_status(found[2].str()).value(), found[3].str(), protocol, found[1] == "May"};
}

std::vector<std::string> broken_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(broken_kernels())) {
    if (entry.path().extension() != ".yaml") continue;
    const Expected expected = expected_of(fs::path(entry.path()).replace_extension(".cu"));
    // What does not compile never reaches a GPU.
    if (expected.status != Status::compile) names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Kernels that the emulator cannot judge as a GPU does, and why.
const std::map<std::string, std::string> kNeedAGpu = {
    {"copies_the_reference",
     "it looks around in memory that is mapped and nobody's, and only the "
     "emulator knows which memory is nobody's"},
    {"reuses_its_scratch",
     "the mark of a block that has ended is there for blocks that begin later, "
     "and on a GPU all begin at once"},
    {"rests_where_done", "launches that only heat the GPU find their work done"},
    {"too_fast", "its time is what is wrong"},
};

/// A kernel that is caught by luck is not caught. ASSAY_REPETITIONS says how often each is judged.
int repetitions() {
  const char* text = std::getenv("ASSAY_REPETITIONS");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

class BrokenKernels : public test::GpuTest, public testing::WithParamInterface<std::string> {};

TEST_P(BrokenKernels, EndAsTheyMustAndHarmNobody) {
  const auto why = kNeedAGpu.find(GetParam());
  if (why != kNeedAGpu.end() && test::needs_a_gpu(why->second)) return;
  const KernelSpec kernel = broken_kernel(GetParam());
  const Expected expected = expected_of(kernel.source_path);
  GpuOptions options;
  options.index = test::gpu_index();
  options.worker_program = test::worker_program();
  options.hang_timeout_s = 8;  // long rows are checked for seconds, and on the emulator for minutes
  if (test::is_emulated()) options.hang_timeout_s = expected.status == Status::timeout ? 20 : 600;
  GpuDevice gpu(options);
  gpu.setup(support_cubin(gpu.info()), {});
  if (!test::is_emulated()) gpu.setup(support_cubin(gpu.info()), gpu.measure_ceilings());
  if (!runs_on(kernel, gpu.info().cc)) GTEST_SKIP() << "it needs another GPU";
  for (int i = 0; i < repetitions(); ++i) {
    TrialRequest request = request_of(kernel, gpu.info());
    request.measure.protocol = expected.protocol;
    const Outcome outcome = gpu.run(request);
    // Where two blocks write one element, the emulator names the race.
    const bool names_race = test::is_emulated() && expected.status == Status::correctness &&
                            expected.kind.empty() && outcome.kind == "race";
    if (!names_race && (!expected.or_mismatch || outcome.kind != "mismatch")) {
      EXPECT_EQ(to_text(outcome.status), to_text(expected.status)) << outcome.message;
    }
    // Blocks that begin late on the emulator may find that all was done, and leave out theirs.
    const bool leaves_out =
        test::is_emulated() && expected.kind == "mismatch" && outcome.kind == "unwritten";
    if (!expected.kind.empty() && !leaves_out) {
      EXPECT_EQ(outcome.kind, expected.kind) << outcome.message;
    }
    if (outcome.status != Status::correct) {
      EXPECT_FALSE(outcome.message.empty());
      EXPECT_FALSE(outcome.timing);
    }

    const Outcome good = gpu.run(request_of(small_vector_add(), gpu.info()));
    EXPECT_EQ(good.status, Status::correct) << good.kind << ": " << good.message;
  }
}

INSTANTIATE_TEST_SUITE_P(, BrokenKernels, testing::ValuesIn(broken_names()),
                         [](const auto& instance) { return instance.param; });

class StrayAccess : public test::GpuTest, public testing::WithParamInterface<std::string> {};

TEST_P(StrayAccess, ToAnInputDoesNotWinAndCostsNobodyElse) {
  if (test::needs_a_gpu("the times of a re-rank")) return;
  GpuOptions options;
  options.index = test::gpu_index();
  options.worker_program = test::worker_program();
  GpuDevice gpu(options);
  gpu.setup(support_cubin(gpu.info()), {});
  const TrialRequest good = request_of(shipped_kernel("vector_add"), gpu.info());
  TrialRequest stray = request_of(broken_kernel(GetParam()), gpu.info());
  stray.plan.problem = good.plan.problem;
  for (int i = 0; i < repetitions(); ++i) {
    const RerankResult result = gpu.rerank({stray, good}, {}, {.rounds = 9});
    ASSERT_EQ(result.candidates.size(), 2u);
    const Outcome& outcome = result.candidates[0].outcome;
    EXPECT_EQ(outcome.kind, "illegal_address") << outcome.message;
    EXPECT_THAT(outcome.message, testing::HasSubstr("its inputs could only be read"));
    EXPECT_EQ(to_text(result.candidates[1].outcome.status), "correct");
  }
}

INSTANTIATE_TEST_SUITE_P(, StrayAccess,
                         testing::Values("reads_behind_an_input", "reads_ahead_of_an_input",
                                         "borrows_its_input", "borrows_behind_its_output"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace assay
