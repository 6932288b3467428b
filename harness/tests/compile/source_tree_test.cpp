#include "compile/source_tree.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "matchers.h"
#include "message_of.h"
#include "temp_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::Pair;

class SourceTreeTest : public ::testing::Test {
 protected:
  fs::path write(const fs::path& name, const std::string& text) {
    return folder_.write(name, text);
  }
  SourceTree read(const std::string& source) {
    return SourceTree::read(write("src/x.cu", source), {folder_.path() / "include"});
  }
  std::string hash(const std::string& source) { return read(source).hash; }

  TempFolder folder_;
};

TEST_F(SourceTreeTest, FindsHeadersRecursively) {
  write("include/common/a.cuh", "#include \"common/b.cuh\"\n");
  write("include/common/b.cuh", "b");
  write("src/near.cuh", "near");
  const SourceTree tree = read("#include \"common/a.cuh\"\n  #  include \t\"near.cuh\" // why\r\n");
  EXPECT_EQ(tree.name, "x.cu");
  EXPECT_EQ(tree.text,
            "#include \"@assay/common/a.cuh\"\n  #  include \t\"@assay/near.cuh\" // why\r\n");
  EXPECT_THAT(tree.headers,
              ElementsAre(Pair("@assay/common/a.cuh", "#include \"@assay/common/b.cuh\"\n"),
                          Pair("@assay/common/b.cuh", "b"), Pair("@assay/near.cuh", "near")));
}

TEST_F(SourceTreeTest, QuotesLookNearbyFirstAndBracketsDoNot) {
  write("include/h.cuh", "far");
  write("src/h.cuh", "near");
  EXPECT_THAT(read("#include \"h.cuh\"").headers, ElementsAre(Pair("@assay/h.cuh", "near")));
  EXPECT_THAT(read("#include <h.cuh>").headers, ElementsAre(Pair("@assay/h.cuh", "far")));
  // What lies beside the source is the last to be found by others.
  write("include/a.cuh", "#include \"sub/h.cuh\"");
  write("src/sub/h.cuh", "beside the source");
  EXPECT_THAT(read("#include <a.cuh>").headers,
              ElementsAre(Pair("@assay/a.cuh", "#include \"@assay/sub/h.cuh\""),
                          Pair("@assay/sub/h.cuh", "beside the source")));
  write("include/sub/h.cuh", "in an include directory");
  EXPECT_EQ(read("#include <a.cuh>").headers.at("@assay/sub/h.cuh"), "in an include directory");
}

// Two libraries with a detail/config.h each could not be used together.
TEST_F(SourceTreeTest, OneSpellingMayMeanSeveralFiles) {
  write("include/a/all.cuh", "#include \"detail/config.h\"\n");
  write("include/b/all.cuh", "#include \"detail/config.h\"\n");
  write("include/a/detail/config.h", "a");
  write("include/b/detail/config.h", "b");
  const std::string source = "#include <a/all.cuh>\n#include <b/all.cuh>\n";
  EXPECT_THAT(
      read(source).headers,
      ElementsAre(Pair("@assay/a/all.cuh", "#include \"@assay/detail/config.h\"\n"),
                  Pair("@assay/b/all.cuh", "#include \"@assay/detail/config.h#2\"\n"),
                  Pair("@assay/detail/config.h", "a"), Pair("@assay/detail/config.h#2", "b")));
  const std::string before = hash(source);
  write("include/a/detail/config.h", "b");
  write("include/b/detail/config.h", "a");
  EXPECT_NE(hash(source), before);
}

TEST_F(SourceTreeTest, NearAndFarAreToldApart) {
  write("include/h.cuh", "far");
  write("src/h.cuh", "near");
  const SourceTree tree = read("#include \"h.cuh\"\n#include <h.cuh>\n#include \"h.cuh\"\n");
  EXPECT_EQ(tree.text,
            "#include \"@assay/h.cuh\"\n#include \"@assay/h.cuh#2\"\n#include \"@assay/h.cuh\"\n");
  EXPECT_EQ(tree.headers.at("@assay/h.cuh#2"), "far");
  EXPECT_NE(tree.hash, hash("#include \"h.cuh\"\n#include <h.cuh>\n#include <h.cuh>\n"));
}

TEST_F(SourceTreeTest, WhatIsAskedForIsThere) {
  write("include/h.cuh", "");
  const SourceTree tree = read(
      "#if __has_include(<h.cuh>) && defined(X) && __has_include( \"none.h\" )\n"
      "#elif defined __has_include\n");
  EXPECT_EQ(tree.text,
            "#if __has_include(\"@assay/h.cuh\") && defined(X) && __has_include( \"none.h\" )\n"
            "#elif defined __has_include\n");
  EXPECT_THAT(tree.headers, ElementsAre(Pair("@assay/h.cuh", "")));
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
  EXPECT_EQ(tree.text, "#include \"@assay/common/a.cuh\"\n#include \"@assay/b.cuh\"\n");
  EXPECT_EQ(tree.headers.size(), 2u);
  EXPECT_EQ(tree.headers.at("@assay/b.cuh"), "#pragma once\n");
}

