#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "emulator/ops.h"
#include "emulator/tensor_product.h"

// ldmatrix, stmatrix, movmatrix and mma.sync: a warp's lanes together. A product of wgmma reads
// shared memory and writes its registers at once when all four warps have begun it, or only when a
// warp waits for it, so that what is not waited for is old.

namespace assay::emulator {
namespace {

const WarpWords& words(const Warp& warp, std::int32_t slot) {
  return *reinterpret_cast<const WarpWords*>(warp.in(slot));
}
WarpWords& words_out(Warp& warp, std::int32_t slot) {
  return *reinterpret_cast<WarpWords*>(warp.at(slot));
}

bool check_whole(Warp& warp, std::uint32_t lanes) {
  if (lanes == ~0u) return true;
  warp.misuse(0, "not all lanes of the warp take part");
  return false;
}

void load_matrices(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (!check_whole(warp, lanes)) return;
  std::array<Matrix8, 4> matrices{};
  for (const int row : Lanes(~0u >> (32 - op.list.size() * 8))) {
    const std::byte* const from = resolve(warp, op.at, row, 16, Access::read);
    if (from != nullptr) std::memcpy(&matrices[row / 8][row % 8], from, 16);
  }
  for (std::size_t i = 0; i < op.list.size(); ++i) {
    words_out(warp, op.list[i]) = load_matrix(matrices[i], op.mode != 0);
  }
}

void store_matrices(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (!check_whole(warp, lanes)) return;
  warp.progress();
  for (int i = 0; i < static_cast<int>(op.list.size()); ++i) {
    const Matrix8 rows = store_matrix(words(warp, op.list[i]), op.mode != 0);
    for (int row = 0; row < 8; ++row) {
      std::byte* const to = resolve(warp, op.at, i * 8 + row, 16, Access::write);
      if (to != nullptr) std::memcpy(to, &rows[row], 16);
    }
  }
}

void transpose(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (check_whole(warp, lanes)) {
    words_out(warp, op.out) = load_matrix(store_matrix(words(warp, op.a), false), true);
  }
}

struct ProductShape {
  int m = 0, n = 0, k = 0;
};
ProductShape shape_of(const Form& form) {
  for (const std::string_view part : form.parts) {
    ProductShape shape;
    const std::string text(part);
    if (std::sscanf(text.c_str(), "m%dn%dk%d", &shape.m, &shape.n, &shape.k) == 3) return shape;
  }
  throw UnknownForm();
}

/// Of mma, wmma and wgmma: sets op.product.
void set_product(Form& form, const ProductTypes& types, int columns, int k) {
  form.op.product = {types, k, columns};
  form.op.product.types.saturate = form.op.modifiers.saturate_finite;
  if (!is_known(types) || k <= 0 || columns < 8 || columns > 256 || columns % 8 != 0) {
    throw UnknownForm();
  }
}

// mma and wmma.mma: op.list is d, op.more is a, b (perhaps more of both) and c.
void multiply_matrices(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (!check_whole(warp, lanes)) return;
  std::vector<WarpWords> in;
  for (const std::int32_t slot : op.more) in.push_back(words(warp, slot));
  const FragmentProduct& product = op.product;
  const std::size_t num_d = op.list.size(), num_b = product.b().registers * product.columns / 8;
  const std::size_t num_a = num_d / product.d().registers * product.a().registers;
  const std::span<WarpWords> all(in), d = all.last(num_d);
  for (std::size_t at = 0; at + num_d < in.size(); at += num_a + num_b) {
    warp_multiply(product, all.subspan(at, num_a), all.subspan(at + num_a, num_b), d);
  }
  for (std::size_t i = 0; i < num_d; ++i) words_out(warp, op.list[i]) = d[i];
}

// The matrices of wmma are fragments of mma, of M x N; where M is 8, of the transposed matrices.

/// Of A, B or the sums ('c') of mma or wmma.
FragmentLayout layout_of(const ProductShape& shape, char which, PtxType type) {
  const auto [m, n, k] = shape;
  const bool is_sum = which == 'c', is_first = (which == 'a') == (m != 8);
  const PtxType f16 = PtxType::f16;
  if ((m * n != 256 && (m != 16 || n != 8)) || m % 8 != 0 || n % 8 != 0 ||
      !is_known(is_sum ? ProductTypes{f16, f16, type} : ProductTypes{type, type})) {
    throw UnknownForm();
  }
  const FragmentProduct product{{type, type, type}, k, std::min(m, n)};
  FragmentLayout layout = is_sum ? product.d() : is_first ? product.a() : product.b();
  layout.registers *= is_sum || is_first ? std::max(m, n) / 16 : std::min(m, n) / 8;
  return layout.registers > 0 ? layout : throw UnknownForm();
}

void decode_mma(Form& form) {
  Op& op = form.op;
  op.control = Control::meet;
  const ProductShape shape = shape_of(form);
  const std::vector<PtxType>& types = form.types;
  const bool has_factors = types.size() == 4;  // else the types are those of d and c
  if ((!has_factors && types.size() != 2) || types.front() != types.back() ||
      form.num_operands() != 4) {
    throw UnknownForm();
  }
  const PtxType a = has_factors ? types[1] : PtxType::f16, b = has_factors ? types[2] : a;
  set_product(form, {a, b, types[0]}, std::min(shape.m, shape.n), shape.k);
  const auto take = [&](std::size_t i, char which, PtxType type) {
    const int count = layout_of(shape, which, type).registers;
    const std::vector<std::int32_t> slots =
        i == 0 ? form.out_each(i, PtxType::b32) : form.in_each(i, PtxType::f32);
    // Of f16, wmma has more registers, which repeat the first.
    if (slots.empty() || slots.size() % count != 0) throw UnknownForm();
    std::vector<std::int32_t>& to = i == 0 ? op.list : op.more;
    to.insert(to.end(), slots.begin(), slots.begin() + count);
  };
  take(0, 'c', types[0]);
  if (shape.m == 8) take(2, 'b', b);
  take(1, 'a', a);
  if (shape.m != 8) take(2, 'b', b);
  take(3, 'c', types[0]);
  if (a == PtxType::tf32 && shape.n == 16) {  // an H200 multiplies the halves one after the other
    op.product.k = 4;
    constexpr int kOfHalves[] = {0, 1, 4, 6, 2, 3, 5, 7};
    const std::vector<std::int32_t> whole = op.more;
    for (std::size_t i = 0; i < std::size(kOfHalves); ++i) op.more[i] = whole[kOfHalves[i]];
  }
  op.run = multiply_matrices;
}

/// wmma.load and wmma.store: op.list are the registers, op.a how many elements lie between rows;
/// op.is_wide: neighbours in a register are neighbours in memory.
template <Access kAccess>
void move_matrix(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (!check_whole(warp, lanes)) return;
  constexpr bool kLoads = kAccess == Access::read;
  if (!kLoads) warp.progress();
  const int element_bytes = op.layout.element_bytes, bytes = op.is_wide ? 4 : element_bytes;
  for (int i = 0; i < static_cast<int>(op.list.size()); ++i) {
    for (int lane = 0; lane < 32; ++lane) {
      const auto [outer, inner] = op.layout.place(i % op.layout.registers, lane);
      const std::uint64_t pitch = warp.in(op.a)[lane];
      const std::uint64_t first = op.is_wide ? outer * pitch + inner : inner * pitch + outer;
      std::uint64_t address = address_of(warp, op.at, lane) + first * element_bytes;
      auto* word = reinterpret_cast<std::byte*>(&words_out(warp, op.list[i])[lane]);
      for (int done = 0; done < 4; done += bytes, word += bytes) {
        std::byte* const place = resolve(warp, op.at.window, lane, address, bytes, kAccess, bytes,
                                         kLoads ? nullptr : word);
        address += pitch * element_bytes;
        if (place == nullptr) continue;
        std::memcpy(kLoads ? word : place, kLoads ? place : word, bytes);
      }
    }
  }
}

void decode_wmma_move(Form& form) {
  Op& op = form.op;
  op.control = Control::meet;
  const bool is_load = form.has("load");
  const char which = form.has("a") ? 'a' : form.has("b") ? 'b' : 'c';
  const ProductShape shape = shape_of(form);
  op.layout = layout_of(shape, which, form.type());
  op.is_wide = form.has("row") == (which == 'c' ? shape.m != 8 : which == 'a');
  op.list = is_load ? form.out_each(0, PtxType::b32) : form.in_each(1, PtxType::f32);
  op.at = form.address(form.operand(is_load ? 1 : 0));
  op.a = form.in(2, PtxType::u32);
  op.run = is_load ? move_matrix<Access::read> : move_matrix<Access::write>;
}

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

// wgmma.mma_async: op.list is d; op.more: a's registers, or none; op.a: a's descriptor; op.b: b's;
// op.c: the predicate scale-d, or none, and then bit 0 of op.mask is scale-d; bits 1 and 2 of
// op.mask: a and b are transposed.

Warpgroup& warpgroup_of(const Warp& warp) { return warp.block->warpgroups[warp.index / 4]; }

std::vector<std::uint32_t> read_shared(Warp& warp, const SharedOperand& operand) {
  const std::vector<std::uint32_t> addresses = operand_chunks(operand);
  std::vector<std::byte> bytes(addresses.size() * 16);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::byte* const from =
        resolve(warp, Window::shared, 0, addresses[i], 16, Access::read, 16);
    if (from != nullptr) std::memcpy(bytes.data() + i * 16, from, 16);
  }
  return operand_elements(operand, bytes);
}

void carry_out(Warp& any, const WarpgroupWork& work) {
  const Op& op = *work.op;
  BlockState& block = *any.block;
  Warp* const warps = &block.warps[any.index / 4 * 4];
  const Actor actor{actor_of(any, kProducts),
                    static_cast<std::uint32_t>(warpgroup_of(any).num_done), true,
                    std::make_shared<const Order>(work.order)};
  const AsBegun as(warps[0], &op, actor);
  FragmentProduct product = op.product;
  product.accumulates = work.accumulates;
  const int bytes = bytes_of(product.types.a);
  std::vector<const WarpWords*> fragments;
  std::vector<WarpWords*> sums;
  for (std::size_t i = 0; i < 4; ++i) {
    for (const std::int32_t slot : op.more) fragments.push_back(&words(warps[i], slot));
    for (const std::int32_t slot : op.list) sums.push_back(&words_out(warps[i], slot));
  }
  const std::vector<std::uint32_t> a =
      !fragments.empty()
          ? fragment_elements(product.a(), fragments)
          : read_shared(warps[0], {take_apart_descriptor(work.a), 64, bytes, (op.mask & 2) != 0});
  const std::vector<std::uint32_t> b = read_shared(
      warps[0], {take_apart_descriptor(work.b), product.columns, bytes, (op.mask & 4) != 0});
  multiply_fragments(product, a.data(), b.data(), sums);
}

/// Carries out all work that all four warps have begun, up to a number of products.
void carry_out_until(Warp& warp, std::uint64_t count) {
  Warpgroup& group = warpgroup_of(warp);
  while (!group.work.empty() && group.num_done < count && group.work.front().begun == 15) {
    const WarpgroupWork work = group.work.front();
    group.work.erase(group.work.begin());
    ++group.num_done;
    carry_out(warp, work);
    warp.progress();
  }
}

void multiply_async(Warp& warp, const Op& op, std::uint32_t lanes) {
  if (lanes != ~0u || warp.index / 4 * 4 + 4 > warp.block->warps.size()) {
    warp.misuse(0, "not all threads of a warpgroup take part");
    throw StopLaunch();
  }
  Warpgroup& group = warpgroup_of(warp);
  const std::uint64_t index = warp.num_products - group.num_done;
  if (index >= group.work.size()) group.work.emplace_back();
  WarpgroupWork& work = group.work[index];
  const std::uint64_t a = op.more.empty() ? lanes_in<std::uint64_t>(warp, op.a)[0] : 0;
  const std::uint64_t b = lanes_in<std::uint64_t>(warp, op.b)[0];
  const bool accumulates = op.c == kNoSlot ? (op.mask & 1) != 0 : (warp.predicate(op.c) & 1) != 0;
  if (work.begun != 0 && (work.op != &op || work.a != a || work.b != b)) {
    warp.misuse(0, "warps of a warpgroup multiply different matrices");
    throw StopLaunch();
  }
  work = {&op, work.begun | 1u << warp.index % 4, a, b, accumulates, std::move(work.order)};
  work.order.join(warp.order);
  ++warp.num_products;
  warp.progress();
  for (const bool writes : {true, false}) {
    for (const std::int32_t slot : writes ? op.list : op.more) {
      RegisterUse& use = warp.wgmma_registers[slot];
      (writes ? use.written_by : use.read_by) = warp.num_products;
      if (use.touched != warp.fences) continue;
      warp.report(FindingKind::race, fmt::format("{} was written, and no wgmma.fence came between",
                                                 writes ? "an accumulator" : "a register of A"));
    }
  }
  if (below(warp.block->cluster->random, 2) == 0) carry_out_until(warp, warp.num_products);
}

void fence(Warp& warp, const Op&, std::uint32_t) { ++warp.fences; }

void commit(Warp& warp, const Op&, std::uint32_t) {
  warp.product_groups.push_back(warp.num_products);
}

/// Waits for all but the last op.mode groups.
bool wait(Warp& warp, Fragment& fragment, const Op& op, std::uint32_t lanes) {
  std::vector<std::uint64_t>& groups = warp.product_groups;
  if (groups.size() <= op.mode) return true;
  const std::uint64_t count = groups[groups.size() - 1 - op.mode];
  carry_out_until(warp, count);
  if (warpgroup_of(warp).num_done < count) {
    fragment.waiting = {Waiting::For::warpgroup, lanes};
    return false;
  }
  warp.num_waited = std::max(warp.num_waited, count);
  order_work(warp, actor_of(warp, kProducts), static_cast<std::uint32_t>(count));
  groups.erase(groups.begin(), groups.end() - static_cast<std::ptrdiff_t>(op.mode));
  return true;
}

void decode_wgmma(Form& form) {
  Op& op = form.op;
  op.control = Control::meet;
  if (form.types.size() != 3 || form.has("sp")) throw UnknownForm();
  const auto [m, n, k] = shape_of(form);
  set_product(form, {form.types[1], form.types[2], form.types[0]}, n, k);
  if (m != 64 || k * bytes_of(form.types[1]) != 32) throw UnknownForm();
  op.list = form.out_each(0, PtxType::b32);
  if (op.list.size() != static_cast<std::size_t>(op.product.d().registers)) throw UnknownForm();
  if (form.operand(1).kind == PtxOperand::Kind::list) {
    op.more = form.in_each(1, PtxType::b32);
    if (op.more.size() != 4) throw UnknownForm();
  } else {
    op.a = form.in(1, PtxType::b64);
  }
  op.b = form.in(2, PtxType::b64);
  const PtxOperand& scale = form.operand(3);
  if (scale.kind == PtxOperand::Kind::integer) {
    op.mask = scale.value != 0 ? 1 : 0;
  } else {
    op.c = form.in(scale, PtxType::pred);
  }
  // Signs of a and b, then which are transposed; a in registers never is.
  std::uint64_t numbers[4] = {1, 1, 0, 0};
  for (std::size_t i = 4; i < form.num_operands() && i < 8; ++i) {
    if (form.operand(i).kind != PtxOperand::Kind::integer) throw UnknownForm();
    const std::size_t to = i == 6 && !op.more.empty() ? 3 : i - 4;
    numbers[to] = form.operand(i).value;
  }
  op.product.negates_a = numbers[0] != 1;
  op.product.negates_b = numbers[1] != 1;
  if (numbers[2] != 0) op.mask |= 2;
  if (numbers[3] != 0) op.mask |= 4;
  op.run = multiply_async;
}

}  // namespace

