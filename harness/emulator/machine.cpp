#include "emulator/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "emulator/decoded_module.h"
#include "emulator/warp.h"

namespace assay::emulator {
namespace {

// Rounds of a cluster before others may begin beside it: it may wait for them.
constexpr int kRoundsAlone = 256;
// Rounds of a cluster of a cooperative launch, which waits for all others.
constexpr int kRoundsTogether = 16;

// Registers and local memory of what must be resident at once. The largest shipped kernel takes a
// twentieth.
constexpr std::uint64_t kMaxClusterBytes = std::uint64_t{4} << 30;

// A launch ends at the same finding of an instruction so often: a loop that waits for what it reads
// where no memory is has no end of its own.
constexpr int kMostTimes = 10000;

/// What the threads of this process take from.
struct Queue {
  std::uint64_t num_clusters = 0;
  std::atomic<std::uint64_t> next = 0;
  std::atomic<std::uint64_t> num_resident = 0;
  std::uint64_t max_resident = 1;
  std::atomic<std::uint64_t> num_instructions = 0;
  std::mutex mutex;
  std::exception_ptr failure;  // the first of a thread, which run() throws
};

void work(LaunchState& launch, Queue& queue) {
  std::list<ClusterState> resident;
  const auto begin_one = [&] {
    if (++queue.num_resident <= queue.max_resident) {
      const std::uint64_t index = queue.next++;
      if (index < queue.num_clusters) {
        resident.emplace_back(launch, index);
        return true;
      }
    }
    --queue.num_resident;
    return false;
  };
  const bool is_cooperative = launch.shape.grid_workspace != 0;
  const int rounds = is_cooperative ? kRoundsTogether : kRoundsAlone;
  try {
    while (is_cooperative && begin_one()) {
    }
    while (!launch.has_stopped()) {
      if (resident.empty() && !begin_one()) {
        if (queue.next >= queue.num_clusters) break;
        std::this_thread::yield();  // others hold all places
        continue;
      }
      for (auto cluster = resident.begin(); cluster != resident.end();) {
        bool runs = true;
        for (int round = 0; round < rounds && runs && !launch.has_stopped(); ++round) {
          runs = cluster->run_round();
        }
        std::uint64_t instructions = cluster->counts.lane_instructions;
        for (const auto& block : cluster->blocks) {
          for (const Warp& warp : block->warps) {
            if (runs) instructions += warp.counts.lane_instructions;
          }
        }
        queue.num_instructions += instructions - std::exchange(cluster->counted, instructions);
        if (queue.num_instructions > launch.options.max_instructions && runs) {
          const Warp* slowest = nullptr;
          for (const auto& block : cluster->blocks) {
            for (const Warp& warp : block->warps) {
              if (warp.alive != 0) slowest = &warp;
            }
          }
          launch.report(FindingKind::limit,
                        fmt::format("more than {} instructions of threads; here is one that runs",
                                    launch.options.max_instructions),
                        slowest->op, slowest->block, slowest->first_thread());
        }
        if (runs) {
          ++cluster;
          continue;
        }
        launch.count(cluster->counts);
        cluster->leave_local();
        cluster = resident.erase(cluster);
        --queue.num_resident;
      }
      begin_one();
    }
  } catch (const StopLaunch&) {
    launch.stop();
  }
}

void check(const PtxFunction& function, const Program& program, const LaunchShape& shape,
           std::span<const std::byte> parameters) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("launch of {}: {}", function.name, why));
  };
  std::uint64_t threads = 1, cluster = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0 || shape.block[i] == 0 || shape.cluster[i] == 0) {
      refuse("a dimension of the grid, the block or the cluster is 0");
    }
    if (shape.grid[i] % shape.cluster[i] != 0) {
      refuse(fmt::format("{} blocks are no whole clusters of {}", shape.grid[i], shape.cluster[i]));
    }
    threads *= shape.block[i];
    cluster *= shape.cluster[i];
  }
  if (threads > function.max_threads) {
    refuse(fmt::format("{} threads of a block; at most {}", threads, function.max_threads));
  }
  if (cluster > 16) refuse(fmt::format("{} blocks of a cluster; at most 16", cluster));
  if (program.shared_bytes + shape.dynamic_shared_bytes > (std::size_t{227} << 10)) {
    refuse(fmt::format("{} bytes of shared memory; at most 232448",
                       program.shared_bytes + shape.dynamic_shared_bytes));
  }
  const std::uint64_t slot_bytes =
      std::uint64_t{128} * static_cast<std::uint64_t>(program.num_slots);
  const std::uint64_t bytes =
      (slot_bytes + 32 * program.local_bytes) * ((threads + 31) / 32) * cluster;
  if (bytes > kMaxClusterBytes) {
    refuse(fmt::format("registers and local memory of a cluster take {} bytes; at most {}", bytes,
                       kMaxClusterBytes));
  }
  std::size_t needed = 0;
  const std::vector<std::size_t> offsets = parameter_offsets(function);
  if (!offsets.empty()) needed = offsets.back() + function.variables[offsets.size() - 1].size_bytes;
  if (parameters.size() < needed) {
    refuse(fmt::format("{} bytes of parameters; expected {}", parameters.size(), needed));
  }
}

}  // namespace

