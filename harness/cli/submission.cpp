#include "cli/submission.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/file.h"
#include "spec/cuda_source.h"
#include "spec/op_file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
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
    throw UsageError(fmt::format("{}: {}", file_.string(), message));
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
    const auto kernel =
        std::find_if(cuda.kernels.begin(), cuda.kernels.end(),
                     [&](const CudaSource::Kernel& each) { return each.name == entry; });
    if (kernel == cuda.kernels.end()) {
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
      const auto dim = std::find_if(dims.begin(), dims.end(), [&](const std::string& each) {
        return lower(each) == lower(name);
      });
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

bool is_contract(const fs::path& file) {
  return file.extension() == ".yaml" && load_yaml(file)->find("kernel");
}

}  // namespace

fs::path contract_of(const fs::path& given, const fs::path& op_path, const fs::path& work) {
  if (given.extension() == ".json") return Solution(given, *load_yaml(op_path)).unpack(work);
  if (fs::is_directory(given)) {
    std::vector<fs::path> contracts;
    for (const auto& entry : fs::directory_iterator(given)) {
      if (is_contract(entry.path())) contracts.push_back(entry.path());
    }
    if (contracts.size() == 1) return contracts.front();
    throw UsageError(fmt::format("{}: expected a folder with one contract, found {}",
                                 given.string(), contracts.size()));
  }
  const fs::path contract = fs::path(given).replace_extension(".yaml");
  if (given.extension() == ".cu" && !fs::exists(contract)) {
    throw UsageError(
        fmt::format("{}: expected its contract {} beside it, found none; `assay new` "
                    "drafts one",
                    given.string(), contract.filename().string()));
  }
  return contract;
}

}  // namespace assay