bool is_copy(const Op& op) {
  return op.reads.size() == 1 && op.writes.size() == 1 && op.source != nullptr &&
         op.source->opcode.starts_with("mov.");
}

void check_wgmma_registers(Warp& warp, const Op& op) {
  if (op.run == multiply_async) return;
  // A compiler renames accumulators by copies, also behind the fence that their author wrote. ptxas
  // gives both names one register. So a copy is as old as what it copies.
  std::uint64_t touched = warp.fences;
  if (is_copy(op)) {
    const auto copied = warp.wgmma_registers.find(op.reads[0]);
    if (copied != warp.wgmma_registers.end()) touched = copied->second.touched;
  }
  const auto check = [&](std::int32_t slot, bool writes) {
    if (!writes && !warp.wgmma_registers.contains(slot)) return;
    RegisterUse& use = warp.wgmma_registers[slot];
    const std::uint64_t last = std::max(use.written_by, writes ? use.read_by : 0);
    if (last > warp.num_waited) {
      warp.report(FindingKind::race,
                  fmt::format("{} a register of a wgmma.mma_async that is not waited for",
                              writes ? "writes" : "reads"));
    }
    if (writes) use.touched = touched;
  };
  for (const std::int32_t slot : op.reads) check(slot, false);
  for (const std::int32_t slot : op.writes) check(slot, true);
}

