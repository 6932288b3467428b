#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "emulator/tensor_product.h"
#include "h200/inputs.h"
#include "run_ptx.h"

// Products of the tensor cores against checksums of what an H200 made (h200/probe.cu): mma.sync,
// wmma and wgmma of all types, with descriptors of any start and strides.

namespace assay::emulator {
namespace {

struct ElementBits {
  int exponent, fraction;
};

ElementBits bits_of_elements(PtxType factor) {
  switch (factor) {
    case PtxType::f16:
      return {5, 10};
    case PtxType::bf16:
      return {8, 7};
    case PtxType::tf32:
      return {8, 23};  // all of the register, of which 13 bits are ignored
    case PtxType::e4m3:
      return {4, 3};
    case PtxType::e5m2:
      return {5, 2};
    default:
      return {0, 7};
  }
}

ElementBits bits_of_sums(PtxType sum) {
  if (sum == PtxType::s32) return {0, 31};
  return sum == PtxType::f16 ? ElementBits{5, 10} : ElementBits{8, 23};
}

std::uint32_t drawn(int index, const h200::ProductDraw& draw, h200::Part part, ElementBits bits) {
  return h200::product_word(index, draw, part, bits.exponent, bits.fraction);
}

/// The words behind the dots of an instruction's name.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  std::istringstream text(name);
  for (std::string word; std::getline(text, word, '.');) words.push_back(word);
  return words;
}

ProductTypes types_of(const std::string& sum, const std::string& a, const std::string& b) {
  return {ptx_type(a), ptx_type(b), ptx_type(sum)};
}

/// "m16n8k16.row.col.f32.bf16.bf16.f32", after which there may be a word "satfinite".
std::uint32_t checksum_of_mma(const std::string& name, int run) {
  std::vector<std::string> words = words_of(name);
  const bool saturate = words[3] == "satfinite";
  if (saturate) words.erase(words.begin() + 3);
  ProductTypes types = types_of(words[3], words[4], words[5]);
  types.saturate = saturate;
  const int k = std::stoi(words[0].substr(words[0].find('k') + 1));
  const h200::ProductDraw draw = h200::mma_draw(run);
  const ElementBits bits = bits_of_elements(types.a);
  const auto registers = [&](std::size_t count, h200::Part part, ElementBits element) {
    std::vector<WarpWords> result(count);
    for (std::size_t i = 0; i < count * 32; ++i) {
      result[i / 32][i % 32] = drawn(static_cast<int>(i), draw, part, element);
    }
    return result;
  };
  const auto count = static_cast<std::size_t>(k * bytes_of(types.a)) / 8;
  std::vector<WarpWords> sums =
      registers(types.sum == PtxType::f16 ? 2 : 4, h200::kSums, bits_of_sums(types.sum));
  warp_multiply({types, k}, registers(count, h200::kFirst, bits),
                registers(count / 2, h200::kSecond, bits), sums);
  return h200::checksum(sums[0].data(), sums.size() * 32);
}

/// "m64n8k16.f32.bf16.bf16" and what is special in it: "ta,tb" (transposed), "ra" (A in registers),
/// "na", "nb" (negated).
std::uint32_t checksum_of_wgmma(const std::string& name, const std::string& variant, int section,
                                int form, int run) {
  const std::vector<std::string> words = words_of(name);
  const auto has = [&](const char* word) { return variant.find(word) != std::string::npos; };
  FragmentProduct product;
  product.types = types_of(words[1], words[2], words[3]);
  product.types.saturate = words.size() > 4;
  product.columns = std::stoi(words[0].substr(4));
  product.k = 32 / bytes_of(product.types.a);
  product.negates_a = has("na");
  product.negates_b = has("nb");
  const h200::WgmmaRequest request = h200::wgmma_request(section, form, run, has("ta"), has("tb"));
  product.accumulates = request.accumulate;
  const ElementBits bits = bits_of_elements(product.types.a);
  const int bytes = bytes_of(product.types.a);
  const auto in_memory = [&](std::uint64_t descriptor, int outer, bool transposed) {
    const SharedOperand operand{take_apart_descriptor(descriptor), outer, bytes, transposed};
    std::vector<std::uint32_t> chunks;
    for (const std::uint32_t address : operand_chunks(operand)) {
      for (int i = 0; i < 4; ++i) {
        chunks.push_back(
            drawn(static_cast<int>(address) / 4 + i, request.draw, h200::kFirst, bits));
      }
    }
    return operand_elements(operand, std::as_bytes(std::span(chunks)));
  };
  const auto registers = [&](int count, h200::Part part, ElementBits element) {
    std::vector<WarpWords> result(static_cast<std::size_t>(count) * 4);
    for (int i = 0; i < count * 128; ++i) {  // register by register, thread by thread
      const int warp = i % 128 / 32;
      result[warp * count + i / 128][i % 32] = drawn(i, request.draw, part, element);
    }
    return result;
  };
  std::vector<std::uint32_t> a;
  if (has("ra")) {
    const std::vector<WarpWords> fragments = registers(4, h200::kSecond, bits);
    std::vector<const WarpWords*> pointers;
    for (const WarpWords& fragment : fragments) pointers.push_back(&fragment);
    a = fragment_elements(product.a(), pointers);
  } else {
    a = in_memory(request.a, 64, has("ta"));
  }
  const std::vector<std::uint32_t> b = in_memory(request.b, product.columns, has("tb"));
  const int count = product.columns / (product.types.sum == PtxType::f16 ? 4 : 2);
  std::vector<WarpWords> sums = registers(count, h200::kSums, bits_of_sums(product.types.sum));
  std::vector<WarpWords*> pointers;
  for (WarpWords& words_of_sums : sums) pointers.push_back(&words_of_sums);
  multiply_fragments(product, a.data(), b.data(), pointers);
  std::vector<std::uint32_t> ordered;
  for (int i = 0; i < count * 128; ++i) {
    ordered.push_back(sums[i % 128 / 32 * count + i / 128][i % 32]);
  }
  return h200::checksum(ordered.data(), ordered.size());
}

/// Those of a run of wmma: of the sums in memory, and of the registers.
std::pair<std::uint32_t, std::uint32_t> checksums_of_wmma(const h200::WmmaForm& form, int run) {
  std::vector<std::uint32_t> in(3 * h200::kWmmaWords);
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = h200::wmma_word(form, static_cast<int>(i), h200::mma_draw(run * 3));
  }
  PtxRun warp;
  warp.add(in);
  warp.add(std::vector<std::uint32_t>(h200::kWmmaWords + 1024));
  warp.shape.block = {32, 1, 1};
  warp.run(h200::wmma_ptx(form));
  EXPECT_EQ(warp.findings(), "");
  const auto out = warp.get<std::uint32_t>(1);
  return {h200::checksum(out.data(), h200::kWmmaWords),
          h200::checksum(out.data() + h200::kWmmaWords, 1024)};
}

