#include "pack/pack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/file.h"
#include "base/find_named.h"
#include "base/hash.h"
#include "base/json.h"
#include "pack/kernel_json.h"
#include "pack/nearest_row.h"

namespace assay {

// Two alternatives, of which one is a text.
static nlohmann::json value_json(const Value& value) {
  return std::visit([](const auto& each) { return nlohmann::json(each); }, value);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PackCode, arch, offset, bytes, hash, symbols)
// Problems and configurations have no names in the index, and places are checked: row_json() and
// read_row() have these.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PackRow, time_ns, baseline, baseline_ns, first_ns, cublas,
                                   regret, verified, measured_code)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceInfo, name, uuid, driver, cc, sm_count, smem_optin_bytes,
                                   l2_bytes, memory_bytes)

namespace {

constexpr std::size_t kMostPackItems = 1 << 20;  // rows, codes
constexpr std::size_t kMostAlgorithms = 1000;    // that a heuristic offers

/// What a pack begins with. Numbers are little-endian, as all machines with such GPUs are.
struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t index_bytes;
  char hash[16];  // of the index: the first half of its text
};
static_assert(sizeof(Header) == 32);

std::string index_hash(std::string_view index) {
  return hash_hex(index).substr(0, sizeof(Header::hash));
}

nlohmann::json row_json(const PackRow& row) {
  nlohmann::json json = row;
  json["algorithm"] = row.algorithm;
  json["kernel"] = row.kernel;
  json["codes"] = row.codes;
  json["fast_for"] = row.fast_for;
  json["problem"] = json["configuration"] = nlohmann::json::array();
  for (const auto& [name, number] : row.problem) json["problem"].push_back(number);
  for (const auto& [name, value] : row.config) json["configuration"].push_back(value_json(value));
  return json;
}

/// Reads the index. Whatever is not as it must be throws.
class IndexReader {
 public:
  IndexReader(const nlohmann::json& index, std::uint64_t code_bytes)
      : index_(index), code_bytes_(code_bytes) {}

  Pack read() {
    pack_.made_by = index_.at("made_by").get<std::string>();
    for (const nlohmann::json& kernel : list(index_.at("kernels"))) {
      pack_.kernels.push_back(
          {read_kernel_json(kernel.at("contract")), kernel.at("per_problem").get<bool>(),
           kernel.at("source_hash").get<std::string>(), kernel.at("licence").get<std::string>()});
      pack_.kernels.back().spec.contract_hash = kernel.at("contract_hash").get<std::string>();
    }
    for (const nlohmann::json& code : list(index_.at("codes"))) {
      pack_.codes.push_back(code.get<PackCode>());
      const PackCode& read = pack_.codes.back();
      if (read.offset > code_bytes_ || read.bytes > code_bytes_ - read.offset) {
        fail("machine code lies at {} to {} of {}", read.offset, read.offset + read.bytes,
             code_bytes_);
      }
    }
    for (const nlohmann::json& table : list(index_.at("tables")))
      pack_.tables.push_back(read_table(table));
    check_ops();
    return std::move(pack_);
  }

 private:
  template <typename... Parts>
  [[noreturn]] static void fail(fmt::format_string<Parts...> format, Parts&&... parts) {
    throw UsageError(fmt::format(format, std::forward<Parts>(parts)...));
  }

  static const nlohmann::json& list(const nlohmann::json& source) {
    if (!source.is_array() || source.size() > kMostPackItems) fail("a list is none, or too long");
    return source;
  }

  static std::size_t index(const nlohmann::json& source, std::size_t size, const char* what) {
    if (!source.is_number_unsigned() || source.get<std::uint64_t>() >= size) {
      fail("{} {} is none of {}", what, source.dump(), size);
    }
    return source.get<std::size_t>();
  }

  PackTable read_table(const nlohmann::json& source) const {
    PackTable table;
    table.op = source.at("op").get<std::string>();
    table.device = source.at("device").get<DeviceInfo>();
    table.conditions = source.at("conditions").get<std::string>();
    table.measured_at = source.at("measured_at").get<std::string>();
    const nlohmann::json& rows = list(source.at("rows"));
    for (const nlohmann::json& row : rows) {
      table.rows.push_back(read_row(row, table.op, rows.size()));
    }
    table.note_numbers();
    for (const PackRow& row : table.rows) {
      for (const std::size_t other : row.fast_for) {
        const Distance distance = distance_of(table.rows[other].problem, row.problem);
        if (!distance.is_below || distance.num_other != 1) {
          fail("the row {} is not smaller in one size alone than a row that is fast for it", other);
        }
      }
    }
    table.default_row = index(source.at("default"), table.rows.size(), "the default row");
    return table;
  }

