#include "space/space.h"

#include <limits>
#include <random>

#include "base/error.h"
#include "matchers.h"
#include "message_of.h"
#include "space/features.h"
#include "space/test_kernel.h"

namespace assay {
namespace {

TEST(Space, WalksNestedLoopsInTheOrderDeclared) {
  const Space space = space_of(TestKernel().param("B", {2, 1}).param("A", {10, 30, 20}));
  EXPECT_THAT(texts(space),
              ElementsAre("B=2,A=10", "B=2,A=30", "B=2,A=20", "B=1,A=10", "B=1,A=30", "B=1,A=20"));
}

TEST(Space, OfNoParametersIsOnePoint) {
  const Space space = space_of(TestKernel());
  EXPECT_THAT(texts(space), ElementsAre(""));
  EXPECT_EQ(space.size().raw, 1u);
  EXPECT_EQ(space.size().valid, 1u);
}

TEST(Space, StopsWhenTheVisitorHasEnough) {
  const Space space = space_of(TestKernel().range("A", 1, 9).range("B", 1, 9));
  int visits = 0;
  space.for_each([&](const std::vector<int>&) { return ++visits < 12; });
  EXPECT_EQ(visits, 12);
}

TEST(Space, ReadsProblemDeviceAndLets) {
  const TestKernel kernel = TestKernel({"M"})
                                .range("TILE", 1, 4)
                                .range("STAGES", 1, 3)
                                .let("tile_bytes", "TILE * 38741")
                                .let("smem", "STAGES * tile_bytes")
                                .constraint("smem <= device.smem_optin_bytes")
                                .constraint("M % TILE == 0");
  // 232448 bytes have room for six tiles of 38741 and not for seven. 8 is no multiple of 3.
  EXPECT_THAT(
      texts(space_of(kernel, {{"M", 8}})),
      ElementsAre("TILE=1,STAGES=1", "TILE=1,STAGES=2", "TILE=1,STAGES=3", "TILE=2,STAGES=1",
                  "TILE=2,STAGES=2", "TILE=2,STAGES=3", "TILE=4,STAGES=1"));
}

TEST(Space, NamesTheConstraintThatLeavesNothing) {
  const TestKernel kernel = TestKernel({"M"})
                                .range("A", 1, 4)
                                .range("B", 1, 5)
                                .constraint("B < 5")
                                .constraint("M >= 100")
                                .constraint("A > 4");
  const auto size = space_of(kernel, {{"M", 8}}).size();
  EXPECT_EQ(size.valid, 0u);
  ASSERT_EQ(size.removed.size(), 3u);
  EXPECT_EQ(size.removed[1].constraint, "M >= 100");
  EXPECT_EQ(size.removed[1].points, 20u);
  EXPECT_EQ(size.removed[0].points + size.removed[2].points, 0u);
}

TEST(Space, AttributesAPointToTheFirstConstraintThatFailsWhereItIsDecided) {
  const TestKernel kernel = TestKernel()
                                .range("A", 1, 10)
                                .range("B", 1, 10)
                                .constraint("A + B <= 15")  // decided at B
                                .constraint("A <= 8")       // decided at A: takes 9 and 10 whole
                                .constraint("B <= 9");
  const auto size = space_of(kernel).size();
  EXPECT_EQ(size.removed[1].points, 20u);
  EXPECT_EQ(size.removed[0].points, 6u);  // A=6: 1, A=7: 2, A=8: 3
  EXPECT_EQ(size.removed[2].points, 5u);  // A=1..5 with B=10
  EXPECT_EQ(size.valid, 69u);
}

TEST(Space, ALetWithoutAnAnswerRemovesOnlyWhatReadsIt) {
  const TestKernel kernel = TestKernel()
                                .range("A", 0, 2)
                                .range("B", 0, 1)
                                .let("ratio", "4 / A")
                                .let("twice", "2 * ratio")
                                .let("unread", "1 / 0")
                                .constraint("B == 1 || 100 > A")
                                .constraint("twice > B");
  EXPECT_THAT(texts(space_of(kernel)), ElementsAre("A=1,B=0", "A=1,B=1", "A=2,B=0", "A=2,B=1"));
  const TestKernel harmless =
      TestKernel().range("A", 0, 2).let("ratio", "4 / A").constraint("A < 2");
  EXPECT_THAT(texts(space_of(harmless)), ElementsAre("A=0", "A=1"));
}

TEST(Space, CountsOfHugeProductsSaturate) {
  TestKernel kernel;
  for (int i = 0; i < 20; ++i) kernel.range("P" + std::to_string(i), 0, 9);
  kernel.constraint("P0 == 3");
  for (int i = 1; i < 20; ++i) {
    kernel.constraint("P" + std::to_string(i) + " == " + std::to_string(i % 10));
  }
  const Space space = space_of(kernel);
  const auto size = space.size();
  EXPECT_EQ(size.raw, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(size.valid, 1u);
  EXPECT_EQ(size.removed[0].points, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(size.removed[1].points, 9'000'000'000'000'000'000u);
  EXPECT_EQ(texts(space)[0].substr(0, 14), "P0=3,P1=1,P2=2");
  kernel.param("NONE", {});
  EXPECT_EQ(space_of(kernel).size().raw, 0u);
}

TEST(Space, NeedsEveryDimOfTheKernelAndIgnoresOthers) {
  const TestKernel kernel = TestKernel({"M", "N"}).range("A", 1, 2);
  EXPECT_EQ(space_of(kernel, {{"B", 1}, {"N", 1}, {"M", 2}, {"A", 7}}).size().valid, 2u);
  const std::string error = message_of<UsageError>([&] { space_of(kernel, {{"M", 4}}); });
  EXPECT_THAT(error, HasSubstr("needs a value for dim N; the problem is \"M=4\""));
}

TEST(BrokenConstraint, IsTheFirstDeclared) {
  const Space space = space_of(TestKernel()
                                   .range("A", 1, 4)
                                   .range("B", 1, 4)
                                   .constraint("A + B < 7")
                                   .constraint("A != 4")
                                   .constraint("8 % (B - 1) == 0"));
  EXPECT_EQ(space.broken_constraint({{"A", 2}, {"B", 2}}), std::nullopt);
  EXPECT_EQ(space.broken_constraint({{"B", 4}, {"A", 4}}), "A + B < 7");
  EXPECT_EQ(space.broken_constraint({{"A", 4}, {"B", 2}}), "A != 4");
  EXPECT_EQ(space.broken_constraint({{"A", 1}, {"B", 1}}), "8 % (B - 1) == 0");
}

TEST(BrokenConstraint, RefusesWhatIsNotInTheSpace) {
  const Space space = space_of(TestKernel().range("A", 1, 3).param("ORDER", {"row", "column"}));
  const auto error = [&](const Config& config) {
    return message_of<UsageError>([&] { space.broken_constraint(config); });
  };
  EXPECT_EQ(error({{"A", 1}, {"ORDER", "row"}}), "");
  EXPECT_THAT(error({{"A", 9}, {"ORDER", "row"}}), HasSubstr("A of kernel test_kernel is 9"));
  EXPECT_THAT(error({{"A", 9}, {"ORDER", "row"}}), HasSubstr("allowed are 1, 2, 3"));
  EXPECT_THAT(error({{"A", 1}, {"ORDER", "A"}}), HasSubstr("allowed are row, column"));
  EXPECT_THAT(error({{"A", 1}, {"ORDER", 1}}), HasSubstr("allowed are row, column"));
  EXPECT_THAT(error({{"A", 1}}), HasSubstr("needs a value for parameter ORDER"));
  EXPECT_THAT(error({{"A", 1}, {"ORDER", "row"}, {"C", 1}}), HasSubstr("has no parameter C"));
  EXPECT_THAT(error({{"A", 1}, {"A", 1}, {"ORDER", "row"}}), HasSubstr("has one parameter A"));
}

/// Random small spaces with random expressions, lets and divisions by zero among them. A statement
/// draws one word, so that every compiler draws the same spaces.
class RandomKernel {
 public:
  explicit RandomKernel(std::uint64_t seed) : random_(seed), kernel({"M", "N"}) {
    names_ = {"M"};
    const int num_params = pick(0, 6), num_lets = pick(0, 2), num_constraints = pick(0, 3);
    for (int i = 0; i < num_params; ++i) {
      std::vector<Value> values;
      const bool words = pick(0, 4) == 0;
      for (int value = pick(1, 4); value > 0; --value) {
        values.push_back(words ? Value("word" + std::to_string(value))
                               : Value(std::int64_t{value - pick(0, 1)}));
      }
      names_.push_back("P" + std::to_string(i));
      kernel.param(names_.back(), std::move(values));
    }
    for (int i = 0; i < num_lets; ++i) {
      const std::string name = "let" + std::to_string(i);
      kernel.let(name, expression(2));
      names_.push_back(name);
    }
    for (int i = 0; i < num_constraints; ++i) {
      kernel.constraint(condition(2));
    }
  }

 private:
  int pick(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

  std::string comparison() {
    static const std::vector<std::string> kComparisons = {" <= ", " != ", " > ", " >= "};
    return kComparisons[random_() % kComparisons.size()];
  }

  /// With && and ||, which may be decided before all that they read is bound.
  std::string condition(int depth) {
    if (depth == 0 || pick(0, 1) == 0) {
      std::string text = names_[random_() % names_.size()];
      text += comparison();
      return text + expression(1);
    }
    std::string text = pick(0, 3) == 0 ? "!(" : "(";
    text += condition(depth - 1);
    text += pick(0, 1) == 0 ? " && " : " || ";
    return text + condition(depth - 1) + ")";
  }

  std::string expression(int depth) {
    if (depth == 0 || pick(0, 3) == 0) {
      return pick(0, 3) == 0 ? std::to_string(pick(0, 5)) : names_[random_() % names_.size()];
    }
    static const std::vector<std::string> kOperators = {" + ", " - ", " * ", " / ", " % ", " || "};
    std::string text = "(" + expression(depth - 1);
    text += kOperators[random_() % kOperators.size()];
    return text + expression(depth - 1) + ")";
  }

  std::mt19937_64 random_;
  std::vector<std::string> names_;

 public:
  TestKernel kernel;
};

/// All points as an odometer turns, each judged by broken_constraint.
std::vector<std::string> brute_force(const Space& space, const KernelSpec& kernel,
                                     std::uint64_t& raw) {
  std::vector<std::string> valid;
  std::vector<int> point(kernel.params.size(), 0);
  raw = 0;
  for (bool more = true; more;) {
    ++raw;
    const Config config = space.config(point);
    if (!space.broken_constraint(config)) valid.push_back(to_text(config));
    more = false;
    for (std::size_t i = point.size(); i-- > 0 && !more;) {
      more = ++point[i] < static_cast<int>(kernel.params[i].values.size());
      if (!more) point[i] = 0;
    }
  }
  return valid;
}

TEST(Space, AgreesWithBruteForceOnRandomSpaces) {
  std::uint64_t with_removals = 0, with_survivors = 0;
  for (std::uint64_t seed = 0; seed < 1600; ++seed) {
    const RandomKernel random(seed);
    const Space space = space_of(random.kernel, {{"M", 3}, {"N", 4}});
    std::uint64_t raw = 0;
    const auto expected = brute_force(space, random.kernel.spec, raw);
    ASSERT_EQ(texts(space), expected) << seed;
    const auto size = space.size();
    ASSERT_EQ(size.raw, raw) << seed;
    ASSERT_EQ(size.valid, expected.size()) << seed;
    ASSERT_EQ(size.valid + total_removed(size), raw) << seed;
    with_removals += size.valid < raw && size.valid > 0;
    with_survivors += size.valid > 1;
  }
  // The property is worth testing only if many spaces are neither full nor empty.
  EXPECT_GT(with_removals, 200u);
  EXPECT_GT(with_survivors, 500u);
}

// A constraint of few parameters is answered from a table, one of many is evaluated. Both must
// agree.
TEST(Space, TablesDoNotChangeTheAnswer) {
  TestKernel kernel({"M"});
  for (int i = 0; i < 4; ++i) kernel.range("P" + std::to_string(i), 0, 11);
  kernel.let("ratio", "M / (P1 - 3)").let("sum", "ratio + P3");
  kernel.constraint("sum % 5 == 1").constraint("P3 - P1 != P2").constraint("sum > P0");
  const Space space = space_of(kernel, {{"M", 60}});
  std::uint64_t raw = 0;
  const auto expected = brute_force(space, kernel.spec, raw);
  EXPECT_GT(expected.size(), 100u);
  EXPECT_EQ(texts(space), expected);
  EXPECT_EQ(space.size().valid + total_removed(space.size()), raw);
}

// Tracing a chain of lets took the cube of its length, and recursion.
TEST(Space, ManyLetsAndConstraintsAreNoBurden) {
  TestKernel kernel;
  kernel.range("A", 1, 3).range("B", 1, 3);
  kernel.let("x0", "A");
  for (std::size_t i = 1; i < kMaxLets; ++i) {
    kernel.let("x" + std::to_string(i), "x" + std::to_string(i - 1) + " + 1");
  }
  const std::string last = "x" + std::to_string(kMaxLets - 1);
  for (int i = 0; i < 32; ++i) kernel.constraint(last + " > 0");
  kernel.constraint(last + " + B < " + std::to_string(kMaxLets - 1 + 4));
  EXPECT_THAT(texts(space_of(kernel)), ElementsAre("A=1,B=1", "A=1,B=2", "A=2,B=1"));
}

TEST(Space, LetsWithoutAnAnswerAreCountedAsTheyComeAndGo) {
  TestKernel kernel;
  kernel.range("A", 0, 2).range("B", 0, 2);
  kernel.let("x", "6 / A").let("y", "x / B");
  kernel.constraint("B == 0 || y > 2").constraint("A == 0 || x > 2");
  EXPECT_THAT(texts(space_of(kernel)), ElementsAre("A=1,B=1", "A=1,B=2", "A=2,B=1"));
}

TEST(Space, KnowsThePointOfAConfiguration) {
  const Space space = space_of(TestKernel().param("A", {2, 4}).param("MODE", {"row", "column"}));
  for (const std::vector<int>& point : {std::vector{0, 0}, {0, 1}, {1, 1}}) {
    EXPECT_EQ(space.point(space.config(point)), point);
  }
  for (const char* other :
       {"A=3,MODE=row", "A=2,MODE=grouped", "B=2,MODE=row", "A=2", "MODE=row,A=2"}) {
    EXPECT_EQ(space.point(parse_config(other)), std::nullopt) << other;
  }
}

TEST(Features, AreSizesParametersAndLets) {
  const TestKernel kernel =
      TestKernel({"M"}).param("A", {2, 4}).let("tiles", "cdiv(M, A)").let("none", "M / (A - 4)");
  Features features(kernel.spec, {{"M", 9}}, test_device());
  std::vector<float> numbers;
  EXPECT_TRUE(features.append(parse_config("A=2"), numbers));
  EXPECT_TRUE(features.append(parse_config("A=4"), numbers));
  EXPECT_EQ(features.count(), 8u);
  const float none = std::numeric_limits<float>::lowest();
  EXPECT_THAT(numbers, ElementsAre(9, 2, 5, -4, none, none, none, none,  //
                                   9, 4, 3, none, none, none, none, none));
}

// 132 SMs, of which each holds two of these blocks: by shared memory, then by threads.
TEST(Features, SayHowTheFirstLaunchFillsTheDevice) {
  TestKernel kernel = TestKernel({"M"}).param("A", {2, 4}).let("none", "M / (A - 4)");
  LaunchSpec launch;
  launch.grid = kernel.exprs({"M", "2"});
  launch.block = kernel.exprs({"256 * A"});
  launch.smem_bytes = kernel.expr("A == 2 ? 115000 : 1000");
  kernel.spec.launches = {launch, LaunchSpec{}};
  const auto last_four = [&](std::int64_t size) {
    Features features(kernel.spec, {{"M", size}}, test_device());
    std::vector<float> numbers;
    EXPECT_TRUE(features.append(parse_config("A=2"), numbers));
    EXPECT_EQ(numbers.size(), features.count());
    std::vector<float> same;
    EXPECT_TRUE(features.append(parse_config("A=4"), same));
    EXPECT_TRUE(std::equal(numbers.end() - 4, numbers.end(), same.end() - 4));
    return std::vector<float>(numbers.end() - 4, numbers.end());
  };
  EXPECT_THAT(last_four(33), ElementsAre(2, 1, 0.25f, 66));
  EXPECT_THAT(last_four(132), ElementsAre(2, 1, 1, 132));
  EXPECT_THAT(last_four(133), ElementsAre(2, 2, 266 / 528.0f, 132));
  kernel.spec.launches[0].grid = kernel.exprs({"none"});
  Features features(kernel.spec, {{"M", 9}}, test_device());
  std::vector<float> numbers;
  EXPECT_TRUE(features.append(parse_config("A=4"), numbers));
  EXPECT_EQ(numbers.back(), std::numeric_limits<float>::lowest());
}

TEST(Features, AreNotOfAnotherVersionsConfiguration) {
  const TestKernel kernel = TestKernel({"M"}).param("MODE", {"row", "column"});
  Features features(kernel.spec, {{"M", 9}}, test_device());
  std::vector<float> numbers;
  for (const char* other : {"MODE=grouped", "ORDER=row", "MODE=row,A=1"}) {
    EXPECT_FALSE(features.append(parse_config(other), numbers)) << other;
  }
  EXPECT_THAT(numbers, IsEmpty());
}

// A number of blocks that goes with the device had to be a factor of the device's SMs.
TEST(Space, AParameterMayTakeItsValuesFromTheDevice) {
  TestKernel kernel;
  kernel.param("BLOCKS", {std::int64_t{64}, std::int64_t{132}});
  const Symbols names = TestKernel().spec.symbols;
  for (const char* text : {"device.sm_count", "2 * device.sm_count"}) {
    kernel.spec.params[0].device_values.push_back({Expr::parse(text, names), {}});
  }
  DeviceInfo small = test_device();
  small.sm_count = 20;
  EXPECT_THAT(texts(space_of(kernel)), ElementsAre("BLOCKS=64", "BLOCKS=132", "BLOCKS=264"));
  EXPECT_THAT(texts(Space(kernel.spec, {}, small)),
              ElementsAre("BLOCKS=64", "BLOCKS=132", "BLOCKS=20", "BLOCKS=40"));
  kernel.spec.params[0].device_values = {{Expr::parse("1 / (device.cc - 90)", names), {}}};
  EXPECT_THROW(space_of(kernel), SpecError);
}

}  // namespace
}  // namespace assay