TEST(H200, MultipliesByWmmaToTheBit) {
  std::ifstream text(ASSAY_SOURCE_DIR "/harness/tests/emulator/h200/products.txt");
  int num_products = 0;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("wmma ")) continue;
    const h200::WmmaForm form(line.c_str() + 5);
    std::istringstream fields(line);
    std::string word;
    for (int i = 0; i < 7; ++i) fields >> word;
    std::pair<std::uint32_t, std::uint32_t> expected;
    fields >> std::hex;
    for (int run = 0; fields >> expected.first >> expected.second; ++run, ++num_products) {
      EXPECT_EQ(checksums_of_wmma(form, run), expected) << line.substr(0, 40) << ", run " << run;
    }
  }
  EXPECT_EQ(num_products, 160);
}

TEST(H200, MultipliesToTheBit) {
  std::ifstream text(ASSAY_SOURCE_DIR "/harness/tests/emulator/h200/products.txt");
  int num_products = 0;
  for (std::string line; std::getline(text, line);) {
    std::istringstream fields(line);
    std::string kind, name, variant;
    int section = 0, form = 0;
    fields >> kind;
    if (kind == "wmma") continue;
    if (kind == "wgmma") fields >> section >> form;
    fields >> name;
    if (kind == "wgmma") fields >> variant;
    fields >> std::hex;
    std::uint32_t expected = 0;
    for (int run = 0; fields >> expected; ++run, ++num_products) {
      const std::uint32_t made = kind == "mma"
                                     ? checksum_of_mma(name, run)
                                     : checksum_of_wgmma(name, variant, section, form, run);
      EXPECT_EQ(made, expected) << line.substr(0, line.find(':')) << ", run " << run;
    }
  }
  EXPECT_GT(num_products, 1000);
}

}  // namespace
}  // namespace assay::emulator
