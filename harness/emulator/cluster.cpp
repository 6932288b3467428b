#include <algorithm>

#include "emulator/warp.h"

namespace assay::emulator {
namespace {

// Rounds without anything that somebody could wait for, after which nothing will come any more.
constexpr std::uint64_t kDeadRounds = 64;

std::uint32_t special_value(const std::string& name, const Warp& warp, std::uint32_t lane) {
  const BlockState& block = *warp.block;
  const LaunchShape& shape = block.cluster->launch.shape;
  const std::uint32_t thread = warp.first_thread() + lane;
  const std::size_t dot = name.find('.');
  const std::string_view base = std::string_view(name).substr(0, dot);
  const std::size_t axis = dot == std::string::npos ? 0 : name[dot + 1] - 'x';
  if (axis > 2) return 0;
  const auto cluster_size = static_cast<std::uint32_t>(volume(shape.cluster));
  if (base == "%tid") return place_in(shape.block, thread)[axis];
  if (base == "%ntid") return shape.block[axis];
  if (base == "%ctaid") return block.index[axis];
  if (base == "%nctaid") return shape.grid[axis];
  if (base == "%laneid") return lane;
  if (base == "%warpid") return warp.index;
  if (base == "%nwarpid") return static_cast<std::uint32_t>(block.warps.size());
  if (base == "%clusterid") return block.index[axis] / shape.cluster[axis];
  if (base == "%nclusterid") return shape.grid[axis] / shape.cluster[axis];
  if (base == "%cluster_ctaid") return block.index[axis] % shape.cluster[axis];
  if (base == "%cluster_nctaid") return shape.cluster[axis];
  if (base == "%cluster_ctarank") return block.rank;
  if (base == "%cluster_nctarank") return cluster_size;
  if (base == "%is_explicit_cluster") return cluster_size > 1;
  if (base == "%lanemask_eq") return 1u << lane;
  if (base == "%lanemask_lt") return (1u << lane) - 1;
  if (base == "%lanemask_le") return (2u << lane) - 1;
  if (base == "%lanemask_gt") return ~((2u << lane) - 1);
  if (base == "%lanemask_ge") return ~((1u << lane) - 1);
  if (base == "%smid") return static_cast<std::uint32_t>(block.cluster->index % 132);
  if (base == "%nsmid") return 132;
  if (base == "WARP_SZ") return 32;
  if (base == "%dynamic_smem_size") return static_cast<std::uint32_t>(shape.dynamic_shared_bytes);
  if (base == "%total_smem_size" || base == "%aggr_smem_size") {
    return static_cast<std::uint32_t>(block.shared.size()) + kSharedBegin;
  }
  if (base == "%envreg1") return static_cast<std::uint32_t>(shape.grid_workspace >> 32);
  if (base == "%envreg2") return static_cast<std::uint32_t>(shape.grid_workspace);
  if (base == "%reserved_smem_offset_end") return kSharedBegin;
  return 0;
}

void set_specials(Warp& warp, const Program& program) {
  for (const SpecialValue& value : program.specials) {
    const bool has_lanes = value.name.starts_with("%tid") || value.name.starts_with("%lane");
    const bool is_address = value.name.empty();
    std::uint32_t bits = (warp.block->rank << kRankShift) + value.offset;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if (!is_address && (lane == 0 || has_lanes)) bits = special_value(value.name, warp, lane);
      warp.put(value.slot, lane, value.is_wide, bits);
    }
  }
}

std::unique_ptr<BlockState> make_block(ClusterState& cluster, std::uint32_t rank,
                                       SpareRegisters& spare) {
  const LaunchState& launch = cluster.launch;
  const Program& program = launch.program;
  auto block = std::make_unique<BlockState>();
  block->cluster = &cluster;
  block->rank = rank;
  block->index = launch.shape.block_of(cluster.number_of(*block));
  block->num_threads = static_cast<std::uint32_t>(volume(launch.shape.block));
  const std::size_t align = program.dynamic_align;
  // What nobody wrote is not zero.
  block->shared.assign(
      (program.shared_bytes + align - 1) / align * align + launch.shape.dynamic_shared_bytes,
      std::byte{0xff});  // NaN, as any float
  block->shadow.resize(block->shared.size() / 4 + 1);
  const std::size_t num_warps = (block->num_threads + 31) / 32;
  const auto slots = program.register_slots.size() * 32;
  if (!spare.empty()) {
    block->storage = std::move(spare.back());
    spare.pop_back();
  }
  block->storage.resize(slots * num_warps);
  const std::size_t local_bytes = program.local_bytes * num_warps * 32;
  LeftLocal* const left = launch.options.left_local;
  block->local = left != nullptr && local_bytes > 0
                     ? left->take(cluster.number_of(*block), num_warps * 32, program.local_bytes)
                     : std::vector<std::byte>(local_bytes, std::byte{0xff});  // NaN, as any float
  block->warps.resize(num_warps);
  block->warpgroups.resize((num_warps + 3) / 4);
  for (NamedBarrier& barrier : block->barriers) barrier.arrived.assign(num_warps, 0);
  for (std::size_t i = 0; i < num_warps; ++i) {
    Warp& warp = block->warps[i];
    warp.block = block.get();
    warp.index = static_cast<std::uint32_t>(i);
    warp.slots = block->storage.data() + i * slots;
    warp.constants = program.constants.data();
    warp.program_ops = &program.ops;
    warp.last_run.resize(program.ops.size());
    warp.local = block->local.data() + i * 32 * program.local_bytes;
    const std::uint32_t threads = std::min(32u, block->num_threads - warp.first_thread());
    warp.alive = threads == 32 ? ~0u : (1u << threads) - 1;
    warp.fragments.push_back({0, warp.alive});
  }
  return block;
}

/// Makes zeros of all that the instructions that ran may have written.
void clear_registers(Warp& warp, const Program& program) {
  for (std::size_t i = 0; i < warp.last_run.size(); ++i) {
    for (const std::int32_t slot : program.ops[i].writes) {
      if (warp.last_run[i] != 0) std::fill_n(warp.at(slot), 32 * program.register_slots[slot], 0);
    }
  }
}

}  // namespace

