#include <array>
#include <cstdio>

#include "emulator/addressing.h"
#include "emulator/lane_loops.h"
#include "emulator/tensor_fragments.h"

// ldmatrix, stmatrix, movmatrix and mma.sync: a warp's lanes together.

namespace assay::emulator {
namespace {

WarpWords words(const Warp& warp, std::int32_t slot) {
  WarpWords result;
  std::memcpy(result.data(), warp.in(slot), sizeof result);
  return result;
}
void put_words(Warp& warp, std::int32_t slot, const WarpWords& value) {
  std::memcpy(warp.at(slot), value.data(), sizeof value);
}

bool check_whole(Warp& warp, std::uint32_t lanes) {
  if (lanes == ~0u) return true;
  warp.report(FindingKind::misuse, "not all lanes of the warp take part");
  return false;
}

std::byte* row_of(Warp& warp, const Op& op, std::size_t row, Access access) {
  const int lane = static_cast<int>(row);
  return resolve(warp, op.at.window, lane, address_of(warp, op.at, lane), 16, access, 16);
}

void load_matrices(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (!check_whole(warp, lanes)) return;
  std::array<Matrix8, 4> matrices{};
  for (std::size_t row = 0; row < op.list.size() * 8; ++row) {
    const std::byte* const from = row_of(warp, op, row, Access::read);
    if (from != nullptr) std::memcpy(&matrices[row / 8][row % 8], from, 16);
  }
  for (std::size_t i = 0; i < op.list.size(); ++i) {
    put_words(warp, op.list[i], load_matrix(matrices[i], op.mode != 0));
  }
}

void store_matrices(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (!check_whole(warp, lanes)) return;
  warp.progress();
  for (std::size_t i = 0; i < op.list.size(); ++i) {
    const Matrix8 rows = store_matrix(words(warp, op.list[i]), op.mode != 0);
    for (std::size_t row = 0; row < 8; ++row) {
      std::byte* const to = row_of(warp, op, i * 8 + row, Access::write);
      if (to != nullptr) std::memcpy(to, &rows[row], 16);
    }
  }
}

void transpose(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (check_whole(warp, lanes)) {
    put_words(warp, op.out, load_matrix(store_matrix(words(warp, op.a), false), true));
  }
}

// mma: op.list is d, op.more is a, b, c one after the other.
void multiply_matrices(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (!check_whole(warp, lanes)) return;
  std::vector<WarpWords> in;
  for (const std::int32_t slot : op.more) in.push_back(words(warp, slot));
  const std::size_t num_d = op.list.size(), num_a = (in.size() - num_d) / 3 * 2;
  const std::span<WarpWords> all(in), d = all.last(num_d);
  const FragmentProduct product = product_of(op);
  warp_multiply(product.types, product.k, all.first(num_a), all.subspan(num_a, num_a / 2), d);
  for (std::size_t i = 0; i < num_d; ++i) put_words(warp, op.list[i], d[i]);
}

void decode_mma(Form& form) {
  Op& op = form.op;
  op.control = Control::meet;
  form.allow(
      {"sync", "aligned", "row", "col", "satfinite", "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  if (form.types.size() != 4 || form.types[0] != form.types[3]) throw UnknownForm();
  decode_product(form);
  const FragmentProduct product = product_of(op);
  const auto num_a = static_cast<std::size_t>(product.k * bytes_of(product.types.a)) / 8;
  const std::size_t num_d = product.types.sum == PtxType::f16 ? 2 : 4;
  const std::size_t expected[] = {num_d, num_a, num_a / 2, num_d};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::vector<std::int32_t> slots =
        i == 0 ? form.out_each(i, PtxType::b32) : form.in_each(i, PtxType::f32);
    if (slots.size() != expected[i] || slots.empty()) throw UnknownForm();
    std::vector<std::int32_t>& to = i == 0 ? op.list : op.more;
    to.insert(to.end(), slots.begin(), slots.end());
  }
  op.run = multiply_matrices;
}

}  // namespace

void decode_product(Form& form) {
  Op& op = form.op;
  int k = 0;
  for (const std::string_view part : form.parts) {
    if (!part.starts_with("m16n") && !part.starts_with("m64n")) continue;
    if (std::sscanf(std::string(part).c_str() + 4, "%uk%d", &op.bytes, &k) != 2) {
      throw UnknownForm();
    }
  }
  op.type = form.types[0];
  op.from_type = form.types[1];
  op.mode = static_cast<std::uint32_t>(form.types[2]) | static_cast<std::uint32_t>(k) << 8;
  const FragmentProduct product = product_of(op);
  if (!is_known(product.types) || product.k <= 0 || product.columns < 8 || product.columns > 256 ||
      product.columns % 8 != 0) {
    throw UnknownForm();
  }
}

FragmentProduct product_of(const Op& op) {
  return {
      {op.from_type, static_cast<PtxType>(op.mode & 255), op.type, op.modifiers.saturate_finite},
      static_cast<int>(op.mode >> 8),
      static_cast<int>(op.bytes)};
}

namespace {

void decode_matrices(Form& form) {
  Op& op = form.op;
  op.control = Control::meet;
  form.allow({"sync", "aligned", "m8n8", "trans", "x1", "x2", "x4", "shared", "shared::cta"});
  if (form.type() != PtxType::b16) throw UnknownForm();
  const bool is_load = form.parts[0] == "ldmatrix";
  op.at = form.address(form.operand(is_load ? 1 : 0));
  op.mode = form.has("trans") ? 1 : 0;
  op.list = is_load ? form.out_each(0, PtxType::b32) : form.in_each(1, PtxType::b32);
  if (op.list.size() != (form.has("x1") ? 1u : form.has("x2") ? 2u : 4u)) throw UnknownForm();
  op.run = is_load ? load_matrices : store_matrices;
}

}  // namespace

std::vector<Rule> matrix_rules() {
  return {{"mma *", decode_mma},
          {"movmatrix sync aligned m8n8 trans", "uu&", transpose},
          {"ldmatrix|stmatrix *", decode_matrices}};
}

}  // namespace assay::emulator