void add_copied(const std::vector<Op>& ops, std::set<std::int32_t>& slots) {
  for (std::size_t before = 0; before != slots.size();) {
    before = slots.size();
    for (const Op& op : ops) {
      if (is_copy(op) && slots.contains(op.writes[0])) slots.insert(op.reads[0]);
    }
  }
}

bool touches(const std::vector<std::int32_t>& of_op, const std::set<std::int32_t>& slots) {
  return std::ranges::any_of(of_op, [&](std::int32_t slot) { return slots.contains(slot); });
}

void mark_wgmma_registers(std::vector<Op>& ops) {
  std::set<std::int32_t> marked;
  for (const Op& op : ops) {
    if (op.run != multiply_async) continue;
    marked.insert(op.list.begin(), op.list.end());
    marked.insert(op.more.begin(), op.more.end());
  }
  add_copied(ops, marked);
  for (Op& op : ops) op.touches_wgmma = touches(op.reads, marked) || touches(op.writes, marked);
}

std::vector<Rule> tensor_rules() {
  return {{"mma|wmma mma *", "", decode_mma},
          {"wmma load|store *", "", decode_wmma_move},
          {"movmatrix sync aligned m8n8 trans", "uu&", transpose},
          {"ldmatrix|stmatrix *", "", decode_matrices},
          {"wgmma fence", "&", fence},
          {"wgmma commit_group", "&", commit},
          {"wgmma wait_group", "#", wait},
          {"wgmma mma_async *", "", decode_wgmma}};
}

}  // namespace assay::emulator
