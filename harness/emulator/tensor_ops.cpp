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

FragmentProduct product_of(const Op& op) {
  return {
      {op.from_type, static_cast<PtxType>(op.mode & 255), op.type, op.modifiers.saturate_finite},
      static_cast<int>(op.mode >> 8),
      static_cast<int>(op.bytes)};
}

/// Of mma and wgmma: sets op.type, from_type, mode and bytes to what product_of() needs.
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
  op.mode = static_cast<std::uint32_t>(form.types[2]) | k << 8;
  const FragmentProduct product = product_of(op);
  if (!is_known(product.types) || product.k <= 0 || product.columns < 8 || product.columns > 256 ||
      product.columns % 8 != 0) {
    throw UnknownForm();
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
  for (std::size_t i = 0; i < num_d; ++i) words_out(warp, op.list[i]) = d[i];
}

void decode_mma(Form& form) {
  Op& op = form.op;
  op.control = Control::meet;
  form.allow(
      {"sync", "aligned", "row", "col", "satfinite", "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  if (form.types.size() != 4 || form.types[0] != form.types[3]) throw UnknownForm();
  decode_product(form);
  const FragmentProduct product = product_of(op);
  const std::size_t num_a = product.k * bytes_of(product.types.a) / 8;
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
// op.c: the predicate scale-d, or none, and then bit 0 of op.mask is scale-d; bits 1 to 4 of
// op.mask: a and b are negated, a and b are transposed.

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
  FragmentProduct product = product_of(op);
  product.accumulates = work.accumulates;
  product.negates_a = (op.mask & 2) != 0;
  product.negates_b = (op.mask & 4) != 0;
  const int bytes = bytes_of(product.types.a);
  std::vector<const WarpWords*> fragments;
  std::vector<WarpWords*> sums;
  for (std::size_t i = 0; i < 4; ++i) {
    for (const std::int32_t slot : op.more) fragments.push_back(&words(warps[i], slot));
    for (const std::int32_t slot : op.list) sums.push_back(&words_out(warps[i], slot));
  }
  const std::vector<std::uint32_t> a =
      !fragments.empty()
          ? a_elements(bytes, 4, fragments)
          : read_shared(warps[0], {take_apart_descriptor(work.a), 64, bytes, (op.mask & 8) != 0});
  const std::vector<std::uint32_t> b = read_shared(
      warps[0], {take_apart_descriptor(work.b), product.columns, bytes, (op.mask & 16) != 0});
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
  work.op = &op;
  work.a = a;
  work.b = b;
  work.accumulates = accumulates;
  work.begun |= 1u << warp.index % 4;
  work.order.join(warp.order);
  ++warp.num_products;
  warp.progress();
  const auto use_register = [&](std::int32_t slot, std::string_view what) -> RegisterUse& {
    RegisterUse& use = warp.wgmma_registers[slot];
    if (use.touched == warp.fences) {
      warp.report(FindingKind::race,
                  fmt::format("{} was written, and no wgmma.fence came between", what));
    }
    return use;
  };
  for (const std::int32_t slot : op.list) {
    use_register(slot, "an accumulator").written_by = warp.num_products;
  }
  for (const std::int32_t slot : op.more) {
    use_register(slot, "a register of A").read_by = warp.num_products;
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

/// From one register to another.
bool is_copy(const Op& op) {
  return op.reads.size() == 1 && op.writes.size() == 1 && op.source != nullptr &&
         op.source->opcode.starts_with("mov.");
}

void decode_wgmma(Form& form) {
  Op& op = form.op;
  op.control = Control::meet;
  if (form.types.size() != 3 || form.has("sp")) throw UnknownForm();
  decode_product(form);
  const FragmentProduct product = product_of(op);
  if (product.k * bytes_of(product.types.a) != 32) throw UnknownForm();
  op.list = form.out_each(0, PtxType::b32);
  if (op.list.size() != op.bytes / (op.type == PtxType::f16 ? 4 : 2)) throw UnknownForm();
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
  if (numbers[0] != 1) op.mask |= 2;
  if (numbers[1] != 1) op.mask |= 4;
  if (numbers[2] != 0) op.mask |= 8;
  if (numbers[3] != 0) op.mask |= 16;
  op.run = multiply_async;
}

}  // namespace

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
    const auto found = warp.wgmma_registers.find(slot);
    if (found == warp.wgmma_registers.end()) {
      if (writes) warp.wgmma_registers[slot].touched = touched;
      return;
    }
    RegisterUse& use = found->second;
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

void mark_wgmma_registers(std::vector<Op>& ops) {
  std::set<std::int32_t> marked;
  for (const Op& op : ops) {
    if (op.run != multiply_async) continue;
    marked.insert(op.list.begin(), op.list.end());
    marked.insert(op.more.begin(), op.more.end());
  }
  if (marked.empty()) return;
  const auto is_one = [&](std::int32_t slot) { return marked.contains(slot); };
  // What is copied into such a register is one, too.
  for (std::size_t before = 0; before != marked.size();) {
    before = marked.size();
    for (const Op& op : ops) {
      if (is_copy(op) && is_one(op.writes[0])) marked.insert(op.reads[0]);
    }
  }
  for (Op& op : ops) {
    op.touches_wgmma =
        std::ranges::any_of(op.reads, is_one) || std::ranges::any_of(op.writes, is_one);
  }
}

std::vector<Rule> tensor_rules() {
  return {{"mma *", "", decode_mma},
          {"movmatrix sync aligned m8n8 trans", "uu&", transpose},
          {"ldmatrix|stmatrix *", "", decode_matrices},
          {"wgmma fence", "&", fence},
          {"wgmma commit_group", "&", commit},
          {"wgmma wait_group", "#", wait},
          {"wgmma mma_async *", "", decode_wgmma}};
}

}  // namespace assay::emulator
