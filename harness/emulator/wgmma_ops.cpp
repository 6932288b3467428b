#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "emulator/addressing.h"
#include "emulator/lane_loops.h"
#include "emulator/tensor_wgmma.h"

// wgmma. A product reads shared memory and writes its registers at once when all four warps have
// begun it, or only when a warp waits for it, so that what is not waited for is old.

namespace assay::emulator {
namespace {

// wgmma.mma_async: op.list is d; op.more: a's registers, or none; op.a: a's descriptor; op.b: b's;
// op.c: the predicate scale-d, or none, and then bit 0 of op.mask is scale-d; bits 1 to 4 of
// op.mask: a and b are negated, a and b are transposed. op.mode: types, op.bytes: columns.

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
  const Op* const before = std::exchange(warps[0].op, &op);
  const Actor actor{products_of(any), static_cast<std::uint32_t>(warpgroup_of(any).num_done), true,
                    std::make_shared<const Order>(work.order)};
  warps[0].actor = &actor;
  WarpgroupProduct product;
  product.types = {static_cast<Factor>(op.mode & 15), static_cast<Factor>(op.mode >> 4 & 15),
                   static_cast<SumType>(op.mode >> 8 & 15), op.is_saturated};
  product.columns = static_cast<int>(op.bytes);
  product.accumulate = work.accumulates;
  product.negate_a = (op.mask & 2) != 0;
  product.negate_b = (op.mask & 4) != 0;
  std::vector<std::uint32_t> a;
  if (op.more.empty()) {
    a = read_shared(warps[0], {take_apart_descriptor(work.a), 64, factor_bytes(product.types.a),
                               (op.mask & 8) != 0});
  } else {
    std::vector<const WarpWords*> registers;
    for (std::size_t i = 0; i < 4; ++i) {
      for (const std::int32_t slot : op.more) {
        registers.push_back(reinterpret_cast<const WarpWords*>(warps[i].in(slot)));
      }
    }
    a = register_elements(factor_bytes(product.types.a), registers);
  }
  const std::vector<std::uint32_t> b =
      read_shared(warps[0], {take_apart_descriptor(work.b), product.columns,
                             factor_bytes(product.types.b), (op.mask & 16) != 0});
  std::vector<WarpWords*> d;
  for (std::size_t i = 0; i < 4; ++i) {
    for (const std::int32_t slot : op.list) {
      d.push_back(reinterpret_cast<WarpWords*>(warps[i].at(slot)));
    }
  }
  warpgroup_multiply(product, a.data(), b.data(), d);
  warps[0].op = before;
  warps[0].actor = nullptr;
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
    warp.report(FindingKind::misuse, "not all threads of a warpgroup take part");
    throw StopLaunch();
  }
  Warpgroup& group = warpgroup_of(warp);
  const std::uint64_t index = warp.num_products - group.num_done;
  if (index >= group.work.size()) group.work.emplace_back();
  WarpgroupWork& work = group.work[index];
  const std::uint64_t a = op.more.empty() ? lanes_in<std::uint64_t>(warp, op.a)[0] : 0;
  const std::uint64_t b = lanes_in<std::uint64_t>(warp, op.b)[0];
  const bool accumulates =
      op.c == kNoSlot ? (op.mask & 1) != 0 : (warp.predicate(op.c, op.is_negated) & 1) != 0;
  if (work.begun != 0 && (work.op != &op || work.a != a || work.b != b)) {
    warp.report(FindingKind::misuse, "warps of a warpgroup multiply different matrices");
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
  for (const std::int32_t slot : op.list) {
    RegisterUse& use = warp.wgmma_registers[slot];
    if (use.touched == warp.fences) {
      warp.report(FindingKind::race, "an accumulator was written, and no wgmma.fence came between");
    }
    use.written_by = warp.num_products;
  }
  for (const std::int32_t slot : op.more) {
    RegisterUse& use = warp.wgmma_registers[slot];
    if (use.touched == warp.fences) {
      warp.report(FindingKind::race,
                  "a register of A was written, and no wgmma.fence came between");
    }
    use.read_by = warp.num_products;
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
  order_work(warp, products_of(warp), static_cast<std::uint32_t>(count));
  groups.erase(groups.begin(), groups.end() - static_cast<std::ptrdiff_t>(op.mode));
  return true;
}

/// From one register to another.
bool is_copy(const Op& op) {
  return op.reads.size() == 1 && op.writes.size() == 1 && op.source != nullptr &&
         op.source->opcode.starts_with("mov.");
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

void decode_wgmma(Form& form) {
  Op& op = form.op;
  op.control = Control::meet;
  if (form.has("fence")) {
    op.run = fence;
    return;
  }
  if (form.has("commit_group")) {
    op.run = commit;
    return;
  }
  if (form.has("wait_group")) {
    op.mode = form.number(0);
    op.control = Control::wait;
    op.wait = wait;
    return;
  }
  if (!form.has("mma_async") || form.types.size() != 3) throw UnknownForm();
  std::vector<std::string_view> types;
  int columns = 0, k = 0;
  for (const std::string_view part : form.parts) {
    if (ptx_type(part) != PtxType::none) types.push_back(part);
    if (part.starts_with("m64n")) {
      const std::size_t at = part.find('k');
      if (at == std::string_view::npos) throw UnknownForm();
      columns = std::atoi(std::string(part.substr(4, at - 4)).c_str());
      k = std::atoi(std::string(part.substr(at + 1)).c_str());
    }
  }
  if (form.has("sp")) throw UnknownForm();
  const auto sum = parse_sum_type(types[0]);
  const auto a = parse_factor(types[1]), b = parse_factor(types[2]);
  if (!sum || !a || !b || columns < 8 || columns > 256 || columns % 8 != 0 ||
      k * factor_bytes(*a) != 32) {
    throw UnknownForm();
  }
  op.mode = static_cast<std::uint32_t>(*a) | static_cast<std::uint32_t>(*b) << 4 |
            static_cast<std::uint32_t>(*sum) << 8;
  op.bytes = static_cast<std::uint32_t>(columns);
  op.is_saturated = form.has("satfinite");
  for (const PtxOperand& part : form.operand(0).parts) {
    op.list.push_back(form.out(part, PtxType::b32));
    if (op.list.back() == kNoSlot) throw UnknownForm();
  }
  if (op.list.size() != static_cast<std::size_t>(columns) / (*sum == SumType::f16 ? 4 : 2)) {
    throw UnknownForm();
  }
  if (form.operand(1).kind == PtxOperand::Kind::list) {
    for (const PtxOperand& part : form.operand(1).parts) {
      op.more.push_back(form.in(part, PtxType::b32));
    }
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
    op.is_negated = scale.is_negated;
  }
  // Signs of a and b, then which are transposed; a in registers never is.
  std::uint64_t numbers[4] = {1, 1, 0, 0};
  for (std::size_t i = 4; i < form.num_operands() && i < 8; ++i) {
    if (form.operand(i).kind != PtxOperand::Kind::integer) throw UnknownForm();
    const std::size_t to = i == 6 && !op.more.empty() ? 3 : i - 4;
    numbers[to] = static_cast<std::uint64_t>(form.operand(i).value);
  }
  if (numbers[0] != 1) op.mask |= 2;
  if (numbers[1] != 1) op.mask |= 4;
  if (numbers[2] != 0) op.mask |= 8;
  if (numbers[3] != 0) op.mask |= 16;
  op.run = multiply_async;
}

}  // namespace assay::emulator
