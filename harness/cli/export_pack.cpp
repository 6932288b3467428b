#include "cli/export_pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/cubin_info.h"
#include "base/error.h"
#include "base/file.h"
#include "base/find_named.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/limits.h"
#include "base/terminal.h"
#include "cli/include_path.h"
#include "compile/nvrtc_compiler.h"
#include "pack/pack.h"
#include "report/entry_json.h"
#include "report/table.h"
#include "spec/kernel_spec.h"
#include "spec/sweep_spec.h"
#include "spec/twins.h"
#include "tuner/kernel_version.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The licence of what the program ships, and what a source says of its own.
constexpr const char* kShippedLicence = "Apache-2.0";
constexpr std::string_view kLicenceMark = "SPDX-License-Identifier:";

std::string licence_of(const KernelSpec& kernel) {
  const std::string source = read_file(kernel.source_path);
  const std::size_t mark = source.find(kLicenceMark);
  if (mark == std::string::npos) {
    const fs::path shipped = shipped_folder();
    std::error_code ignored;
    const bool is_shipped =
        !shipped.empty() &&
        is_inside(fs::canonical(kernel.source_path, ignored), fs::canonical(shipped, ignored));
    return is_shipped ? kShippedLicence : "";
  }
  std::string text = source.substr(mark + kLicenceMark.size());
  text = text.substr(0, text.find_first_of("\r\n"));
  text.erase(0, text.find_first_not_of(' '));
  return text.substr(0, text.find(" */"));
}

/// Which of cuBLASLt's algorithms a baseline is that was "algorithm 3 of 8"; 0: it does not say.
int algorithm_of(std::string_view detail) {
  constexpr std::string_view kBegin = "algorithm ";
  int number = 0;
  if (detail.starts_with(kBegin)) {
    std::from_chars(detail.data() + kBegin.size(), detail.data() + detail.size(), number);
  }
  return number;
}

/// The problem as the kernel has it: its dims, then its traits.
Problem problem_of(const KernelSpec& kernel, const Problem& given) {
  Problem problem;
  for (const std::string& dim : kernel.dims) problem.emplace_back(dim, std::int64_t{0});
  problem.insert(problem.end(), kernel.traits.begin(), kernel.traits.end());
  for (auto& [name, number] : problem) {
    if (const Number* value = find_value(given, name)) number = *value;
  }
  return problem;
}

/// Collects winners. The compiler works meanwhile.
class PackMaker {
 public:
  PackMaker(const Store& store, std::vector<std::string> archs)
      : store_(store), archs_(std::move(archs)), compiler_({cache_directory()}) {}

  void add(const CrossTable& cross) {
    const TunedTable& table = cross.table;
    for (const PackTable& other : pack_.tables) {
      if (other.op != table.op || other.device.name != table.device.name) continue;
      throw UsageError(
          "a pack holds one table of an op on a GPU, and {} on {} has two: {}, and {}; "
          "choose with --protocol or --objective",
          table.op, table.device.name, other.conditions, conditions_text(table));
    }
    PackTable packed{table.op, table.device, conditions_text(table), {}, 0, {}};
    std::vector<std::string> measured;
    std::map<std::size_t, std::size_t> rows;  // by places in the table
    for (std::size_t i = 0; i < table.entries.size(); ++i) {
      const TunedRow& entry = table.entries[i];
      const std::optional<std::size_t> kernel = kernel_of(entry);
      if (!kernel) continue;
      rows.emplace(i, packed.rows.size());
      if (i == table.fallback) packed.default_row = packed.rows.size();
      packed.measured_at = std::max(packed.measured_at, entry.finished_at);
      packed.rows.push_back(row_of(entry, *kernel, table.device));
      packed.rows.back().regret = cross.regrets[i];
      measured.push_back(entry.cubin_hash);
    }
    if (packed.rows.empty()) return;
    for (const auto& [place, row] : rows) {
      for (const std::size_t other : cross.fast_for[place]) {
        const auto found = rows.find(other);
        if (found != rows.end()) packed.rows[row].fast_for.push_back(found->second);
      }
    }
    for (const std::size_t kernel : kernels_with_default(table.op)) {
      const KernelSpec& spec = pack_.kernels[kernel].spec;
      PackRow row;
      row.problem = spec.smoke;
      row.config = load_default_config(spec);
      packed.rows.push_back(with_code(std::move(row), kernel, table.device));
      measured.emplace_back();
    }
    pack_.tables.push_back(std::move(packed));
    measured_.push_back(std::move(measured));
  }