std::string_view to_text(FindingKind kind) {
  constexpr std::string_view kTexts[] = {"unsupported",   "out of bounds", "misaligned",
                                         "uninitialised", "race",          "deadlock",
                                         "limit",         "trap",          "misuse"};
  return kTexts[static_cast<std::size_t>(kind)];
}

std::string LaunchFinding::description() const {
  std::string where = "kernel " + kernel;
  if (!file.empty()) where += fmt::format(", {}:{}", file, line);
  where += fmt::format(", block ({},{},{}), thread ({},{},{})", block[0], block[1], block[2],
                       thread[0], thread[1], thread[2]);
  return fmt::format("{}: {}: {}{}", where, to_text(kind), text,
                     instruction.empty() ? "" : ", by " + instruction);
}

LaunchCounts& LaunchCounts::operator+=(const LaunchCounts& other) {
  instructions += other.instructions;
  lane_instructions += other.lane_instructions;
  global_accesses += other.global_accesses;
  global_sectors += other.global_sectors;
  shared_accesses += other.shared_accesses;
  shared_passes += other.shared_passes;
  divergent_branches += other.divergent_branches;
  return *this;
}

void LaunchState::report(FindingKind kind, const std::string& text, const Op* op,
                         const BlockState* block, std::uint32_t thread) {
  const std::lock_guard lock(mutex_);
  const bool is_last = kind == FindingKind::unsupported || kind == FindingKind::deadlock ||
                       kind == FindingKind::limit || kind == FindingKind::trap;
  if (stopped_) throw StopLaunch();
  const int times = ++reported_[{op, kind}];
  if (times == 1) {
    LaunchFinding finding;
    finding.kind = kind;
    finding.text = text;
    finding.kernel = function.name;
    if (op != nullptr && op->source != nullptr) {
      const PtxInstruction& source = *op->source;
      finding.instruction = source.text;
      if (source.line > 0 && static_cast<std::size_t>(source.file) < module.files.size()) {
        finding.file = module.files[static_cast<std::size_t>(source.file)];
        finding.line = source.line;
      }
    }
    if (block != nullptr) finding.block = block->index;
    finding.thread = {thread % shape.block[0], thread / shape.block[0] % shape.block[1],
                      thread / shape.block[0] / shape.block[1]};
    outcome_.findings.push_back(std::move(finding));
  }
  if (is_last || times == kMostTimes || outcome_.findings.size() >= options.max_findings) {
    stopped_ = true;
    throw StopLaunch();
  }
}

void LaunchState::count(const LaunchCounts& counts) {
  const std::lock_guard lock(mutex_);
  outcome_.counts += counts;
}

LaunchOutcome LaunchState::take() {
  outcome_.ok = outcome_.findings.empty();
  return std::move(outcome_);
}

Module::Module(std::unique_ptr<DecodedModule> decoded) : decoded_(std::move(decoded)) {}
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;
Module::~Module() = default;

const std::vector<KernelTraits>& Module::kernels() const { return decoded_->kernels; }

const KernelTraits* Module::kernel(std::string_view name) const {
  for (const KernelTraits& traits : decoded_->kernels) {
    if (traits.name == name) return &traits;
  }
  return nullptr;
}

const std::vector<ModuleVariable>& Module::variables() const { return decoded_->variables; }

