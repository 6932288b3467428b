#include "cli/board.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <future>
#include <set>

#include "base/cubin_info.h"
#include "base/error.h"
#include "base/hash.h"
#include "cli/submission.h"
#include "compile/source_tree.h"
#include "space/plan_json.h"
#include "space/space.h"
#include "spec/twins.h"
#include "tuner/compile_job.h"
#include "tuner/kernel_version.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// A sweep of a large space tries a part of it, so a part tells two submissions apart.
constexpr std::size_t kMostConfigs = 1000;
constexpr std::size_t kHashDigits = 8;

/// What the device gets for a configuration, without the names that the kernel's author chose.
std::string hash_of_run(Plan plan, const CompileResult& compiled) {
  const std::string cubin = read_file(compiled.cubin_path);
  Hasher hasher;
  for (LaunchPlan& launch : plan.launches) {
    const auto symbol = compiled.symbols.find(launch.entry);
    hasher.add(
        code_hash_of(cubin, symbol == compiled.symbols.end() ? launch.entry : symbol->second));
    launch.entry.clear();
  }
  plan.kernel.clear();
  plan.config.clear();
  return hasher.add(nlohmann::json(plan).dump()).hex();
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  return is_inside(fs::weakly_canonical(path), fs::weakly_canonical(folder));
}

}  // namespace

Board Board::for_judging(fs::path folder) {
  Board board(std::move(folder));
  create_folder_of(board.database());
  const fs::path lock = board.folder_ / "board.lock";
  board.lock_ = UniqueFd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!board.lock_) throw UsageError(fmt::format("cannot write {}", lock.string()));
  if (::flock(board.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw UsageError(
        fmt::format("{}: another assay judge is at work here", board.folder_.string()));
  }
  return board;
}

Store Board::read() const {
  if (!fs::exists(database())) {
    throw UsageError(
        fmt::format("{}: expected a board, found no board.db; judge a submission to "
                    "begin one",
                    folder_.string()));
  }
  return Store::open_readonly(database());
}

std::string Board::name_of(const KernelSpec& kernel, const std::string& code) const {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_ / kernel.op, none)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("_" + code)) return name;
  }
  return fmt::format("{}_{}", kernel.name, code);
}

std::vector<KernelSpec> Board::kernels(const std::string& op, const fs::path& op_path) const {
  std::vector<KernelSpec> kernels;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder_ / op, none)) {
    const fs::path contract = contract_of(entry.path(), op_path, fs::path());
    for (KernelSpec& kernel : load_twins(contract, op_path)) {
      if (kernel.op != op) continue;
      kernel.name = entry.path().filename().string();
      kernels.push_back(std::move(kernel));
    }
  }
  return kernels;
}

void Board::keep(const KernelSpec& kernel, const std::vector<fs::path>& include) const {
  const fs::path from = fs::canonical(kernel.yaml_path.parent_path());
  const fs::path to = folder_of(kernel.op, kernel.name), part = folder_ / "part";
  fs::remove_all(part);
  std::vector<fs::path> files =
      SourceTree::read(kernel.source_path, include_path(kernel, include)).paths;
  std::erase_if(files, [&](const fs::path& file) { return !is_inside(file, from); });
  files.push_back(from / kernel.source_path.filename());
  files.push_back(from / kernel.yaml_path.filename());
  for (const fs::path& file : files) {
    const fs::path copy = part / file.lexically_relative(from);
    create_folder_of(copy);
    write_file_atomic(copy, read_file(file));
  }
  fs::remove_all(to);
  create_folder_of(to);
  fs::rename(part, to);
}

void Board::forget_unkept(Store& store, const std::string& op) const {
  Filter filter;
  filter.op = op;
  std::set<std::string> names;
  for (const TrialRow& row : store.trials(filter)) names.insert(row.record.kernel.name);
  for (const std::string& name : names) {
    if (!fs::exists(folder_of(op, name))) store.forget_kernel(name);
  }
}

std::string code_of(const KernelSpec& kernel, const Target& target, Compiler& compiler,
                    const std::vector<fs::path>& include) {
  for (const IncludeSpec& own : kernel.compile.include) {
    if (lies_in(own.folder, kernel.yaml_path.parent_path())) continue;
    throw SpecError(own.where, fmt::format("expected a folder inside of the contract's, which the "
                                           "board keeps; found {}",
                                           own.folder.string()));
  }
  const DeviceInfo& device = target.device->info();
  const Space space(kernel, kernel.smoke, device);
  std::vector<std::pair<Plan, std::future<CompileResult>>> runs;
  space.for_each([&](const std::vector<int>& point) {
    const Config config = space.config(point);
    try {
      Plan plan = make_plan(kernel, kernel.smoke, config, device);
      runs.emplace_back(
          std::move(plan),
          compiler.submit(compile_job(kernel, kernel.smoke, config, device, target.arch, include)));
    } catch (const PlanError&) {  // its trial will tell
    }
    return runs.size() < kMostConfigs;
  });
  std::set<std::string> hashes;
  for (auto& [plan, compiling] : runs) {
    const CompileResult compiled = compiling.get();
    if (compiled.ok) hashes.insert(hash_of_run(std::move(plan), compiled));
  }
  if (hashes.empty()) return "";
  Hasher hasher;
  for (const std::string& hash : hashes) hasher.add(hash);
  return hasher.hex().substr(0, kHashDigits);
}

}  // namespace assay
