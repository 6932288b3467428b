#include "pack/choice.h"

#include "base/error.h"
#include "example_pack.h"
#include "matchers.h"
#include "spec/twins.h"

namespace assay {
namespace {

DeviceInfo other_gpu(const Pack& pack) {
  DeviceInfo other = pack.tables[0].device;
  other.name = "Other GPU";
  return other;
}

class ChoiceTest : public testing::Test {
 protected:
  static Problem size(std::int64_t n) { return {{"N", n}}; }

  Choice choose_for(std::int64_t n, double most_factor = 16) {
    pack_.tables[0].note_numbers();
    return choose(pack_, "add_f32", size(n), device_, most_factor);
  }

  /// Tuned for 1000 and 100000; the second is the default.
  Pack pack_ = [] {
    KernelSpec kernel = load_kernel(ASSAY_SOURCE_DIR "/kernels/vector_add.yaml");
    Pack pack = example_pack(kernel, {size(1000), size(100'000)},
                             parse_config("BLOCK=64,VECTOR=1,ITEMS=2"));
    pack.tables[0].rows[1].config = parse_config("BLOCK=256,VECTOR=4,ITEMS=8");
    pack.tables[0].default_row = 1;
    return pack;
  }();
  DeviceInfo device_ = pack_.tables[0].device;
};

TEST_F(ChoiceTest, TakesWhatWasTunedForTheProblem) {
  const Choice choice = choose_for(1000);
  EXPECT_EQ(choice.match, Match::exact);
  EXPECT_EQ(choice.why, "");
  EXPECT_EQ(choice.row, &pack_.tables[0].rows[0]);
  EXPECT_EQ(choice.plan.launches.at(0).grid[0], 8);  // cdiv(1000, 64 * 2)
}

TEST_F(ChoiceTest, TakesTheNearestWithTheLaunchOfTheProblem) {
  const Choice choice = choose_for(2000);
  EXPECT_EQ(choice.match, Match::near);
  EXPECT_DOUBLE_EQ(choice.factor, 2);
  EXPECT_EQ(choice.why, "the nearest problem that fits is N=1000");
  EXPECT_EQ(choice.plan.launches.at(0).grid[0], 16);
  EXPECT_EQ(choose_for(90'000).row, &pack_.tables[0].rows[1]);
}

TEST_F(ChoiceTest, TakesTheDefaultWhereNothingIsNear) {
  const Choice choice = choose_for(10);
  EXPECT_EQ(choice.match, Match::otherwise);
  EXPECT_EQ(choice.row, &pack_.tables[0].rows[1]);
  EXPECT_EQ(choice.why, "no tuned problem is near; this is for N=100000");
  EXPECT_EQ(choose_for(2000, 1).match, Match::otherwise);
}

// A configuration was tuned for a size whose constraints it holds. For others it may write beside
// its output, so that it is never launched there.
TEST_F(ChoiceTest, SkipsWhatTheConstraintsRuleOut) {
  KernelSpec& kernel = pack_.kernels[0].spec;
  kernel.constraints.push_back({Expr::parse("N % 8 == 0 || ITEMS > 2", kernel.symbols), {}});
  const Choice choice = choose_for(1001);
  EXPECT_EQ(choice.row, &pack_.tables[0].rows[1]);
  EXPECT_EQ(choice.match, Match::otherwise);
  EXPECT_THAT(choice.why, HasSubstr("vector_add N=1000 does not fit: N % 8 == 0 || ITEMS > 2"));
  kernel.constraints.push_back({Expr::parse("N < 2000 || 1 / (N - N)", kernel.symbols), {}});
  EXPECT_THAT([&] { choose_for(2001); },
              ThrowsMessage<UsageError>(HasSubstr("nothing for add_f32 N=2001 on Fake GPU")));
}

// Constraints also rule out what is never worth its time, so that small packs had nothing at all
// for M=2 and M=5 between M=1 and M=16.
TEST_F(ChoiceTest, TakesTheContractsDefaultLast) {
  KernelSpec& kernel = pack_.kernels[0].spec;
  kernel.constraints.push_back({Expr::parse("N >= 900 || ITEMS == 1", kernel.symbols), {}});
  PackTable& table = pack_.tables[0];
  table.rows.push_back({size(1'000'003), 0, parse_config("BLOCK=64,VECTOR=1,ITEMS=1"), {0}});
  const Choice choice = choose_for(800);
  EXPECT_EQ(choice.row, &table.rows[2]);
  EXPECT_EQ(choice.match, Match::otherwise);
  EXPECT_THAT(choice.why, HasSubstr("this is the default of vector_add, which was not measured; "
                                    "vector_add N=1000 does not fit"));
  EXPECT_EQ(choose_for(1'000'003).row, &table.rows[1]);  // what was measured comes first
}

TEST_F(ChoiceTest, TakesOnlyCodeThatTheGpuRuns) {
  DeviceInfo other = other_gpu(pack_);
  const Choice choice = choose(pack_, "add_f32", size(1000), other, 16);
  EXPECT_EQ(choice.match, Match::near);
  EXPECT_EQ(choice.why, "this problem was tuned on Fake GPU");
  other.cc = 100;
  EXPECT_THAT([&] { choose(pack_, "add_f32", size(1000), other, 16); },
              ThrowsMessage<UsageError>(HasSubstr("does not run on compute capability 100")));
  pack_.codes[0].arch = "90a";
  EXPECT_EQ(choose_for(1000).match, Match::exact);
  pack_.codes[0].arch = "80";
  EXPECT_THROW(choose_for(1000), UsageError);
  device_.cc = 86;
  EXPECT_EQ(choose_for(1000).match, Match::exact);
}

TEST_F(ChoiceTest, CodeOfOneProblemIsForNoOther) {
  pack_.kernels[0].per_problem = true;
  EXPECT_EQ(choose_for(1000).match, Match::exact);
  EXPECT_THAT([&] { choose_for(1001); },
              ThrowsMessage<UsageError>(HasSubstr("its machine code is for one problem")));
}

TEST_F(ChoiceTest, CompletesProblems) {
  EXPECT_EQ(complete_problem(pack_, "add_f32", size(7)), size(7));
  const auto refuses = [&](const char* op, const Problem& problem, const char* why) {
    EXPECT_THAT([&] { complete_problem(pack_, op, problem); },
                ThrowsMessage<UsageError>(HasSubstr(why)));
  };
  refuses("add_f16", size(7), "the pack has no op add_f16; did you mean \"add_f32\"?");
  refuses("add_f32", {}, "add_f32 needs the sizes N");
  refuses("add_f32", {{"M", std::int64_t{1}}}, "add_f32 has no size and no trait M");
  refuses("add_f32", size(0), "N is 0, expected an integer from 1 on");
  refuses("add_f32", {{"N", 1.5}}, "N is 1.5, expected an integer from 1 on");
}

/// Products: cuBLASLt was slower for M=16 and faster for M=4096.
class FallbackTest : public testing::Test {
 protected:
  static Problem size(std::int64_t m) {
    return {{"M", m}, {"N", std::int64_t{4096}}, {"K", std::int64_t{4096}}};
  }

  Choice choose_for(std::int64_t m, Fallback fallback = Fallback::allowed) {
    pack_.tables[0].note_numbers();
    return choose(pack_, "gemm_bf16", size(m), pack_.tables[0].device, 16, fallback);
  }
  Choice choose_elsewhere(std::int64_t m) const {
    return choose(pack_, "gemm_bf16", size(m), other_gpu(pack_), 16, Fallback::allowed);
  }
  /// A row for M=24, which is like that for M=16.
  PackRow& add_row_of_24() {
    std::vector<PackRow>& rows = pack_.tables[0].rows;
    PackRow row = rows[0];
    row.problem = size(24);
    return rows.emplace_back(std::move(row));
  }

  Pack pack_ = [] {
    KernelSpec kernel = load_twins(ASSAY_SOURCE_DIR "/kernels/gemm_mma.yaml").at(0);
    Pack pack = example_pack(kernel, {size(16), size(4096)},
                             parse_config("BLOCK_M=16,BLOCK_N=16,BLOCK_K=128,WARPS=4,WARPS_K=4,"
                                          "STAGES=4,SCHEDULE=row,GROUP_M=1,SPLIT_K=1"));
    pack.tables[0].rows[1].baseline_ns = 900;
    return pack;
  }();
};

// The pack's launches of sizes that nobody had tuned were slower than cuBLAS by 13 % on an H200.
TEST_F(FallbackTest, IsTakenWhereNoKernelIsKnownToBeFaster) {
  EXPECT_EQ(choose_for(16).match, Match::exact);
  const auto expect_fallback = [&](std::int64_t m, const char* why) {
    const Choice choice = choose_for(m);
    EXPECT_EQ(choice.match, Match::fallback);
    EXPECT_EQ(why_text(choice), why);
    EXPECT_EQ(choice.algorithm, 0);
  };
  expect_fallback(1'000'000, "no tuned problem is near");
  expect_fallback(8, "cuBLASLt may be faster");
  add_row_of_24();
  expect_fallback(18, "cuBLASLt may be faster");
}

// A tile of the larger problem's configuration holds the smaller problem, too. Of the sizes of an
// H200 for which the next smaller problem's configuration was taken one reached 0.57. Where the
// larger problem's was not measured for the smaller one, one reached 0.87.
TEST_F(FallbackTest, IsNotTakenWhereTheKernelOfTheProblemAboveIsSafelyFaster) {
  PackRow& row = add_row_of_24();
  row.config[1].second = std::int64_t{32};
  row.fast_for = {0};
  const Choice choice = choose_for(17);
  EXPECT_EQ(choice.match, Match::near);
  EXPECT_EQ(choice.row, &row);
  EXPECT_DOUBLE_EQ(choice.factor, 24. / 17);
  EXPECT_EQ(why_text(choice), "faster than cuBLASLt for M=16,N=4096,K=4096 and M=24,N=4096,K=4096");
  EXPECT_EQ(choose_elsewhere(17).why, "the sizes around were tuned on Fake GPU");
  EXPECT_EQ(choose_for(15).match, Match::fallback);
  row.fast_for = {};
  EXPECT_EQ(choose_for(17).match, Match::fallback);
  EXPECT_EQ(choose_for(17, Fallback::missing).match, Match::near);
  row.fast_for = {0};
  row.config[2].second = std::int64_t{7};  // no such configuration: its code does not fit
  EXPECT_EQ(choose_for(17).match, Match::fallback);
}

TEST_F(FallbackTest, IsTheProductByTheMeasuredAlgorithm) {
  const Choice choice = choose_for(4096);
  EXPECT_EQ(choice.match, Match::fallback);
  EXPECT_EQ(choice.why, "no kernel was clearly faster than cuBLASLt");
  EXPECT_EQ(choice.algorithm, 2);
  EXPECT_EQ(choice.code, nullptr);
  ASSERT_EQ(choice.plan.args.size(), 3u);
  EXPECT_EQ(choice.plan.find_buffer("B")->shape, (std::vector<std::int64_t>{4096, 4096}));
  EXPECT_EQ(choice.product->operands.at("out"), "C");
}

// The number of the best algorithm is that of one GPU. On an H100 the first choice was up to 7 %
// slower than the kernels of an H200's pack, where the best algorithm was as fast as these.
TEST_F(FallbackTest, OnAnotherGpuItsFirstChoiceCounts) {
  EXPECT_EQ(choose_elsewhere(4096).match, Match::near);
  pack_.tables[0].rows[1].first_ns = 1010;
  const Choice choice = choose_elsewhere(4096);
  EXPECT_EQ(choice.match, Match::fallback);
  EXPECT_EQ(choice.why, "cuBLASLt was as fast for M=4096,N=4096,K=4096");
  EXPECT_EQ(choice.algorithm, 0);
}

// Others have no library that a program could call.
TEST_F(ChoiceTest, OnlyProductsHaveAFallback) {
  EXPECT_EQ(choose(pack_, "add_f32", size(2000), device_, 16, Fallback::allowed).match,
            Match::near);
}

// The rows are visited from the problem's first size on, and not all of them.
TEST(NextRow, IsTheNearestOfManyAndKnowsThoseBetweenWhichAKernelWasFast) {
  KernelSpec kernel = load_twins(ASSAY_SOURCE_DIR "/kernels/gemm_mma.yaml").at(0);
  std::uint32_t drawn = 1;
  const auto draw = [&] {
    Problem problem;
    for (const char* name : {"M", "N", "K"}) {
      drawn = drawn * 1664525 + 1013904223;
      problem.emplace_back(name, std::int64_t{1} << (drawn >> 16) % 9);
    }
    return problem;
  };
  std::vector<Problem> problems;
  for (int i = 0; i < 60; ++i) problems.push_back(draw());
  Pack pack = example_pack(kernel, problems, {});
  PackTable& table = pack.tables[0];
  for (std::size_t i = 0; i < problems.size(); ++i)
    table.rows[i].fast_for = {i * 7 % 60, i * 11 % 60};
  int num_between = 0;
  for (int i = 0; i < 300; ++i) {
    const Problem problem = draw();
    double above_factor = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> expected, found;
    for (std::size_t row = 0; row < problems.size(); ++row) {
      const Distance distance = distance_of(problems[row], problem);
      if (distance.factor > 16) continue;
      expected.push_back(row);
      const bool is_between = distance.is_above && distance.num_other == 1 &&
                              std::ranges::any_of(table.rows[row].fast_for, [&](std::size_t below) {
                                return distance_of(problems[below], problem).is_below;
                              });
      if (is_between) above_factor = std::min(above_factor, distance.factor);
    }
    std::ranges::stable_sort(
        expected, {}, [&](std::size_t row) { return distance_of(problems[row], problem).factor; });
    const auto after = [&](const Ranked* last) {
      return next_row(pack, "gemm_bf16", problem, table.device, 16, last);
    };
    for (auto next = after(nullptr); next && next->order.tier == 0; next = after(&*next)) {
      found.push_back(next->order.place);
      EXPECT_EQ(next->row, &table.rows[found.back()]);
      if (found.size() > 1) continue;
      ASSERT_EQ(next->above != nullptr, std::isfinite(above_factor));
      if (next->above == nullptr) continue;
      ++num_between;
      EXPECT_EQ(distance_of(next->above->problem, problem).factor, above_factor);
      EXPECT_TRUE(distance_of(next->below->problem, problem).is_below);
    }
    EXPECT_EQ(found, expected);
  }
  EXPECT_GT(num_between, 10);
}

TEST(DistanceOf, IsTheProductOfTheRatiosAndTheSide) {
  const auto distance = [](std::int64_t m, double density, std::int64_t to_m, double to_density) {
    return distance_of({{"M", m}, {"density", density}}, {{"M", to_m}, {"density", to_density}});
  };
  EXPECT_DOUBLE_EQ(distance(8, 0.5, 4, 1.0).factor, 4);
  EXPECT_FALSE(distance(8, 0.5, 4, 1.0).is_below || distance(8, 0.5, 4, 1.0).is_above);
  EXPECT_EQ(distance(8, 0.5, 4, 1.0).num_other, 2);
  EXPECT_EQ(distance(8, 0.5, 4, 0.5).num_other, 1);
  EXPECT_DOUBLE_EQ(distance(8, 0.0, 8, 0.0).factor, 1);
  EXPECT_TRUE(distance(8, 0.0, 8, 0.5).is_below);
  EXPECT_FALSE(distance(8, 0.0, 8, 0.5).is_above);
  EXPECT_GT(distance(8, 0.0, 8, 0.5).factor, 1e300);
}

}  // namespace
}  // namespace assay
