#include "cli/board.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <variant>

#include "base/bounded_json.h"
#include "base/cubin_info.h"
#include "base/error.h"
#include "base/find_named.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/include_path.h"
#include "compile/source_tree.h"
#include "space/plan_json.h"
#include "space/space.h"
#include "spec/cuda_source.h"
#include "spec/like.h"
#include "spec/op_file.h"
#include "spec/problems.h"
#include "spec/twins.h"
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

using Json = nlohmann::ordered_json;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<std::string> names_of_list(const YamlNode& list) {
  std::vector<std::string> names;
  for (const YamlPtr& item : list.list("a list")) names.push_back(item->text("a name"));
  return names;
}

/// A Solution says its sources, which of them is compiled, and the entry point. The rest is taken
/// to be what is most usual: the op's arguments, then sizes by their names, and a thread for each
/// element of the output. A contract among its sources says it otherwise.
class Solution {
 public:
  Solution(const fs::path& file, const YamlNode& op) : file_(file), op_(op) {
    const std::string content = read_file(file);
    check_json(content, file.string());
    json_ = Json::parse(content, nullptr, false);
    if (!json_.is_object()) fail("expected an object in JSON, such as a Solution");
  }

  fs::path unpack(const fs::path& folder) const {
    const std::string language = lower(text_at("/spec/language"_json_pointer));
    if (language != "cuda") fail(fmt::format("expected the language cuda, found {}", language));
    const std::string entry_point = text_at("/spec/entry_point"_json_pointer);
    const std::size_t colons = entry_point.rfind("::");
    if (colons == std::string::npos) {
      fail(fmt::format("expected an entry_point such as main.cu::run, found {}", entry_point));
    }
    const Json& sources = at("/sources"_json_pointer);
    if (!sources.is_array()) fail("expected a list of sources");
    std::optional<fs::path> contract;
    for (const Json& source : sources) {
      const fs::path name = fs::path(text_of(source, "path")).lexically_normal();
      if (name.empty() || name.is_absolute() || *name.begin() == "..") {
        fail(fmt::format("expected the path of a source in a folder of its own, found {}",
                         name.string()));
      }
      create_folder_of(folder / name);
      write_file_atomic(folder / name, text_of(source, "content"));
      if (name.extension() == ".yaml") contract = folder / name;
    }
    if (contract) return *contract;
    const fs::path source = folder / fs::path(entry_point.substr(0, colons)).filename();
    const fs::path made = fs::path(source).replace_extension(".yaml");
    write_file_atomic(made, contract_for(source, entry_point.substr(colons + 2)));
    return made;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw UsageError("{}: {}", file_.string(), message);
  }

  const Json& at(const Json::json_pointer& place) const {
    if (!json_.contains(place)) fail(fmt::format("expected {}, found none", place.to_string()));
    return json_.at(place);
  }
  std::string text_at(const Json::json_pointer& place) const {
    if (!at(place).is_string()) fail(fmt::format("expected a text at {}", place.to_string()));
    return at(place).get<std::string>();
  }
  std::string text_of(const Json& source, const char* key) const {
    if (!source.is_object() || !source.contains(key) || !source[key].is_string()) {
      fail(fmt::format("expected a source with the text \"{}\"", key));
    }
    return source[key].get<std::string>();
  }

  std::string contract_for(const fs::path& source, const std::string& entry) const {
    const CudaSource cuda = read_cuda_source(source);
    const CudaSource::Kernel* const kernel = find_named(cuda.kernels, entry);
    if (kernel == nullptr) {
      fail(
          fmt::format("expected a __global__ function {} in {}; a kernel is code of the device, "
                      "and Assay launches it",
                      entry, source.filename().string()));
    }
    const std::vector<std::string> dims = names_of_list(*op_.find("dims"));
    const auto& args = op_.find("args")->list("a list of arguments");
    std::vector<std::string> sizes;
    for (std::size_t i = args.size(); i < kernel->params.size(); ++i) {
      const std::string& name = kernel->params[i].name;
      const auto dim = std::ranges::find_if(
          dims, [&](const std::string& each) { return lower(each) == lower(name); });
      if (dim == dims.end()) {
        fail(
            fmt::format("expected the op's arguments and then sizes ({}) as parameters of {}, "
                        "found {}; a contract among the sources can say more",
                        fmt::join(dims, ", "), entry, name));
      }
      sizes.push_back(*dim);
    }
    std::string elements = "1";
    for (const YamlPtr& arg : args) {
      const YamlNode* const role = arg->find("role");
      if (!role || role->text("a role") != "out") continue;
      elements = fmt::format("({})", fmt::join(names_of_list(*arg->find("shape")), ") * ("));
      break;
    }
    const std::string passed =
        sizes.empty() ? "" : fmt::format("args: [{}]\n", fmt::join(sizes, ", "));
    return fmt::format(
        "kernel: {}\nop: {}\narch: [80]\n{}launches: [{{entry: \"{}\", grid: [\"cdiv({}, 256)\"], "
        "block: [256]}}]\n",
        source.stem().string(), text_at("/definition"_json_pointer), passed, entry, elements);
  }

  fs::path file_;
  const YamlNode& op_;
  Json json_;
};

