#include "spec/entry.h"

#include "matchers.h"

namespace assay {
namespace {

using testing::Pair;

const Config kConfig = {{"BLOCK", 64}, {"T", "half"}, {"SHIFT", -1}};

TEST(Entry, ValuesStandInPlaceOfParameters) {
  EXPECT_EQ(instantiate("foo", kConfig), "foo");
  EXPECT_EQ(instantiate("ns::foo<T, BLOCK>", kConfig), "ns::foo<half, 64>");
  EXPECT_EQ(instantiate("foo<BLOCK*2,BLOCK>", kConfig), "foo<64*2,64>");
  EXPECT_EQ(instantiate("foo<Tile<T>, T::kSize>", kConfig), "foo<Tile<half>, half::kSize>");
  EXPECT_EQ(instantiate("foo<1-SHIFT>", kConfig), "foo<1-(-1)>");  // not 1--1
}

TEST(Entry, WhatOnlyLooksLikeAParameterStays) {
  for (const char* entry : {"T", "T::BLOCK", "BLOCK<float>", "foo<ns::T>", "foo<::T>",
                            "foo<BLOCKS>", "foo<A_T>", "foo<16T>", "foo<T2>", "foo"}) {
    EXPECT_EQ(instantiate(entry, kConfig), entry);
    EXPECT_EQ(macros_of(kConfig, {entry}), kConfig) << entry;
  }
}

TEST(Entry, AParameterOfAnEntryIsNoMacro) {
  EXPECT_THAT(macros_of(kConfig, {"foo<T>", "bar", "baz<BLOCK>"}), ElementsAre(Pair("SHIFT", -1)));
  EXPECT_EQ(macros_of(kConfig, {}), kConfig);
}

TEST(Entry, NamesHaveTheirPlace) {
  const std::vector<EntryName> names = names_in("a<b::c, 0x1F, d>");
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0].name, "b");
  EXPECT_TRUE(names[0].is_scope);
  EXPECT_EQ(names[1].name, "d");
  EXPECT_EQ(names[1].offset, 14u);
  EXPECT_FALSE(names[1].is_scope);
  EXPECT_THAT(names_in("a<"), IsEmpty());
}

}  // namespace
}  // namespace assay