ClusterState::ClusterState(LaunchState& of_launch, std::uint64_t index_of, SpareRegisters& spare)
    : launch(of_launch),
      index(index_of),
      random(of_launch.options.seed * 0x9e3779b97f4a7c15ull + index_of) {
  for (std::uint32_t rank = 0; rank < volume(launch.shape.cluster); ++rank) {
    blocks.push_back(make_block(*this, rank, spare));
    for (Warp& warp : blocks.back()->warps) warps.push_back(&warp);
  }
  const Clock clock(num_actors(*this));
  for (Warp* const warp : warps) {
    set_specials(*warp, launch.program);
    warp->order = {clock, clock};
    order_lanes(*warp);  // what it does is event 1
  }
}

std::uint64_t ClusterState::number_of(const BlockState& block) const {
  return index * volume(launch.shape.cluster) + block.rank;
}

LaunchCounts ClusterState::counts() const {
  LaunchCounts counts;
  for (const Warp* const warp : warps) counts += warp->counts;
  return counts;
}

void ClusterState::leave(SpareRegisters& spare) {
  LeftLocal* const left = launch.options.left_local;
  for (const auto& block : blocks) {
    if (left != nullptr) left->leave(number_of(*block), launch.program.local_bytes, block->local);
    for (Warp& warp : block->warps) clear_registers(warp, launch.program);
    spare.push_back(std::move(block->storage));
  }
}

bool ClusterState::run_round() {
  std::vector<Warp*> live = warps;
  std::erase_if(live, [](const Warp* warp) { return warp->alive == 0; });
  ++round;
  const std::uint64_t before = num_progress;
  bool all_wait = true;
  // From one instruction to thousands, so that warps meet in many orders.
  for (std::size_t left = live.size(); left > 0; --left) {
    std::swap(live[below(random, left)], live[left - 1]);
    Warp& warp = *live[left - 1];
    const int budget = static_cast<int>(below(random, std::size_t{4} << below(random, 11))) + 1;
    const bool ran = run_warp(warp, budget);
    if (ran && warp.last_polled + kDeadRounds < round) all_wait = false;
    if (!pending.empty() && below(random, 4) == 0) complete_any();
  }
  if (num_progress != before || !all_wait || complete_any()) {
    last_progress = round;
  } else if (!live.empty() && round - last_progress > kDeadRounds) {
    const Warp& warp = *live.front();
    launch.report(FindingKind::deadlock, waiting_text(),
                  &launch.program.ops[warp.fragments.front().pc], warp.block, warp.first_thread());
  }
  if (!live.empty()) return true;
  complete([](const PendingWork&) { return true; });
  return false;
}

bool ClusterState::complete_any() {
  if (pending.empty()) return false;
  const auto chosen = pending.begin() + below(random, pending.size());
  const PendingWork work = std::move(*chosen);
  pending.erase(chosen);
  work.complete();
  ++num_progress;
  return true;
}

void ClusterState::check_cluster_barrier() {
  bool has_any = false;
  for (const Warp* const warp : warps) {
    if ((warp->alive & ~warp->cluster_arrived) != 0) return;
    has_any = has_any || warp->cluster_arrived != 0;
  }
  if (!has_any) return;
  complete_phase(barrier_point);
  ++barrier_generation;
  ++num_progress;
  for (Warp* const warp : warps) warp->cluster_arrived = 0;
}

std::string ClusterState::waiting_text() const {
  std::string text;
  int shown = 0;
  for (const Warp* const warp : warps) {
    for (const Fragment& fragment : warp->fragments) {
      if (++shown > 12) continue;
      const Op& op = launch.program.ops[fragment.pc];
      const Waiting& waiting = fragment.waiting;
      text += fmt::format("{}block {} warp {}{}", text.empty() ? "" : "; ", warp->block->rank,
                          warp->index, line_text(op));
      constexpr std::string_view kTexts[] = {
          " runs",
          " waits for lanes {0:#x}",
          " waits at barrier {1}",
          " waits at the cluster's barrier",
          " waits for phase {2} of the mbarrier at {1:#x}",
          " waits for products that not all warps of its warpgroup have begun"};
      text += fmt::format(fmt::runtime(kTexts[static_cast<std::size_t>(waiting.what)]),
                          waiting.members & ~waiting.lanes, waiting.id, waiting.parity);
    }
  }
  if (shown > 12) text += fmt::format("; and {} more", shown - 12);
  return text;
}

}  // namespace assay::emulator