Module load(std::string_view ptx) {
  auto decoded = std::make_unique<DecodedModule>();
  decoded->text = read_module(ptx);
  std::map<std::string, std::uint64_t, std::less<>>& addresses = decoded->addresses;
  for (const PtxVariable& variable : decoded->text.variables) {
    if (variable.space != PtxSpace::global && variable.space != PtxSpace::constant) continue;
    if (addresses.contains(variable.name)) continue;
    // The judge takes less than 256 bytes between two variables for padding, and reads it.
    const std::size_t bytes = variable.size_bytes + 512;
    const std::size_t align = std::max<std::size_t>(variable.align, 256);
    decoded->memory.emplace_back(
        static_cast<std::byte*>(std::aligned_alloc(align, (bytes + align - 1) / align * align)));
    std::byte* const at = decoded->memory.back().get();
    if (at == nullptr)
      throw Error(fmt::format("no memory for {} bytes of {}", bytes, variable.name));
    std::memset(at, 0, bytes);
    if (!variable.initial.empty())
      std::memcpy(at, variable.initial.data(), variable.initial.size());
    const auto address = reinterpret_cast<std::uint64_t>(at);
    addresses[variable.name] = address;
    decoded->variables.push_back({variable.name, address, variable.size_bytes});
  }
  for (const PtxVariable& variable : decoded->text.variables) {
    for (const PtxVariable::Address& address : variable.addresses) {
      const auto found = addresses.find(address.name);
      if (found == addresses.end() || !addresses.contains(variable.name)) {
        throw UsageError(
            fmt::format("PTX: emulator/unsupported: the address of {} as a value", address.name));
      }
      const std::uint64_t value = found->second + static_cast<std::uint64_t>(address.added);
      if (address.at + 8 > variable.size_bytes)
        throw UsageError("PTX: an address in fewer than 8 bytes");
      std::memcpy(reinterpret_cast<std::byte*>(addresses[variable.name]) + address.at, &value, 8);
    }
  }
  for (const PtxFunction& function : decoded->text.functions) {
    if (!function.is_kernel) continue;
    decoded->programs.push_back(decode_kernel(decoded->text, function, addresses));
    const Program& program = decoded->programs.back();
    KernelTraits traits;
    traits.name = function.name;
    const std::vector<std::size_t> offsets = parameter_offsets(function);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const PtxVariable& parameter = function.variables[i];
      traits.parameters.push_back({parameter.name, offsets[i], parameter.size_bytes});
      traits.parameter_bytes = offsets[i] + parameter.size_bytes;
    }
    traits.shared_bytes = program.shared_bytes;
    traits.local_bytes = program.local_bytes;
    traits.max_threads = function.max_threads;
    traits.cluster = function.cluster;
    decoded->kernels.push_back(std::move(traits));
  }
  return Module(std::move(decoded));
}

LaunchOutcome run(const Module& module, std::string_view kernel, const LaunchShape& shape,
                  std::span<const std::byte> parameters, const Memory& memory,
                  const MachineOptions& options) {
  const DecodedModule& decoded = module.decoded();
  const PtxFunction* const function = decoded.text.function(kernel);
  const KernelTraits* const traits = module.kernel(kernel);
  if (function == nullptr || traits == nullptr) {
    throw UsageError(fmt::format("the module has no kernel {}", kernel));
  }
  const Program& program =
      decoded.programs[static_cast<std::size_t>(traits - module.kernels().data())];
  check(*function, program, shape, parameters);
  LaunchState launch(decoded.text, *function, program, shape, options, memory, parameters);
  Queue queue;
  const std::uint64_t cluster_blocks =
      std::uint64_t{shape.cluster[0]} * shape.cluster[1] * shape.cluster[2];
  queue.num_clusters =
      std::uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2] / cluster_blocks;
  queue.max_resident = shape.grid_workspace != 0
                           ? queue.num_clusters
                           : std::max<std::uint64_t>(1, options.resident_blocks / cluster_blocks);
  const auto num_threads = static_cast<std::uint64_t>(std::max(1, options.threads));
  std::vector<std::jthread> others;
  const auto work_or_fail = [&] {
    try {
      work(launch, queue);
    } catch (const std::exception&) {
      launch.stop();
      const std::lock_guard lock(queue.mutex);
      if (queue.failure == nullptr) queue.failure = std::current_exception();
    }
  };
  for (std::uint64_t i = 1; i < std::min(num_threads, queue.num_clusters); ++i) {
    others.emplace_back(work_or_fail);
  }
  work_or_fail();
  others.clear();
  if (queue.failure != nullptr) std::rethrow_exception(queue.failure);
  return launch.take();
}

}  // namespace assay::emulator