/// The names of the ops in the folder of the kernels: `gemm`, of all its types, and `gemm_bf16`.
std::vector<std::string> known_ops(const fs::path& kernels) {
  std::vector<std::string> known;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(kernels / "ops", absent)) {
    if (entry.path().extension() != ".yaml") continue;
    known.push_back(entry.path().stem().string());
    for (std::string& name : op_names(entry.path())) {
      if (name != known.back()) known.push_back(std::move(name));
    }
  }
  std::ranges::sort(known);
  return known;
}

/// How large a problem is, to try small ones first.
double size_of(const Problem& problem) {
  double size = 1;
  for (const auto& [name, value] : problem) {
    if (const auto* dim = std::get_if<std::int64_t>(&value)) size *= static_cast<double>(*dim);
  }
  return size;
}

std::vector<Problem> read_hidden(const std::string& file, const KernelSpec& kernel) {
  try {
    const YamlPtr root = load_yaml(file);
    const YamlNode* const list = root->find("problems");
    return read_problems(list ? *list : *root,
                         {kernel.dims, {kernel.traits.begin(), kernel.traits.end()}});
  } catch (const UsageError& mistake) {
    throw HiddenMistake{mistake.what()};
  }
}

}  // namespace

Board Board::for_judging(fs::path folder) {
  Board board(std::move(folder));
  create_folder_of(board.database());
  const fs::path lock = board.folder_ / "board.lock";
  board.lock_ = UniqueFd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!board.lock_) throw UsageError("cannot write {}", lock.string());
  if (::flock(board.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw UsageError("{}: another assay judge is at work here", board.folder_.string());
  }
  return board;
}

Store Board::read() const {
  if (!fs::exists(database())) {
    throw UsageError("{}: expected a board, found no board.db; judge a submission to begin one",
                     folder_.string());
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
  const fs::path base = file_it_is_like(kernel.yaml_path);
  if (!base.empty()) files.push_back(from / base.filename());
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
  std::set<std::string> names;
  for (const TrialRow& row : store.trials({.op = op})) names.insert(row.record.kernel.name);
  for (const std::string& name : names) {
    if (!fs::exists(folder_of(op, name))) store.forget_kernel(name);
  }
}

std::string code_of(const KernelSpec& kernel, const Target& target, Compiler& compiler,
                    const std::vector<fs::path>& include) {
  const fs::path kept = fs::weakly_canonical(kernel.yaml_path.parent_path());
  for (const IncludeSpec& own : kernel.compile.include) {
    if (is_inside(fs::weakly_canonical(own.folder), kept)) continue;
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

fs::path contract_of(const fs::path& given, const fs::path& op_path, const fs::path& work) {
  if (given.extension() == ".json") return Solution(given, *load_yaml(op_path)).unpack(work);
  if (fs::is_directory(given)) {
    std::vector<fs::path> contracts;
    for (const auto& entry : fs::directory_iterator(given)) {
      const fs::path& file = entry.path();
      if (file.extension() == ".yaml" && load_yaml(file)->find("kernel")) contracts.push_back(file);
    }
    std::vector<fs::path> bases;  // contracts that others in the folder are like
    for (const fs::path& contract : contracts) bases.push_back(file_it_is_like(contract));
    std::erase_if(contracts, [&](const fs::path& contract) {
      return std::ranges::find(bases, contract) != bases.end();
    });
    if (contracts.size() == 1) return contracts.front();
    throw UsageError("{}: expected a folder with one contract, found {}", given.string(),
                     contracts.size());
  }
  const fs::path contract = fs::path(given).replace_extension(".yaml");
  if (!fs::exists(given) && !fs::exists(contract)) {
    throw UsageError(
        "{}: expected a contract, the .cu beside it, a folder or a Solution, found no such file",
        given.string());
  }
  if (given.extension() == ".cu" && !fs::exists(contract)) {
    throw UsageError("{}: expected its contract {} beside it, found none; `assay new` drafts one",
                     given.string(), contract.filename().string());
  }
  return contract;
}

fs::path op_file(const std::string& op, const fs::path& kernels) {
  for (const fs::path& folder : {kernels, here_or_shipped("kernels")}) {
    const fs::path whole = folder / "ops" / (op + ".yaml");
    if (fs::is_regular_file(whole)) return whole;
    const fs::path of_type = find_op(folder, op);
    if (!of_type.empty()) return of_type;
  }
  throw UsageError("expected the op {} in {}, found none{}", op, (kernels / "ops").generic_string(),
                   suggestion(op, known_ops(kernels)));
}

std::vector<JudgedProblem> problems_of(const KernelSpec& kernel, const std::string& hidden) {
  std::vector<JudgedProblem> problems{{kernel.smoke}};
  for (const Problem& problem : kernel.problems) {
    if (problem != kernel.smoke) problems.push_back({problem});
  }
  if (!hidden.empty()) {
    int number = 0;
    for (const Problem& problem : read_hidden(hidden, kernel)) {
      problems.push_back({problem, ++number});
    }
  }
  std::ranges::stable_sort(problems, {}, [](const auto& each) { return size_of(each.problem); });
  return problems;
}

}  // namespace assay