// So that what was measured before headers had names of their own is still of this version.
TEST_F(SourceTreeTest, TheHashIsOfWhatWasReadBySpelling) {
  write("include/common/a.cuh", "#include \"b.cuh\"\n");
  write("include/common/b.cuh", "1");
  const std::string source = "#include \"common/a.cuh\"\n#include \"common/b.cuh\"\n";
  EXPECT_EQ(hash(source), Hasher()
                              .add("x.cu")
                              .add(source)
                              .add("b.cuh")
                              .add("1")
                              .add("common/a.cuh")
                              .add("#include \"b.cuh\"\n")
                              .add("common/b.cuh")
                              .add("#include \"b.cuh\"\n")
                              .hex());
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
  EXPECT_EQ(SourceTree::read(write("elsewhere/src/x.cu", source), {}).hash, here);
}

// Each header of a chain took a call of its own, until 30,000 of them had filled the stack.
TEST_F(SourceTreeTest, ALongChainOfHeadersIsRefused) {
  const auto header = [](std::size_t i) { return fmt::format("include/{}.cuh", i); };
  fs::create_directories(folder_.path() / "include");
  for (std::size_t i = 0; i <= kMaxHeaders; ++i) {
    std::ofstream(folder_.path() / header(i)) << fmt::format("\n#include \"{}.cuh\"\n", i + 1);
  }
  EXPECT_EQ(message_of<UsageError>([&] { read("#include \"0.cuh\"\n"); }),
            fmt::format("{}:2: x.cu includes more than 4096 headers",
                        (folder_.path() / header(kMaxHeaders - 1)).string()));
}

TEST_F(SourceTreeTest, HeadersThatAreTooLargeTogetherAreRefused) {
  const std::string spaces(12 << 20, ' ');
  for (const char* name : {"a", "b", "c"}) write(fmt::format("include/{}.cuh", name), spaces);
  const std::string two = "#include \"a.cuh\"\n#include \"b.cuh\"\n";
  EXPECT_EQ(read(two).headers.size(), 2u);
  EXPECT_EQ(
      message_of<UsageError>([&] { read(two + "#include \"c.cuh\"\n"); }),
      (folder_.path() / "src/x.cu:3: x.cu and its headers have more than 33554432 bytes").string());
}

// The compiler was given what stands before the NUL, and the rest was dropped without a word.
TEST_F(SourceTreeTest, ANulByteIsRefused) {
  using namespace std::string_literals;
  EXPECT_EQ(message_of<UsageError>([&] { read("int a;\nint b\0;\n"s); }),
            (folder_.path() / "src/x.cu:2:6: found a NUL byte; expected text").string());
  write("include/h.cuh", "\0"s);
  EXPECT_EQ(message_of<UsageError>([&] { read("#include \"h.cuh\"\n"); }),
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
      EXPECT_EQ(message_of<UsageError>([&] { read(fmt::format(fmt::runtime(format), spelling)); }),
                fmt::format("{}/src/x.cu:2: #include \"{}\"", folder_.path().string(), spelling) +
                    message);
    }
  }
  fs::create_symlink(secret, folder_.path() / "include/link.cuh");
  EXPECT_THAT(message_of<UsageError>([&] { read("#include \"link.cuh\"\n"); }),
              HasSubstr("src/x.cu:1: #include \"link.cuh\"" + message));
  fs::create_symlink(secret, folder_.path() / "src/link.cu");
  EXPECT_THAT(message_of<UsageError>([&] {
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
              ElementsAre(Pair("@assay/link.cuh", "h")));
}

// Whether the header was there decided on the code and was not in the key: what had been compiled
// without the header was taken for what would be compiled with it.
TEST_F(SourceTreeTest, AHeaderThatIsAskedForInHidingIsRefused) {
  for (const char* text :
       {"#if __has_include(NAME)\n", "#define HAS(x) __has_include( x )\n",
        "#if __has_include/**/(<h.cuh>)\n", "#if __has_include\\\n(<h.cuh>)\n"}) {
    EXPECT_EQ(message_of<UsageError>([&] { read(std::string("\n") + text); }),
              (folder_.path() / "src/x.cu").string() +
                  ":2: __has_include asks in a way that hides its header; write the header's name "
                  "in quotes or brackets")
        << text;
  }
  for (const char* text : {"// __has_include(x)\n", "#ifdef __has_include\n",
                           "#if defined(__has_include)\n", "#if __has_include(<none.h>)\n"}) {
    EXPECT_EQ(message_of<UsageError>([&] { read(text); }), "") << text;
  }
}

// The compiler waited for it for a minute, once for each configuration.
TEST_F(SourceTreeTest, AHeaderThatIsAPipeIsRefused) {
  write("src/near.cuh", "#include <h.cuh>\n");
  fs::create_directory(folder_.path() / "include");
  ASSERT_EQ(::mkfifo((folder_.path() / "include/h.cuh").c_str(), 0600), 0);
  EXPECT_EQ(message_of<UsageError>([&] { read("#include \"near.cuh\"\n"); }),
            (folder_.path() / "src/near.cuh").string() +
                ":1: #include \"h.cuh\" is a pipe: expected a file");
}

TEST_F(SourceTreeTest, AMissingSourceIsNamed) {
  EXPECT_THROW(SourceTree::read(folder_.path() / "missing.cu", {}), UsageError);
}

}  // namespace
}  // namespace assay
