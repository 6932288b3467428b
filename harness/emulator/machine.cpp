#include "emulator/machine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <list>
#include <mutex>
#include <thread>

#include "emulator/warp.h"

namespace assay::emulator {
namespace {

// Rounds of a cluster before others may begin beside it: it may wait for them.
constexpr int kRoundsAlone = 256;
// Rounds of a cluster of a cooperative launch, which waits for all others.
constexpr int kRoundsTogether = 16;

// Of what must be resident at once. The largest shipped kernel takes a twentieth.
constexpr std::uint64_t kMaxClusterBytes = std::uint64_t{4} << 30;

// A loop that polls an address without memory would not end at its first finding.
constexpr int kMostTimes = 10000;

/// What the threads of this process take from.
struct Queue {
  std::uint64_t num_clusters = 0;
  std::atomic<std::uint64_t> next = 0;
  std::atomic<std::uint64_t> num_resident = 0;
  std::uint64_t max_resident = 1;
  std::atomic<std::uint64_t> num_instructions = 0;
};

void work(LaunchState& launch, Queue& queue) {
  std::list<ClusterState> resident;
  SpareRegisters spare;
  const auto begin_one = [&] {
    if (++queue.num_resident <= queue.max_resident) {
      const std::uint64_t index = queue.next++;
      if (index < queue.num_clusters) {
        resident.emplace_back(launch, index, spare);
        return true;
      }
    }
    --queue.num_resident;
    return false;
  };
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(launch.options.max_seconds);
  const bool is_cooperative = launch.shape.grid_workspace != 0;
  const int rounds = is_cooperative ? kRoundsTogether : kRoundsAlone;
  try {
    while (is_cooperative && begin_one()) {
    }
    while (!launch.has_stopped) {
      if (resident.empty() && !begin_one()) {
        if (queue.next >= queue.num_clusters) break;
        std::this_thread::yield();  // others hold all places
        continue;
      }
      for (auto cluster = resident.begin(); cluster != resident.end();) {
        bool runs = true;
        for (int round = 0; round < rounds && runs && !launch.has_stopped; ++round) {
          runs = cluster->run_round();
        }
        const LaunchCounts counts = cluster->counts();
        queue.num_instructions +=
            counts.lane_instructions - std::exchange(cluster->counted, counts.lane_instructions);
        const bool is_long = queue.num_instructions > launch.options.max_instructions;
        if (runs && (is_long || Clock::now() > end)) {
          const Warp& slowest = **std::ranges::find_if(
              cluster->warps, [](const Warp* warp) { return warp->alive != 0; });
          const std::string most =
              is_long ? fmt::format("{} instructions of threads", launch.options.max_instructions)
                      : fmt::format("{} s", launch.options.max_seconds);
          launch.report(FindingKind::limit, "more than " + most + "; here is one that runs",
                        slowest.op, slowest.block, slowest.first_thread());
        }
        if (runs) {
          ++cluster;
          continue;
        }
        {
          const std::lock_guard lock(launch.mutex);
          launch.outcome.counts += counts;
        }
        cluster->leave(spare);
        cluster = resident.erase(cluster);
        --queue.num_resident;
      }
      begin_one();
    }
  } catch (const StopLaunch&) {
    launch.has_stopped = true;
  } catch (...) {
    launch.has_stopped = true;
    throw;
  }
}

}  // namespace

std::string LaunchFinding::description() const {
  std::string where = "kernel " + kernel;
  if (!file.empty()) where += fmt::format(", {}:{}", file, line);
  where += fmt::format(", block ({},{},{}), thread ({},{},{})", block[0], block[1], block[2],
                       thread[0], thread[1], thread[2]);
  return fmt::format("{}: {}: {}{}", where, facts_of(kind).text, text,
                     instruction.empty() ? "" : ", by " + instruction);
}

void LaunchState::report(FindingKind kind, const std::string& text, const Op* op,
                         const BlockState* block, std::uint32_t thread) {
  const std::lock_guard lock(mutex);
  const bool is_last = kind == FindingKind::unsupported || kind == FindingKind::deadlock ||
                       kind == FindingKind::limit || kind == FindingKind::trap;
  if (has_stopped) throw StopLaunch();
  const int times = ++reported[{op, kind}];
  if (times == 1) {
    LaunchFinding finding{kind, text, program.kernel->name};
    if (op != nullptr && op->source != nullptr) {
      const PtxInstruction& source = *op->source;
      finding.instruction = source.text;
      if (source.line > 0 && static_cast<std::size_t>(source.file) < module.files.size()) {
        finding.file = module.files[source.file];
        finding.line = source.line;
      }
    }
    if (block != nullptr) finding.block = block->index;
    finding.thread = place_in(shape.block, thread);
    outcome.findings.push_back(std::move(finding));
  }
  if (is_last || times == kMostTimes || outcome.findings.size() >= options.max_findings) {
    has_stopped = true;
    throw StopLaunch();
  }
}

Module load(std::string_view ptx) {
  Module module;
  module.text = read_module(ptx);
  for (const PtxVariable& variable : module.text.variables) {
    if (variable.space != PtxSpace::global && variable.space != PtxSpace::constant) continue;
    const auto [place, is_new] = module.variables.try_emplace(variable.name);
    if (!is_new) continue;
    // The judge takes less than 256 bytes between two variables for padding, and reads it.
    const std::size_t bytes = variable.size_bytes + 512;
    const std::size_t align = std::max<std::size_t>(variable.align, 256);
    std::vector<std::byte> storage(bytes + align);
    void* at = storage.data();
    std::size_t room_bytes = storage.size();
    std::align(align, bytes, at, room_bytes);
    std::ranges::copy(variable.initial, static_cast<std::byte*>(at));
    place->second = {std::move(storage), static_cast<std::byte*>(at), variable.size_bytes};
  }
  for (const PtxVariable& variable : module.text.variables) {
    for (const PtxVariable::Address& address : variable.addresses) {
      const auto found = module.variables.find(address.name);
      const auto place = module.variables.find(variable.name);
      if (found == module.variables.end() || place == module.variables.end()) {
        refuse("PTX: emulator/unsupported: the address of {} as a value", address.name);
      }
      const std::uint64_t value = found->second.address() + address.added;
      if (address.at + 8 > variable.size_bytes) {
        refuse("PTX: an address in fewer than 8 bytes");
      }
      std::memcpy(place->second.bytes + address.at, &value, 8);
    }
  }
  for (const PtxFunction& function : module.text.functions) {
    if (!function.is_kernel) continue;
    module.kernels.push_back(decode_kernel(module.text, function, module.variables));
  }
  return module;
}

void check_launch(const Program& program, const LaunchShape& shape) {
  const auto refuse_launch = [&]<class... A>(fmt::format_string<A...> text, A&&... values) {
    refuse("launch of {}: {}", program.kernel->name, fmt::format(text, std::forward<A>(values)...));
  };
  for (std::size_t i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0 || shape.block[i] == 0 || shape.cluster[i] == 0) {
      refuse_launch("a dimension of the grid, the block or the cluster is 0");
    }
    if (shape.grid[i] % shape.cluster[i] != 0) {
      refuse_launch("{} blocks are no whole clusters of {}", shape.grid[i], shape.cluster[i]);
    }
  }
  const auto check = [&](std::uint64_t value, std::uint64_t most, std::string_view what) {
    if (value > most) refuse_launch("{} {}; at most {}", value, what, most);
  };
  const std::uint64_t threads = volume(shape.block), cluster = volume(shape.cluster);
  check(threads, program.kernel->max_threads, "threads of a block");
  check(cluster, 16, "blocks of a cluster");
  check(program.shared_bytes + shape.dynamic_shared_bytes, 227 << 10, "bytes of shared memory");
  const std::uint64_t thread_bytes = 4 * program.register_slots.size() + program.local_bytes;
  check(thread_bytes * ((threads + 31) / 32 * 32) * cluster, kMaxClusterBytes,
        "bytes of registers and local memory of a cluster");
}