  /// Waits for the compiler. Throws UsageError for a winner that does not compile, and where there
  /// is none.
  std::string finish() {
    if (pack_.tables.empty()) throw UsageError("no winner is left for the pack");
    std::string code;
    std::vector<std::string> hashes;  // of the code of each job, as trials have them
    std::vector<std::size_t> places;  // of the code of each job in pack_.codes
    std::map<std::string, std::size_t> known;
    for (Job& job : jobs_) {
      while (job.code.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
        check_interrupt();
      }
      const CompileResult result = job.code.get();
      if (!result.ok) throw UsageError("a winner does not compile:\n" + result.log);
      const std::string cubin = read_file(result.cubin_path, kMaxCubinBytes);
      PackCode added{job.arch, code.size(), cubin.size(), hash_hex(cubin), result.symbols};
      for (const std::string& name : job.variables) {
        if (const auto found = find_variable(cubin, name)) added.symbols[name] = found->symbol;
      }
      hashes.push_back(result.report.cubin_hash);
      // The same code may have entries by other names.
      const std::string key =
          fmt::format("{} {} {}", job.arch, added.hash, nlohmann::json(added.symbols).dump());
      const auto [at, is_new] = known.emplace(key, pack_.codes.size());
      places.push_back(at->second);
      if (!is_new) continue;
      pack_.codes.push_back(std::move(added));
      code += cubin;
    }
    for (std::size_t i = 0; i < pack_.tables.size(); ++i) {
      for (std::size_t j = 0; j < pack_.tables[i].rows.size(); ++j) {
        PackRow& row = pack_.tables[i].rows[j];
        for (std::size_t& place : row.codes) {
          row.measured_code = row.measured_code || hashes[place] == measured_[i][j];
          place = places[place];
        }
      }
    }
    pack_.made_by = fmt::format("assay {}, NVRTC {}", ASSAY_VERSION, compiler_.nvrtc_version());
    return seal_pack(index_text(pack_), code);
  }

  const Pack& pack() const { return pack_; }

 private:
  struct Job {
    std::string arch;
    std::vector<std::string> variables;  // that inputs are copied to
    std::future<CompileResult> code;
  };
  struct Known {
    std::optional<std::size_t> place;  // in pack_.kernels; nothing: it is left out
    std::vector<fs::path> include;
  };

  /// Which kernel of the pack the winner is of. Says once of each kernel why it is left out.
  std::optional<std::size_t> kernel_of(const TunedRow& entry) {
    const std::string& name = entry.best.kernel;
    if (const auto known = kernels_.find(name); known != kernels_.end()) return known->second.place;
    Known& known = kernels_[name];
    const std::optional<TrialRow> trial = store_.trial(entry.trial_id);
    const fs::path folder = kernel_folder("", trial ? trial->command_line : "");
    std::optional<KernelSpec> kernel;
    if (fs::is_directory(folder)) kernel = find_kernel(folder, name);
    known.include = include_path(folder, {});
    folders_.insert(folder);
    const std::string why = why_left_out(kernel, entry, known.include);
    if (!why.empty()) {
      print_err("warning: the winners of {} are left out: {}\n", name, why);
      return std::nullopt;
    }
    add_kernel(*std::move(kernel), entry.version.source_hash, known);
    return known.place;
  }

  void add_kernel(KernelSpec kernel, std::string source_hash, Known& known) {
    known.place = pack_.kernels.size();
    const bool per_problem = is_compiled_per_problem(kernel);
    std::string licence = licence_of(kernel);
    pack_.kernels.push_back(
        {std::move(kernel), per_problem, std::move(source_hash), std::move(licence)});
  }

  /// The kernels of the op that have a default, where its winners are.
  std::vector<std::size_t> kernels_with_default(const std::string& op) {
    std::vector<std::size_t> places;
    for (const fs::path& folder : folders_) {
      if (!fs::is_directory(folder)) continue;
      const std::set<fs::path> files(fs::directory_iterator(folder), {});  // in order
      for (const fs::path& file : files) {
        if (file.extension() != ".yaml" || !is_kernel_file(file)) continue;
        for (KernelSpec& kernel : load_twins(file)) {
          if (kernel.op != op || load_default_config(kernel).empty() ||
              !unpackable(kernel).empty() || is_compiled_per_problem(kernel)) {
            continue;
          }
          const auto [at, is_new] = kernels_.try_emplace(kernel.name);
          Known& known = at->second;
          if (is_new) {
            known.include = include_path(folder, {});
            std::string source_hash = version_of(kernel, known.include).source_hash;
            add_kernel(std::move(kernel), std::move(source_hash), known);
          }
          if (known.place) places.push_back(*known.place);
        }
      }
    }
    return places;
  }

