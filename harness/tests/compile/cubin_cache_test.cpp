#include "compile/cubin_cache.h"

#include "base/error.h"
#include "base/file.h"
#include "temp_folder.h"

#include "matchers.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr char kKey[] = "0123456789abcdef0123456789abcdef";

class CubinCacheTest : public ::testing::Test {
 protected:
  CubinCacheTest() {
    result_.ok = true;
    result_.log = "a warning";
    result_.report = {12.5, false, 64, 8, 16, 4096, ""};
    cache_.store(kKey, cubin_, result_);
    json_ = fs::path(result_.cubin_path).replace_extension(".json");
  }

  TempFolder folder_;
  CubinCache cache_{folder_.path()};
  const std::string cubin_ = std::string(
      "\x7f"
      "ELF\0machine code",
      17);
  CompileResult result_;
  fs::path json_;
};

TEST_F(CubinCacheTest, AnEntryComesBackWhole) {
  const auto found = cache_.find(kKey);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->ok);
  EXPECT_EQ(found->log, "a warning");
  EXPECT_EQ(read_file(found->cubin_path), cubin_);
  CompileReport expected = result_.report;
  expected.cached = true;
  expected.compile_ms = 0;
  EXPECT_EQ(found->report, expected);
  EXPECT_FALSE(cache_.find("f123456789abcdef0123456789abcdef"));
}

TEST_F(CubinCacheTest, AnyTruncationOfEitherFileIsNoEntry) {
  const std::string json = read_file(json_);
  for (std::size_t size = 0; size < cubin_.size(); ++size) {
    write_file_atomic(result_.cubin_path, cubin_.substr(0, size));
    EXPECT_FALSE(cache_.find(kKey)) << size;
  }
  write_file_atomic(result_.cubin_path, cubin_);
  for (std::size_t size = 0; size < json.size(); ++size) {
    write_file_atomic(json_, json.substr(0, size));
    EXPECT_FALSE(cache_.find(kKey)) << size;
  }
  write_file_atomic(json_, json);
  EXPECT_TRUE(cache_.find(kKey));
}

TEST_F(CubinCacheTest, AnyFlippedBitOfTheCubinIsNoEntry) {
  for (std::size_t bit = 0; bit < cubin_.size() * 8; ++bit) {
    std::string damaged = cubin_;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write_file_atomic(result_.cubin_path, damaged);
    EXPECT_FALSE(cache_.find(kKey)) << bit;
  }
}

// The files of two configurations were swapped, and each was timed as the other.
TEST_F(CubinCacheTest, TheFilesOfAnotherKeyAreNoEntry) {
  constexpr char kOther[] = "0123456789abcdef0123456789abcdff";
  CompileResult other = result_;
  cache_.store(kOther, cubin_ + "!", other);
  for (const char* extension : {".json", ".cubin"}) {
    fs::copy_file(fs::path(other.cubin_path).replace_extension(extension),
                  fs::path(json_).replace_extension(extension),
                  fs::copy_options::overwrite_existing);
  }
  EXPECT_TRUE(cache_.find(kOther));
  EXPECT_FALSE(cache_.find(kKey));
}

// It said 65 registers for 64.
TEST_F(CubinCacheTest, AnyFlippedBitOfTheReportIsNoEntry) {
  const std::string json = read_file(json_);
  for (std::size_t bit = 0; bit < json.size() * 8; ++bit) {
    std::string damaged = json;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write_file_atomic(json_, damaged);
    EXPECT_FALSE(cache_.find(kKey)) << bit;
  }
}

TEST_F(CubinCacheTest, AnEntryOfAnotherShapeIsNoEntry) {
  for (const char* json : {"[]", "null", "{}", "3", "{\"cubin_hash\": 3}"}) {
    write_file_atomic(json_, json);
    EXPECT_FALSE(cache_.find(kKey)) << json;
  }
}

TEST_F(CubinCacheTest, HalfAnEntryIsNoEntry) {
  fs::remove(result_.cubin_path);
  EXPECT_FALSE(cache_.find(kKey));
  cache_.store(kKey, cubin_, result_);
  EXPECT_TRUE(cache_.find(kKey));
  fs::remove(json_);
  EXPECT_FALSE(cache_.find(kKey));
}

TEST_F(CubinCacheTest, WhatAReaderGetsComesBackWholeOrNotAtAll) {
  EXPECT_TRUE(cache_.find(kKey)->ptx.empty());
  EXPECT_TRUE(cache_.find(kKey)->cubin.empty());
  result_.ptx = ".version 9.0";
  cache_.store(kKey, cubin_, result_);
  EXPECT_EQ(cache_.find(kKey)->ptx, result_.ptx);
  EXPECT_EQ(cache_.find(kKey)->cubin, cubin_);
  const fs::path ptx = fs::path(result_.cubin_path).replace_extension(".ptx");
  write_file_atomic(ptx, ".version 9.1");
  EXPECT_FALSE(cache_.find(kKey));
  fs::remove(ptx);
  EXPECT_FALSE(cache_.find(kKey));
}

TEST_F(CubinCacheTest, ALogInAnyEncodingIsKept) {
  result_.log = "caf\xe9 \xff";
  cache_.store(kKey, cubin_, result_);
  const auto found = cache_.find(kKey);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->log, HasSubstr("caf"));
}

TEST_F(CubinCacheTest, AnUnusableFolderIsNamed) {
  write_file_atomic(folder_.path() / "file", "");
  const CubinCache unusable(folder_.path() / "file");
  EXPECT_FALSE(unusable.find(kKey));
  EXPECT_THAT([&] { unusable.store(kKey, cubin_, result_); },
              ThrowsMessage<Error>(HasSubstr("file/cubin/01")));
}

}  // namespace
}  // namespace assay
