#include "spec/source_text.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace assay {
namespace {

std::string message(const std::string& text, int line, int column) {
  const auto source = std::make_shared<const SourceText>(SourceText{"dir/x.yaml", text});
  return SpecError({source, line, column}, "oops").what();
}

TEST(SpecError, QuotesTheLineWithACaret) {
  EXPECT_EQ(message("a: 1\nbb: 2\n", 2, 5), "dir/x.yaml:2:5: oops\n  bb: 2\n      ^");
  EXPECT_EQ(message("a: 1", 1, 1), "dir/x.yaml:1:1: oops\n  a: 1\n  ^");
}

TEST(SpecError, TabsKeepTheCaretUnderTheColumn) {
  EXPECT_EQ(message("\ta\tb", 1, 4), "dir/x.yaml:1:4: oops\n  \ta\tb\n  \t \t^");
}

TEST(SpecError, ColumnsCountCharactersNotBytes) {
  EXPECT_EQ(message("\xc3\xa9\xe2\x82\xac: 1", 1, 8),
            "dir/x.yaml:1:5: oops\n  \xc3\xa9\xe2\x82\xac: 1\n      ^");
}

TEST(SpecError, PlacesPastTheTextAreHarmless) {
  EXPECT_EQ(message("a", 1, 9), "dir/x.yaml:1:2: oops\n  a\n   ^");
  EXPECT_EQ(message("a\n", 2, 1), "dir/x.yaml:2:1: oops");
  EXPECT_EQ(message("a\n", 7, 3), "dir/x.yaml:7:1: oops");
  EXPECT_EQ(message("", 1, 1), "dir/x.yaml:1:1: oops");
}

TEST(SpecError, LongLinesAreQuotedAroundTheCaret) {
  const std::string text = std::string(500, 'a') + "X" + std::string(500, 'b');
  EXPECT_EQ(message(text, 1, 501), "dir/x.yaml:1:501: oops\n  " + std::string(60, 'a') + "X" +
                                       std::string(99, 'b') + "\n  " + std::string(60, ' ') + "^");
}

TEST(SpecError, LongLinesAreNotCutWithinACharacter) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "\xe2\x82\xac";
  const std::string shown = message(text, 1, 451);
  EXPECT_EQ(shown.substr(0, shown.find('\n')), "dir/x.yaml:1:151: oops");
  const std::string quoted = shown.substr(shown.find('\n') + 3);
  EXPECT_EQ(quoted.find("\xe2\x82\xac"), 0u);
  EXPECT_EQ(quoted.substr(quoted.find('\n')), "\n  " + std::string(20, ' ') + "^");
}

TEST(SpecError, WithoutAFileOnlyTheMessage) {
  EXPECT_STREQ(SpecError(Location{}, "oops").what(), "oops");
}

TEST(LoadSource, DropsByteOrderMarkAndCarriageReturns) {
  const TempFolder folder;
  EXPECT_EQ(load_source(folder.write("x", "\xEF\xBB\xBFkey: 1\r\n\r\nb: 2"))->text,
            "key: 1\n\nb: 2");
  EXPECT_THROW(load_source(folder.write("x", "a\rb")), SpecError);
}

TEST(LoadSource, RefusesOtherEncodings) {
  const TempFolder folder;
  using namespace std::string_view_literals;
  for (const auto text : {"\xff\xfek\0"sv, "\0k\0e"sv, "\xc0\x80"sv, "\xe2\x82"sv, "a\x80"sv,
                          "\xf5\x80\x80\x80"sv, "a\x7f"sv}) {
    EXPECT_THROW(load_source(folder.write("x", text)), SpecError);
  }
}

TEST(LoadSource, RefusesWhatIsNoContract) {
  const TempFolder folder;
  EXPECT_THROW(load_source(folder.path() / "missing.yaml"), UsageError);
  EXPECT_THROW(load_source(folder.write("x", std::string((1 << 20) + 1, '#'))), UsageError);
  EXPECT_NO_THROW(load_source(folder.write("x", std::string(1 << 20, '#'))));
}

}  // namespace
}  // namespace assay
