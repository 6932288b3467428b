#include "support/fill_kernel.h"

#include <cstring>

#include "launch/failure.h"
#include "matchers.h"
#include "message_of.h"

namespace assay {
namespace {

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// What `derivation` makes of `values`, as `elements` numbers of i32.
template <typename T = std::int32_t>
std::vector<T> made(const std::string& derivation, const std::vector<T>& values, DType dtype,
                    std::vector<std::int64_t> shape, std::int64_t elements,
                    DType made_dtype = DType::i32) {
  BufferPlan source{"ids", dtype, std::move(shape), Role::in, "normal", {}};
  BufferPlan plan{"I", made_dtype, {elements}, Role::in, derivation, {}};
  plan.made_of = "ids";
  EXPECT_TRUE(is_derived_on_host(plan));
  const std::string bytes = derived(plan, source, bytes_of(values));
  EXPECT_EQ(bytes.size(), static_cast<std::size_t>(plan.bytes()));
  std::vector<T> result(bytes.size() / sizeof(T));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

std::vector<std::int32_t> made_of_ids(const std::string& derivation, std::int64_t elements) {
  // Three tokens with two experts each.
  return made<std::int32_t>(derivation, {2, 0, 3, 2, 0, 2}, DType::i32, {3, 2}, elements);
}

TEST(Derived, SaysWhereTheExpertsOfARoutingBegin) {
  EXPECT_THAT(made_of_ids("sorted", 6), ElementsAre(0, 0, 2, 2, 2, 3));
  EXPECT_THAT(made_of_ids("order", 6), ElementsAre(1, 4, 0, 3, 5, 2));
  EXPECT_THAT(made_of_ids("rows", 6), ElementsAre(0, 2, 0, 1, 2, 1));
  EXPECT_THAT(made_of_ids("counts", 5), ElementsAre(2, 0, 3, 1, 0));
  EXPECT_THAT(made_of_ids("starts", 5), ElementsAre(0, 2, 2, 5, 6));
}

TEST(Derived, AnInverseUndoesAnOrder) {
  const std::vector<std::int32_t> order = made_of_ids("order", 6);
  const auto inverse = made<std::int32_t>("inverse", order, DType::i32, {6}, 6);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(inverse[static_cast<std::size_t>(order[i])], static_cast<std::int32_t>(i));
  }
}

TEST(Derived, SortsEachTypeByItsValues) {
  const auto sorted = [](auto values, DType dtype) {
    const auto count = static_cast<std::int64_t>(values.size());
    return made("sorted", values, dtype, {count}, count, dtype);
  };
  EXPECT_THAT(sorted(std::vector<float>{1, -2, 0.5f, -3}, DType::f32),
              ElementsAre(-3, -2, 0.5f, 1));
  EXPECT_THAT(sorted(std::vector<double>{1, -2, 1e300}, DType::f64), ElementsAre(-2, 1, 1e300));
  EXPECT_THAT(sorted(std::vector<std::int8_t>{1, -2, 127}, DType::i8), ElementsAre(-2, 1, 127));
  EXPECT_THAT(sorted(std::vector<std::uint8_t>{1, 254, 127}, DType::u8), ElementsAre(1, 127, 254));
  EXPECT_THAT(sorted(std::vector<std::uint64_t>{1, ~0ull, 7}, DType::u64),
              ElementsAre(1, 7, ~0ull));
  // As bf16 these are 1, -1 and -2.
  EXPECT_THAT(sorted(std::vector<std::uint16_t>{0x3F80, 0xBF80, 0xC000}, DType::bf16),
              ElementsAre(0xC000, 0xBF80, 0x3F80));
}

TEST(Derived, RefusesWhatDoesNotFitWithASentence) {
  const auto refusal = [](const std::string& derivation, const std::vector<std::int32_t>& ids,
                          std::int64_t elements, DType dtype) {
    return message_of<Failure>([&] {
      made<std::int32_t>(derivation, ids, DType::i32, {static_cast<std::int64_t>(ids.size())},
                         elements, dtype);
    });
  };
  EXPECT_EQ(refusal("counts", {1, 4}, 4, DType::i32),
            "input I: ids holds 4, but I has 4 elements, for 0 to 3");
  EXPECT_EQ(refusal("starts", {1, -1}, 4, DType::i32),
            "input I: ids holds -1, but I has 4 elements, for 0 to 3");
  EXPECT_EQ(refusal("inverse", {1, 1}, 2, DType::i32),
            "input I: ids is no permutation, it holds 1 2 times");
  EXPECT_EQ(refusal("order", std::vector<std::int32_t>(300), 300, DType::u8),
            "input I: 256 does not fit in u8, which holds 0 to 255");
}

}  // namespace
}  // namespace assay
