#include "compile/source_tree.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "temp_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class SourceTreeTest : public ::testing::Test {
 protected:
  fs::path write(const fs::path& name, const std::string& text) {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    write_file_atomic(path, text);
    return path;
  }
  SourceTree read(const std::string& source) {
    return SourceTree::read(write("src/x.cu", source), {folder_.path() / "include"});
  }
  std::string hash(const std::string& source) { return read(source).hash(); }

  TempFolder folder_;
};

TEST_F(SourceTreeTest, FindsHeadersRecursively) {
  write("include/common/a.cuh", "#include \"common/b.cuh\"\n");
  write("include/common/b.cuh", "b");
  write("src/near.cuh", "near");
  const SourceTree tree = read("#include \"common/a.cuh\"\n  #  include \t\"near.cuh\" // why\r\n");
  EXPECT_EQ(tree.name, "x.cu");
  EXPECT_THAT(tree.headers, ElementsAre(Pair("common/a.cuh", "#include \"common/b.cuh\"\n"),
                                        Pair("common/b.cuh", "b"), Pair("near.cuh", "near")));
}

TEST_F(SourceTreeTest, QuotesLookNearbyFirstAndBracketsDoNot) {
  write("include/h.cuh", "far");
  write("src/h.cuh", "near");
  EXPECT_THAT(read("#include \"h.cuh\"").headers, ElementsAre(Pair("h.cuh", "near")));
  EXPECT_THAT(read("#include <h.cuh>").headers, ElementsAre(Pair("h.cuh", "far")));
}

TEST_F(SourceTreeTest, WhatIsNotAHeaderIsLeftToTheCompiler) {
  write("include/folder/file", "");
  for (const char* text :
       {"#include \"missing.cuh\"", "#include \"folder\"", "#include <cuda_bf16.h>",
        "#include NAME", "#include \"", "#include \"\"", "#include", "#",
        "#define include \"folder/file\"", "// include \"folder/file\""}) {
    EXPECT_THAT(read(text).headers, IsEmpty()) << text;
  }
}

TEST_F(SourceTreeTest, CyclesEnd) {
  write("include/a.cuh", "#include \"b.cuh\"\n#include \"a.cuh\"\n");
  write("include/b.cuh", "#include \"a.cuh\"\n#include \"../src/x.cu\"\n");
  EXPECT_EQ(read("#include \"a.cuh\"\n").headers.size(), 3u);
}

TEST_F(SourceTreeTest, OneFileUnderTwoSpellingsIsOneFile) {
  write("include/common/a.cuh", "#include \"b.cuh\"\n");
  write("include/common/b.cuh", "#pragma once\n");
  const SourceTree tree = read("#include \"common/a.cuh\"\n#include \"common/b.cuh\"\n");
  EXPECT_EQ(tree.headers.at("b.cuh"), "#pragma once\n");
  EXPECT_EQ(tree.headers.at("common/b.cuh"), "#include \"b.cuh\"\n");
}

TEST_F(SourceTreeTest, OneSpellingOfTwoFilesIsRefused) {
  write("include/common/a.cuh", "#include \"b.cuh\"\n");
  write("include/common/b.cuh", "1");
  write("include/b.cuh", "2");
  try {
    read("#include \"common/a.cuh\"\n#include \"b.cuh\"\n");
    FAIL() << "expected UsageError";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("#include \"b.cuh\" means both "));
    EXPECT_THAT(error.what(), HasSubstr("common/b.cuh"));
  }
}

TEST_F(SourceTreeTest, TheHashCoversEveryHeaderAndNothingElse) {
  write("include/a.cuh", "#include \"b.cuh\"\n");
  write("include/b.cuh", "1");
  const std::string source = "#include \"a.cuh\"\n";
  const std::string before = hash(source);
  write("include/unrelated.cuh", "1");
  write("src/unrelated.cu", "1");
  EXPECT_EQ(hash(source), before);
  write("include/b.cuh", "2");
  EXPECT_NE(hash(source), before);
  write("include/b.cuh", "1");
  EXPECT_EQ(hash(source), before);
  write("src/a.cuh", "");  // now hides the other
  EXPECT_NE(hash(source), before);
  EXPECT_NE(hash(source + "\n"), before);
}

TEST_F(SourceTreeTest, TheHashDoesNotKnowWhereTheFilesAre) {
  const std::string source = "#include \"a.cuh\"\n";
  write("include/a.cuh", "1");
  const std::string here = hash(source);
  write("elsewhere/src/a.cuh", "1");
  EXPECT_EQ(SourceTree::read(write("elsewhere/src/x.cu", source), {}).hash(), here);
}

