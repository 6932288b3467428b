#include "base/c_layout.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace assay {
namespace {

TEST(StructLayout, IsThatOfTheCompiler) {
  struct Inner {
    char a;
    short b;
  };
  struct Outer {
    char a;
    const float* b;
    int c;
    double d;
    char e;
    Inner f;
  };
  StructLayout inner;
  EXPECT_EQ(inner.add({1, 1}), 0);
  EXPECT_EQ(inner.add({2, 2}), static_cast<std::int64_t>(offsetof(Inner, b)));
  EXPECT_EQ(inner.layout().bytes, static_cast<std::int64_t>(sizeof(Inner)));
  StructLayout outer;
  EXPECT_EQ(outer.add({1, 1}), 0);
  EXPECT_EQ(outer.add(kPointerLayout), static_cast<std::int64_t>(offsetof(Outer, b)));
  EXPECT_EQ(outer.add({4, 4}), static_cast<std::int64_t>(offsetof(Outer, c)));
  EXPECT_EQ(outer.add({8, 8}), static_cast<std::int64_t>(offsetof(Outer, d)));
  EXPECT_EQ(outer.add({1, 1}), static_cast<std::int64_t>(offsetof(Outer, e)));
  EXPECT_EQ(outer.add(inner.layout()), static_cast<std::int64_t>(offsetof(Outer, f)));
  EXPECT_EQ(outer.layout().bytes, static_cast<std::int64_t>(sizeof(Outer)));
  EXPECT_EQ(outer.layout().alignment, static_cast<std::int64_t>(alignof(Outer)));
}

}  // namespace
}  // namespace assay