  static std::string why_left_out(const std::optional<KernelSpec>& kernel, const TunedRow& entry,
                                  const std::vector<fs::path>& include) {
    if (!kernel) return "its contract is not here";
    const KernelVersion version = version_of(*kernel, include);
    if (version.contract_hash != entry.version.contract_hash) {
      return "its contract has changed since it was measured";
    }
    if (version.source_hash != entry.version.source_hash) {
      return "its source has changed since it was measured";
    }
    return unpackable(*kernel);
  }

  PackRow row_of(const TunedRow& entry, std::size_t place, const DeviceInfo& device) {
    const KernelSpec& kernel = pack_.kernels[place].spec;
    PackRow row;
    row.problem = problem_of(kernel, entry.problem);
    row.config = entry.best.config;
    row.time_ns = entry.time_ns.value;
    row.baseline = entry.baseline;
    row.baseline_ns = entry.baseline_ns;
    row.first_ns = entry.first_ns;
    row.algorithm = algorithm_of(entry.baseline_detail);
    row.cublas = entry.cublas;
    row.verified = entry.verification.has_value();
    return with_code(std::move(row), place, device);
  }

  PackRow with_code(PackRow row, std::size_t place, const DeviceInfo& device) {
    const KernelSpec& kernel = pack_.kernels[place].spec;
    row.kernel = place;
    std::vector<std::string> archs = archs_;
    if (archs.empty()) archs.push_back(native_arch(device.cc));
    for (const std::string& arch : archs) {
      const DeviceInfo target = archs_.empty() ? device : nominal_device(arch);
      if (!runs_on(kernel, target.cc)) continue;
      row.codes.push_back(job_of(place, row, target, arch));
    }
    return row;
  }

  std::size_t job_of(std::size_t place, const PackRow& row, const DeviceInfo& target,
                     const std::string& arch) {
    const auto& [kernel, per_problem, source_hash, licence] = pack_.kernels[place];
    const std::string key = fmt::format("{} {} {} {}", arch, kernel.name, to_text(row.config),
                                        per_problem ? to_text(row.problem) : "");
    const auto [at, is_new] = job_places_.emplace(key, jobs_.size());
    if (!is_new) return at->second;
    Job& job = jobs_.emplace_back();
    job.arch = arch;
    job.code = compiler_.submit(compile_job(kernel, row.problem, row.config, target, arch,
                                            kernels_.at(kernel.name).include));
    for (const ArgSpec& arg : kernel.args) {
      if (is_symbol(arg)) job.variables.push_back(std::get<BufferSpec>(arg.form).symbol);
    }
    return at->second;
  }

  const Store& store_;
  const std::vector<std::string> archs_;
  NvrtcCompiler compiler_;
  Pack pack_;
  std::map<std::string, Known> kernels_;
  std::set<fs::path> folders_;  // of the winners' contracts
  std::vector<Job> jobs_;
  std::map<std::string, std::size_t> job_places_;
  std::vector<std::vector<std::string>> measured_;  // the hash of the code of each row
};

std::string or_not_stated(const std::string& text) { return text.empty() ? "not stated" : text; }

}  // namespace

void CrossTable::compare(const CrossTimes& times, const std::vector<std::size_t>& chosen) {
  regrets = assay::regrets(times, chosen);
  fast_for = assay::fast_for(times, chosen);
}

std::string export_pack(const std::vector<CrossTable>& tables, const Store& store,
                        const std::vector<std::string>& archs, const std::string& output) {
  PackMaker maker(store, archs);
  for (const CrossTable& table : tables) maker.add(table);
  const std::string bytes = maker.finish();
  check_interrupt();
  create_folder_of(output);
  write_file_atomic(output, bytes);
  std::size_t num_rows = 0;
  for (const PackTable& table : maker.pack().tables) {
    num_rows += static_cast<std::size_t>(std::ranges::count_if(table.rows, is_measured));
  }
  return fmt::format("{}: {} problems, {} pieces of machine code, {}\n", output, num_rows,
                     maker.pack().codes.size(), format_bytes(bytes.size()));
}