/// What is said about a tree that is refused.
std::string mistake(const std::function<void()>& read) {
  try {
    read();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing";
}

// Each header of a chain took a call of its own, until 30,000 of them had filled the stack.
TEST_F(SourceTreeTest, ALongChainOfHeadersIsRefused) {
  const auto header = [](std::size_t i) { return fmt::format("include/{}.cuh", i); };
  fs::create_directories(folder_.path() / "include");
  for (std::size_t i = 0; i <= kMaxHeaders; ++i) {
    std::ofstream(folder_.path() / header(i)) << fmt::format("\n#include \"{}.cuh\"\n", i + 1);
  }
  EXPECT_EQ(mistake([&] { read("#include \"0.cuh\"\n"); }),
            fmt::format("{}:2: x.cu includes more than 4096 headers",
                        (folder_.path() / header(kMaxHeaders - 1)).string()));
}

TEST_F(SourceTreeTest, HeadersThatAreTooLargeTogetherAreRefused) {
  const std::string spaces(12 << 20, ' ');
  for (const char* name : {"a", "b", "c"}) write(fmt::format("include/{}.cuh", name), spaces);
  const std::string two = "#include \"a.cuh\"\n#include \"b.cuh\"\n";
  EXPECT_EQ(read(two).headers.size(), 2u);
  EXPECT_EQ(
      mistake([&] { read(two + "#include \"c.cuh\"\n"); }),
      (folder_.path() / "src/x.cu:3: x.cu and its headers have more than 33554432 bytes").string());
}

// The compiler was given what stands before the NUL, and the rest was dropped without a word.
TEST_F(SourceTreeTest, ANulByteIsRefused) {
  using namespace std::string_literals;
  EXPECT_EQ(mistake([&] { read("int a;\nint b\0;\n"s); }),
            (folder_.path() / "src/x.cu:2:6: found a NUL byte; expected text").string());
  write("include/h.cuh", "\0"s);
  EXPECT_EQ(mistake([&] { read("#include \"h.cuh\"\n"); }),
            (folder_.path() / "include/h.cuh:1:1: found a NUL byte; expected text").string());
}

// `#include "/etc/shadow"` put that file's lines into a log that people show to each other.
TEST_F(SourceTreeTest, HeadersFromElsewhereAreRefused) {
  const std::string secret = fs::canonical(write("secret/key", "")).string();
  const std::string root = fs::canonical(folder_.path()).string();
  const std::string message =
      fmt::format(" leads to {}, outside of {}/src, {}/include; name its folder with --include",
                  secret, root, root);
  write("include/h.cuh", "");
  for (const std::string& spelling : {secret, std::string("../secret/key")}) {
    for (const char* format : {"\n#include \"{}\"\n", "\n#include <{}>\n"}) {
      EXPECT_EQ(mistake([&] { read(fmt::format(fmt::runtime(format), spelling)); }),
                fmt::format("{}/src/x.cu:2: #include \"{}\"", folder_.path().string(), spelling) +
                    message);
    }
  }
  fs::create_symlink(secret, folder_.path() / "include/link.cuh");
  EXPECT_THAT(mistake([&] { read("#include \"link.cuh\"\n"); }),
              HasSubstr("src/x.cu:1: #include \"link.cuh\"" + message));
  fs::create_symlink(secret, folder_.path() / "src/link.cu");
  EXPECT_THAT(mistake([&] {
                SourceTree::read(folder_.path() / "src/link.cu", {folder_.path() / "include"});
              }),
              HasSubstr("src/link.cu" + message));
}

TEST_F(SourceTreeTest, LinksInsideTheFoldersAreFollowed) {
  write("include/h.cuh", "h");
  const fs::path source = write("src/y.cu", "#include \"link.cuh\"\n#include <h.cuh>\n");
  fs::create_symlink("../include/h.cuh", source.parent_path() / "link.cuh");
  fs::create_directory_symlink("include", folder_.path() / "linked");
  EXPECT_THAT(SourceTree::read(source, {folder_.path() / "linked"}).headers,
              ElementsAre(Pair("h.cuh", "h"), Pair("link.cuh", "h")));
}

TEST_F(SourceTreeTest, AMissingSourceIsNamed) {
  EXPECT_THROW(SourceTree::read(folder_.path() / "missing.cu", {}), UsageError);
}

}  // namespace
}  // namespace assay
