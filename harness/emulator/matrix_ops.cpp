#include <array>

#include "emulator/addressing.h"
#include "emulator/lane_loops.h"
#include "emulator/tensor_warp.h"

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
  return resolve(warp, op.window, lane, address_of(warp, op, lane), 16, access, 16);
}

void load_matrix(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (!check_whole(warp, lanes)) return;
  std::array<MatrixRow, 32> rows{};
  const std::size_t count = op.list.size();
  for (std::size_t row = 0; row < count * 8; ++row) {
    const std::byte* const from = row_of(warp, op, row, Access::read);
    if (from != nullptr) std::memcpy(rows[row].data(), from, 16);
  }
  std::array<WarpWords, 4> matrices;
  load_matrices(std::span(rows).first(count * 8), op.mode != 0, std::span(matrices).first(count));
  for (std::size_t i = 0; i < count; ++i) put_words(warp, op.list[i], matrices[i]);
}

void store_matrix(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (!check_whole(warp, lanes)) return;
  const std::size_t count = op.list.size();
  std::array<WarpWords, 4> matrices;
  for (std::size_t i = 0; i < count; ++i) matrices[i] = words(warp, op.list[i]);
  std::array<MatrixRow, 32> rows{};
  store_matrices(std::span(matrices).first(count), op.mode != 0, std::span(rows).first(count * 8));
  warp.progress();
  for (std::size_t row = 0; row < count * 8; ++row) {
    std::byte* const to = row_of(warp, op, row, Access::write);
    if (to != nullptr) std::memcpy(to, rows[row].data(), 16);
  }
}

void transpose(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (check_whole(warp, lanes)) put_words(warp, op.out, transpose_matrix(words(warp, op.a)));
}

// mma: op.list is d, op.more is a, b, c one after the other; op.mode: the index of its types.
ProductTypes types_of(const Op& op) {
  return {static_cast<Factor>(op.mode & 15), static_cast<Factor>(op.mode >> 4 & 15),
          static_cast<SumType>(op.mode >> 8 & 15), op.is_saturated};
}

void multiply_matrices(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (!check_whole(warp, lanes)) return;
  const ProductTypes types = types_of(op);
  std::vector<WarpWords> in;
  for (const std::int32_t slot : op.more) in.push_back(words(warp, slot));
  const std::size_t num_d = op.list.size(), num_a = (in.size() - num_d) / 3 * 2;
  std::array<WarpWords, 4> d;
  const std::span<const WarpWords> all(in);
  warp_multiply(types, static_cast<int>(op.bytes), all.first(num_a), all.subspan(num_a, num_a / 2),
                all.last(num_d), std::span(d).first(num_d));
  for (std::size_t i = 0; i < num_d; ++i) put_words(warp, op.list[i], d[i]);
}

void decode_mma(Form& form) {
  Op& op = form.op;
  form.allow(
      {"sync", "aligned", "row", "col", "satfinite", "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  if (form.types.size() != 4 && form.parts.size() < 9) throw UnknownForm();
  std::vector<std::string_view> types;
  int k = 0;
  for (auto part = form.parts.begin() + 1; part != form.parts.end(); ++part) {
    if (ptx_type(*part) != PtxType::none) types.push_back(*part);
    if (part->starts_with("m16n8k")) k = std::stoi(std::string(part->substr(6)));
  }
  if (types.size() != 4 || k == 0 || types[0] != types[3]) throw UnknownForm();
  const auto a = parse_factor(types[1]), b = parse_factor(types[2]);
  const auto sum = parse_sum_type(types[0]);
  if (!a || !b || !sum) throw UnknownForm();
  op.mode = static_cast<std::uint32_t>(*a) | static_cast<std::uint32_t>(*b) << 4 |
            static_cast<std::uint32_t>(*sum) << 8;
  op.is_saturated = form.has("satfinite");
  op.bytes = static_cast<std::uint32_t>(k);
  const std::size_t num_a = static_cast<std::size_t>(k * factor_bytes(*a)) / 8;
  const std::size_t num_d = *sum == SumType::f16 ? 2 : 4;
  const std::size_t expected[] = {num_d, num_a, num_a / 2, num_d};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::span<const PtxOperand> parts = Form::elements(form.operand(i));
    if (parts.size() != expected[i] || parts.empty()) throw UnknownForm();
    for (const PtxOperand& part : parts) {
      if (i == 0) {
        op.list.push_back(form.out(part, PtxType::b32));
      } else {
        op.more.push_back(form.in(part, PtxType::f32));
      }
    }
  }
  op.run = multiply_matrices;
}

}  // namespace

void decode_matrix(Form& form) {
  Op& op = form.op;
  const std::string_view name = form.parts[0];
  op.control = Control::meet;
  if (name == "mma") return decode_mma(form);
  if (name == "movmatrix") {
    form.allow({"sync", "aligned", "m8n8", "trans"});
    op.out = form.out(0, PtxType::b32);
    op.a = form.in(1, PtxType::b32);
    op.run = transpose;
    return;
  }
  form.allow({"sync", "aligned", "m8n8", "trans", "x1", "x2", "x4", "shared", "shared::cta"});
  if (form.type() != PtxType::b16) throw UnknownForm();
  const bool is_load = name == "ldmatrix";
  form.address(form.operand(is_load ? 1 : 0));
  op.window = window_of(form);
  op.mode = form.has("trans") ? 1 : 0;
  for (const PtxOperand& part : Form::elements(form.operand(is_load ? 0 : 1))) {
    op.list.push_back(is_load ? form.out(part, PtxType::b32) : form.in(part, PtxType::b32));
    if (op.list.back() == kNoSlot) throw UnknownForm();
  }
  if (op.list.size() != (form.has("x1") ? 1u : form.has("x2") ? 2u : 4u)) throw UnknownForm();
  op.run = is_load ? load_matrix : store_matrix;
}

}  // namespace assay::emulator