  PackRow read_row(const nlohmann::json& source, const std::string& op,
                   std::size_t num_rows) const {
    auto row = source.get<PackRow>();
    row.kernel = index(source.at("kernel"), pack_.kernels.size(), "kernel");
    const KernelSpec& kernel = pack_.kernels[row.kernel].spec;
    if (kernel.op != op) fail("{} is no kernel of {}", kernel.name, op);
    const nlohmann::json& problem = list(source.at("problem"));
    const nlohmann::json& values = list(source.at("configuration"));
    const std::size_t dims = kernel.dims.size();
    if (problem.size() != dims + kernel.traits.size() || values.size() != kernel.params.size()) {
      fail("a row of {} has {} numbers and {} values", kernel.name, problem.size(), values.size());
    }
    for (std::size_t i = 0; i < problem.size(); ++i) {
      if (i < dims && !problem[i].is_number_integer()) fail("a size is no integer");
      if (!problem[i].is_number()) fail("a trait is no number");
      row.problem.emplace_back(i < dims ? kernel.dims[i] : kernel.traits[i - dims].first,
                               problem[i].get<Number>());
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string& param = kernel.params[i].name;
      if (values[i].is_string()) {
        row.config.emplace_back(param, values[i].get<std::string>());
      } else if (values[i].is_number_integer()) {
        row.config.emplace_back(param, values[i].get<std::int64_t>());
      } else {
        fail("{} is neither an integer nor a word", param);
      }
    }
    for (const nlohmann::json& code : list(source.at("codes"))) {
      row.codes.push_back(index(code, pack_.codes.size(), "machine code"));
    }
    for (const double value : {row.time_ns, row.baseline_ns, row.first_ns, row.regret}) {
      if (!std::isfinite(value) || value < 0) fail("a time or a ratio is no number from 0 on");
    }
    row.algorithm =
        static_cast<int>(index(source.at("algorithm"), kMostAlgorithms + 1, "algorithm"));
    for (const nlohmann::json& other : list(source.at("fast_for"))) {
      row.fast_for.push_back(index(other, num_rows, "the row"));
    }
    return row;
  }

  static std::map<std::string, DType> typed_args(const KernelSpec& kernel) {
    std::map<std::string, DType> types;
    for (const std::string& name : caller_args(kernel)) {
      const auto* arg = find_named(kernel.args, name);
      types[name] = std::get<BufferSpec>(arg->form).dtype;
    }
    return types;
  }

  /// All kernels of an op take the same problems and the same arguments.
  void check_ops() const {
    for (const PackKernel& kernel : pack_.kernels) {
      const auto first = std::ranges::find_if(
          pack_.kernels, [&](const PackKernel& other) { return other.spec.op == kernel.spec.op; });
      if (kernel.spec.dims != first->spec.dims || kernel.spec.traits != first->spec.traits ||
          typed_args(kernel.spec) != typed_args(first->spec)) {
        fail("{} and {} are of {}, and have other sizes, traits or arguments", kernel.spec.name,
             first->spec.name, kernel.spec.op);
      }
    }
  }

  const nlohmann::json& index_;
  const std::uint64_t code_bytes_;
  Pack pack_;
};

}  // namespace

std::vector<double> numbers_of(const Problem& problem) {
  std::vector<double> numbers;
  numbers.reserve(problem.size());
  for (const auto& [name, number] : problem) numbers.push_back(to_real(number));
  return numbers;
}

void PackTable::note_numbers() {
  numbers.clear();
  by_first.clear();
  for (const PackRow& row : rows) {
    std::ranges::copy(numbers_of(row.problem), std::back_inserter(numbers));
    by_first.push_back(by_first.size());
  }
  std::ranges::stable_sort(
      by_first, {}, [&](std::size_t row) { return to_real(rows[row].problem.front().second); });
}

std::string index_text(const Pack& pack) {
  nlohmann::json index = {{"made_by", pack.made_by},
                          {"kernels", nlohmann::json::array()},
                          {"codes", pack.codes},
                          {"tables", nlohmann::json::array()}};
  for (const PackKernel& kernel : pack.kernels) {
    index["kernels"].push_back({{"contract", kernel_json(kernel.spec)},
                                {"contract_hash", kernel.spec.contract_hash},
                                {"per_problem", kernel.per_problem},
                                {"source_hash", kernel.source_hash},
                                {"licence", kernel.licence}});
  }
  for (const PackTable& table : pack.tables) {
    nlohmann::json rows = nlohmann::json::array();
    for (const PackRow& row : table.rows) rows.push_back(row_json(row));
    index["tables"].push_back({{"op", table.op},
                               {"device", table.device},
                               {"conditions", table.conditions},
                               {"measured_at", table.measured_at},
                               {"default", table.default_row},
                               {"rows", std::move(rows)}});
  }
  return index.dump();
}