LaunchOutcome run(const Module& module, std::string_view kernel, const LaunchShape& shape,
                  std::span<const std::byte> parameters, const Memory& memory,
                  const MachineOptions& options) {
  const auto program = std::ranges::find_if(
      module.kernels, [&](const Program& of) { return of.kernel->name == kernel; });
  if (program == module.kernels.end()) refuse("the module has no kernel {}", kernel);
  check_launch(*program, shape);
  if (parameters.size() < program->parameter_bytes) {
    refuse("launch of {}: {} bytes of parameters; expected {}", kernel, parameters.size(),
           program->parameter_bytes);
  }
  LaunchState launch{module.text, *program, shape, options, memory, parameters};
  Queue queue;
  const std::uint64_t cluster_blocks = volume(shape.cluster);
  queue.num_clusters = volume(shape.grid) / cluster_blocks;
  queue.max_resident = shape.grid_workspace != 0
                           ? queue.num_clusters
                           : std::max<std::uint64_t>(1, options.resident_blocks / cluster_blocks);
  const std::uint64_t num_threads = std::max(1, options.threads);
  std::vector<std::future<void>> others;
  for (std::uint64_t i = 1; i < std::min(num_threads, queue.num_clusters); ++i) {
    others.push_back(std::async(std::launch::async, work, std::ref(launch), std::ref(queue)));
  }
  work(launch, queue);
  for (std::future<void>& other : others) other.get();
  launch.outcome.ok = launch.outcome.findings.empty();
  return std::move(launch.outcome);
}

}  // namespace assay::emulator
