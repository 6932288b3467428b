#include "base/terminal.h"

#include <gtest/gtest.h>

#include <string>

namespace assay {
namespace {

// A recording's kernel was called "\x1b]0;...\a": a table of results set the terminal's title.
TEST(Terminal, NothingCommandsIt) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m\a\b\r\x7f"), "?[31mred?[0m????");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "?2J");  // U+009B opens an escape sequence, too
  EXPECT_EQ(printable("\x9b\xff\xc3"), "???");
}

// "gemm\u202e" turned round all of a table's row behind the name.
TEST(Terminal, NothingTurnsItRound) {
  EXPECT_EQ(printable("a\u202a\u202b\u202c\u202d\u202ez"), "a?????z");
  EXPECT_EQ(printable("a\u2066\u2067\u2068\u2069z"), "a????z");
  const std::string beside = "\u2029\u202f\u2065\u206a";
  EXPECT_EQ(printable(beside), beside);
}

TEST(Terminal, LinesAreBrokenAtSpaces) {
  EXPECT_EQ(folded("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(folded("one two three", 13), (std::vector<std::string>{"one two three"}));
  EXPECT_EQ(folded("A=1,B=20,C=3", 8), (std::vector<std::string>{"A=1,", "B=20,C=3"}));
  EXPECT_EQ(folded("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
  EXPECT_EQ(folded("\u20ac\u20ac\u20ac\u20ac", 3),
            (std::vector<std::string>{"\u20ac\u20ac\u20ac", "\u20ac"}));
  EXPECT_EQ(folded_text("one two", {}), "one two\n");
}

TEST(Terminal, TextStays) {
  const std::string text = "two\n\tlines, \xc2\xa0 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\r\n";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable(""), "");
}

TEST(Terminal, ALineIsOne) {
  EXPECT_EQ(printable_line("a\nb\tc\r\nd \xc3\xa9"), "a?b?c??d \xc3\xa9");
}

}  // namespace
}  // namespace assay