std::string seal_pack(std::string index, std::string_view code) {
  index.append((8 - index.size() % 8) % 8, ' ');  // so that the code is aligned
  check_json(index, "the pack's index");
  Header header{};
  std::ranges::copy(kPackMagic, header.magic);
  header.version = kPackVersion;
  header.index_bytes = static_cast<std::uint32_t>(index.size());
  const std::string hash = index_hash(index);
  std::ranges::copy(hash, header.hash);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes.append(index).append(code);
}

Pack read_pack(std::string_view bytes, std::string_view where, std::string_view* code) {
  const auto refuse = [&](const std::string& why) { throw UsageError("{}: {}", where, why); };
  Header header;
  if (bytes.size() < sizeof header || !bytes.starts_with(kPackMagic)) {
    refuse("this is no pack; assay export --format pack makes one");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kPackVersion) {
    refuse(fmt::format("this is a pack of version {}, expected {}", header.version, kPackVersion));
  }
  bytes.remove_prefix(sizeof header);
  if (header.index_bytes > bytes.size()) refuse("the pack is damaged: its end is missing");
  const std::string_view index = bytes.substr(0, header.index_bytes);
  if (index_hash(index) != std::string_view(header.hash, sizeof header.hash)) {
    refuse("the pack is damaged: its index has another hash");
  }
  check_json(index, where);
  *code = bytes.substr(index.size());
  try {
    return IndexReader(nlohmann::json::parse(index), code->size()).read();
  } catch (const nlohmann::json::exception& error) {
    refuse(fmt::format("the pack's index is not as it must be: {}", error.what()));
  } catch (const std::runtime_error& error) {  // Error and UsageError
    refuse(fmt::format("the pack's index is not as it must be: {}", error.what()));
  }
  return {};
}

PackFile::PackFile(const std::string& path) : path_(path) {
  const auto refuse = [&](const char* why) { throw UsageError("cannot read {}: {}", path, why); };
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) refuse(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse("a pack is a regular file");
  bytes_ = static_cast<std::size_t>(status.st_size);
  if (bytes_ == 0) refuse("the file is empty");
  memory_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory_ == MAP_FAILED) refuse(std::strerror(errno));
  try {
    pack_ = read_pack({static_cast<const char*>(memory_), bytes_}, path, &code_);
  } catch (...) {
    ::munmap(memory_, bytes_);
    throw;
  }
}

PackFile::~PackFile() { ::munmap(memory_, bytes_); }

std::string PackFile::code(const PackCode& code) const {
  const std::string_view bytes = code_.substr(code.offset, code.bytes);
  if (hash_hex(bytes) != code.hash) {
    throw UsageError(path_ + ": the pack is damaged: its machine code has another hash");
  }
  return std::string(bytes);
}

bool is_passed(const ArgSpec& arg) {
  const auto* buffer = std::get_if<BufferSpec>(&arg.form);
  return buffer != nullptr && buffer->role != Role::scratch && buffer->role != Role::prepared;
}

std::vector<std::string> caller_args(const KernelSpec& kernel) {
  std::vector<std::string> names;
  for (const ArgSpec& arg : kernel.args) {
    if (is_passed(arg)) names.push_back(arg.name);
  }
  return names;
}

bool is_library_product(const KernelSpec& kernel) {
  if (kernel.reference.size() != 1 || kernel.reference[0].operation != "gemm") return false;
  const auto is_size = [&](int slot) {
    return std::ranges::count(kernel.dims, kernel.symbols.name(slot)) > 0;
  };
  std::set<std::size_t> ranks;
  for (const auto& [role, name] : kernel.reference[0].operands) {
    const auto* arg = find_named(kernel.args, name);
    if (arg == nullptr || !is_passed(*arg)) return false;
    const auto& shape = std::get<BufferSpec>(arg->form).shape;
    ranks.insert(shape.size());
    for (const ExprSpec& size : shape) {
      if (!std::ranges::all_of(size.expr.slots(), is_size)) return false;
    }
  }
  return (ranks == std::set<std::size_t>{2} || ranks == std::set<std::size_t>{3}) &&
         std::ranges::any_of(kernel.baseline,
                             [](const BaselineSpec& each) { return each.name == kCublasLt; });
}

std::string unpackable(const KernelSpec& kernel) {
  for (const ArgSpec& arg : kernel.args) {
    const auto* buffer = std::get_if<BufferSpec>(&arg.form);
    if (buffer != nullptr && buffer->texture) return arg.name + " is read as a texture";
  }
  return {};
}

}  // namespace assay