int list_pack(const std::string& path, bool json) {
  const PackFile file(path);
  const Pack& pack = file.pack();
  for (const PackCode& code : pack.codes) file.code(code);  // checks the hash
  if (json) {
    write_out(document("pack", Json::parse(index_text(pack))));
    return kExitDone;
  }
  print_out("{}: made by {}\n\n", path, pack.made_by);
  Table tables({"op", "GPU", "conditions", "measured", ">problems", ">verified", ">measured code"});
  for (const PackTable& table : pack.tables) {
    const auto count = [&](const auto& holds) {
      return std::to_string(std::ranges::count_if(table.rows, holds));
    };
    tables.add_row({table.op, table.device.name, table.conditions, table.measured_at.substr(0, 10),
                    count(is_measured), count(&PackRow::verified), count(&PackRow::measured_code)});
  }
  write_out(tables.text(stdout_terminal()));
  Table kernels({"kernel", "op", "licence", "source", "contract"});
  for (const PackKernel& kernel : pack.kernels) {
    kernels.add_row({kernel.spec.name, kernel.spec.op, or_not_stated(kernel.licence),
                     kernel.source_hash.substr(0, 8), kernel.spec.contract_hash.substr(0, 8)});
  }
  print_out("\n{}", kernels.text(stdout_terminal()));
  std::map<std::string, std::pair<std::size_t, std::uint64_t>> archs;
  for (const PackCode& code : pack.codes) {
    auto& [count, total] = archs[code.arch];
    ++count;
    total += code.bytes;
  }
  Table codes({"machine code for", ">pieces", ">size"});
  for (const auto& [arch, each] : archs) {
    codes.add_row({"sm_" + arch, std::to_string(each.first), format_bytes(each.second)});
  }
  print_out("\n{}", codes.text(stdout_terminal()));
  return kExitDone;
}

MeasuredConfigs measured_configs(const TunedTable& table, const Results& results) {
  MeasuredConfigs measured;
  std::unordered_map<std::int64_t, double> ranked_ns;  // by trial
  for (const RankRow& rank : results.ranks) {
    for (const RankEntry& entry : rank.record.entries) ranked_ns[entry.trial_id] = entry.median_ns;
  }
  std::unordered_map<std::string, std::size_t> problems, configs;
  for (const TunedRow& entry : table.entries) {
    problems.emplace(to_text(entry.problem), problems.size());
    measured.times.problems.push_back(entry.problem);
    const bool is_library = entry.baseline.starts_with(kCublasLt);
    measured.times.library_ns.push_back(is_library ? entry.baseline_ns
                                                   : std::numeric_limits<double>::infinity());
    measured.times.first_ns.push_back(entry.first_ns > 0 ? entry.first_ns
                                                         : std::numeric_limits<double>::infinity());
  }
  const auto place_of = [&](const std::string& kernel, const Config& config) {
    const auto [at, is_new] = configs.emplace(kernel + ' ' + to_text(config), configs.size());
    if (is_new) measured.trials.emplace_back(problems.size());
    return at->second;
  };
  for (const TunedRow& entry : table.entries) {
    measured.winners.push_back(place_of(entry.best.kernel, entry.best.config));
  }
  for (const TrialRow& row : results.trials) {
    const TrialRecord& trial = row.record;
    if (trial.kernel.op != table.op || row.device.slug() != table.device.slug() ||
        trial.protocol.name != table.protocol || trial.outcome.status != Status::correct ||
        !trial.outcome.timing) {
      continue;
    }
    const auto problem = problems.find(to_text(trial.problem));
    if (problem == problems.end()) continue;
    measured.trials[place_of(trial.kernel.name, trial.config)][problem->second] = &row;
  }
  const auto screened_ns = [](const TrialRow* trial) {
    return trial == nullptr ? std::numeric_limits<double>::infinity()
                            : trial->record.outcome.timing->median_ns;
  };
  for (const auto& of_config : measured.trials) {
    std::vector<double>& time_ns = measured.times.time_ns.emplace_back();
    for (std::size_t i = 0; i < of_config.size(); ++i) {
      const double own_ns = screened_ns(of_config[i]);
      const auto ranked =
          std::isfinite(own_ns) ? ranked_ns.find(of_config[i]->id) : ranked_ns.end();
      if (ranked != ranked_ns.end() && ranked->second > 0) {
        time_ns.push_back(ranked->second);
        continue;
      }
      const double winner_ns = screened_ns(measured.trials[measured.winners[i]][i]);
      const double scale =
          std::isfinite(winner_ns) ? table.entries[i].time_ns.value / winner_ns : 1;
      time_ns.push_back(own_ns * scale);
    }
  }
  return measured;
}

void choose_configs(TunedTable& table, const MeasuredConfigs& measured,
                    const std::vector<std::size_t>& chosen) {
  for (std::size_t i = 0; i < table.entries.size(); ++i) {
    const TrialRow* const trial = measured.trials[chosen[i]][i];
    if (trial == nullptr) continue;
    const TrialRecord& record = trial->record;
    TunedRow& entry = table.entries[i];
    entry.best = {record.kernel.name, record.config};
    entry.time_ns.value = measured.times.time_ns[chosen[i]][i];
    entry.trial_id = trial->id;
    entry.version = record.kernel;
    entry.cubin_hash = record.compile.cubin_hash;
    entry.verification = record.verification;
  }
}

}  // namespace assay
