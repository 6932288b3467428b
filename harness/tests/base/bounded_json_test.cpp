#include "base/bounded_json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/limits.h"
#include "matchers.h"
#include "message_of.h"

namespace assay {
namespace {

using nlohmann::json;

std::string repeated(std::string_view piece, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece;
  return text;
}

std::string refusal(void (*check)(std::string_view, std::string_view), std::string_view text) {
  return message_of<std::runtime_error>([&] { check(text, "file:3"); });
}

std::string cbor(const json& value) {
  std::string bytes;
  json::to_cbor(value, bytes);
  return bytes;
}

/// A list in a list, `depth` deep.
json nested(int depth) {
  json value = json::array();
  for (int i = 1; i < depth; ++i) value = json::array({value});
  return value;
}

// Both crashed: copying and printing a value of the library recurse, and so does reading CBOR.
TEST(BoundedJson, DepthHasABound) {
  for (const char* open : {"[", "{\"a\":", "[1,[2],"}) {
    EXPECT_EQ(refusal(check_json, repeated(open, 80'000)),
              "file:3: nested more than 64 levels deep");
  }
  EXPECT_EQ(refusal(check_json, nested(kMaxJsonDepth).dump()), "");
  EXPECT_NE(refusal(check_json, nested(kMaxJsonDepth + 1).dump()), "");
  EXPECT_EQ(refusal(check_cbor, repeated("\x81", 80'000)),
            "file:3: nested more than 64 levels deep");
  EXPECT_EQ(refusal(check_cbor, cbor(nested(kMaxJsonDepth))), "");
  EXPECT_NE(refusal(check_cbor, cbor(nested(kMaxJsonDepth + 1))), "");
}

TEST(BoundedJson, BracketsInTextAreNoDepth) {
  EXPECT_EQ(refusal(check_json, json(repeated("[{\\\"", 1000)).dump()), "");
  EXPECT_EQ(refusal(check_json, R"({"a": "\\", "b": ")" + repeated("[", 100) + "\"}"), "");
  EXPECT_NE(refusal(check_json, R"(["\\",)" + repeated("[", 100)), "");
}

// A list of a short text took 50 times its size of memory.
TEST(BoundedJson, TextHasABound) {
  EXPECT_EQ(refusal(check_json, std::string(kMaxJsonBytes, ' ')), "");
  EXPECT_EQ(refusal(check_json, std::string(kMaxJsonBytes + 1, ' ')),
            "file:3: more than 16777216 bytes of JSON");
}

TEST(BoundedJson, ManySiblingsAreNotDeep) {
  EXPECT_EQ(refusal(check_json, "[" + repeated("[[]],", 100'000) + "0]"), "");
  EXPECT_EQ(refusal(check_json, std::string(1 << 20, ',')), "file:3: more than 1048576 values");
  EXPECT_EQ(refusal(check_cbor, cbor(json(std::vector<json>(100'000, nested(2))))), "");
}

TEST(BoundedJson, WhatTheLibraryWritesAsCborPasses) {
  const json value = {{"text", std::string(70'000, 'x')},
                      {"numbers", {0, -1, 23, 24, 255, 256, 65536, 1ll << 40, -(1ll << 40), 1.5}},
                      {"more", {nullptr, true, false, json::object(), json::array(), ""}},
                      {"bytes", json::binary({1, 2, 3})}};
  EXPECT_EQ(refusal(check_cbor, cbor(value)), "");
  EXPECT_EQ(json::from_cbor(cbor(value)), value);
}

TEST(BoundedJson, CborThatIsNotOneWholeItemIsRefused) {
  const std::string whole = cbor({{"a", {1, 2, 300}}, {"b", "text"}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(refusal(check_cbor, whole.substr(0, size)), HasSubstr("its end is missing"));
  }
  EXPECT_THAT(refusal(check_cbor, whole + whole), HasSubstr("more than one item"));
  // Lengths that no message can have; the library would recurse once for each 0x7f.
  EXPECT_THAT(refusal(check_cbor, "\x9b\xff\xff\xff\xff\xff\xff\xff\xff"),
              HasSubstr("its end is missing"));
  EXPECT_THAT(refusal(check_cbor, repeated("\x7f", 80'000)), HasSubstr("indefinite"));
  EXPECT_THAT(refusal(check_cbor, "\xc0\x01"), HasSubstr("a tag"));
}

}  // namespace
}  // namespace assay
