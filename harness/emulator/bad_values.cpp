#include <algorithm>
#include <span>

#include "emulator/warp.h"

// A read that races, or of what nobody wrote, is a finding once something depends on the value: is
// computed of it, or written where lanes are because a branch depends on it.
// Kernels that fetch the instructions of their epilogue ahead of time run it on values that they
// drop, and so do lanes that have no row.

namespace assay::emulator {
namespace {

/// Whether an instruction does something beside writing registers.
bool has_effect(const Op& op) {
  return op.writes.empty() || op.control == Control::wait || op.source->opcode.starts_with("atom");
}

/// Whether what lanes do between a branch and where they meet again shows elsewhere.
bool decides_effect(const std::vector<Op>& ops, const Op& branch) {
  const auto at = static_cast<std::int32_t>(&branch - ops.data());
  // A loop that spins on the value orders what comes behind.
  if (branch.control != Control::branch || branch.join < 0 || branch.target <= at) return true;
  return std::any_of(ops.begin() + at + 1, ops.begin() + std::max(branch.join, at + 1),
                     [](const Op& op) { return op.control != Control::branch && has_effect(op); });
}

/// Lanes that get something of the given lanes, by an instruction with which lanes exchange values.
std::uint32_t received(const Warp& warp, const Op& op, std::uint32_t from, std::uint32_t lanes) {
  if (!is_shuffle(op)) return ~0u;
  std::uint32_t valid = 0, result = 0;
  const std::array<int, 32> sources = shuffle_sources(warp, op, lanes, valid);
  for (std::size_t i = 0; i < 32; ++i) result |= (from >> sources[i] & 1) << i;
  return result;
}

/// What either way through a branch writes is as bad as what decides the way.
void take_bad_branch(Warp& warp, std::int32_t at, std::int32_t join, const BadValue& on) {
  const std::vector<Op>& ops = warp.ops();
  for (const Op& op : std::span(ops).subspan(static_cast<std::size_t>(at) + 1,
                                             static_cast<std::size_t>(join - at - 1))) {
    for (const std::int32_t slot : op.writes) {
      BadValue& value = warp.bad_values[static_cast<std::size_t>(slot)];
      value = {value.lanes | on.lanes, on.read};
    }
  }
  BadBranch& branch = warp.bad_branch;
  if (branch.on.lanes == 0) branch = {at, join, {}};
  branch = {std::min(branch.begin, at),
            std::max(branch.join, join),
            {branch.on.lanes | on.lanes, on.read}};
}

}  // namespace

void note_bad_read(Warp& warp, int lane, FindingKind kind, std::string text) {
  const auto known = std::ranges::find_if(
      warp.bad_reads, [&](const BadRead& read) { return read.op == warp.op && read.kind == kind; });
  const auto index = static_cast<std::uint32_t>(known - warp.bad_reads.begin());
  if (known == warp.bad_reads.end()) warp.bad_reads.push_back({warp.op, kind, std::move(text)});
  warp.bad_values.resize(static_cast<std::size_t>(warp.block->cluster->launch.program.num_slots));
  for (const std::int32_t slot : warp.op->writes) {
    BadValue& value = warp.bad_values[static_cast<std::size_t>(slot)];
    value = {value.lanes | 1u << lane, index};
  }
}

void follow_bad_values(Warp& warp, const Op& op, std::uint32_t lanes) {
  const std::vector<Op>& ops = warp.ops();
  const auto at = static_cast<std::int32_t>(&op - ops.data());
  BadBranch& branch = warp.bad_branch;
  if (at <= branch.begin || at >= branch.join) branch.on.lanes &= ~lanes;
  BadValue used;
  const bool selects = op.source != nullptr && op.source->opcode.starts_with("selp");
  for (const std::int32_t slot : op.reads) {
    BadValue value = warp.bad_values[static_cast<std::size_t>(slot)];
    if (value.lanes == 0) continue;
    const std::uint32_t yes = selects ? warp.predicate(op.c) : 0;
    if (selects && slot == op.a && slot != op.b) value.lanes &= yes;
    if (selects && slot == op.b && slot != op.a) value.lanes &= ~yes;
    used = {used.lanes | value.lanes, value.read};
  }
  if (op.control == Control::meet && used.lanes != 0)
    used.lanes = received(warp, op, used.lanes, lanes);
  used.lanes &= lanes;
  const bool is_jump = op.control == Control::branch || op.control == Control::table;
  if (used.lanes != 0 && (is_jump ? decides_effect(ops, op) : has_effect(op))) {
    const BadRead& read = warp.bad_reads[used.read];
    warp.op = read.op;
    warp.report(read.kind, read.text, std::countr_zero(used.lanes));
    warp.op = &op;
  } else if (used.lanes != 0 && is_jump && op.join > at) {  // else what lies between is not known
    take_bad_branch(warp, at, op.join, used);
  }
  if (const std::uint32_t decided = branch.on.lanes & lanes; decided != 0) {
    used = {used.lanes | decided, branch.on.read};
  }
  for (const std::int32_t slot : op.writes) {
    BadValue& value = warp.bad_values[static_cast<std::size_t>(slot)];
    value = {(value.lanes & ~lanes) | used.lanes, used.lanes != 0 ? used.read : value.read};
  }
}

}  // namespace assay::emulator
