#include "compile/cubin_cache.h"

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json to_json(const std::string& key, const std::string& cubin, const CompileResult& result) {
  const CompileReport& report = result.report;
  json entry = {{"key", key},
                {"cubin_bytes", cubin.size()},
                {"cubin_hash", report.cubin_hash},
                {"registers", report.registers},
                {"spill_bytes", report.spill_bytes},
                {"stack_bytes", report.stack_bytes},
                {"static_smem_bytes", report.static_smem_bytes},
                {"symbols", result.symbols},
                {"log", result.log}};
  if (!result.ptx.empty()) entry["ptx_hash"] = hash_hex(result.ptx);
  return entry;
}

std::string dump(const json& entry) {
  // A log quotes the source, which may be in any encoding.
  return entry.dump(1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

CubinCache::CubinCache(fs::path directory) : directory_(std::move(directory)) {}

fs::path CubinCache::path(const std::string& key, const char* extension) const {
  return directory_ / "cubin" / key.substr(0, 2) / (key + extension);
}

std::optional<CompileResult> CubinCache::find(const std::string& key) const {
  CompileResult result;
  result.cubin_path = path(key, ".cubin");
  try {
    json entry = json::parse(read_file(path(key, ".json")));
    const auto hash = entry.at("hash").get<std::string>();
    entry.erase("hash");
    if (hash != hash_hex(dump(entry))) return std::nullopt;
    if (entry.at("key").get<std::string>() != key) return std::nullopt;
    std::string cubin = read_file(result.cubin_path);
    entry.at("cubin_hash").get_to(result.report.cubin_hash);
    if (entry.at("cubin_bytes").get<std::size_t>() != cubin.size()) return std::nullopt;
    if (result.report.cubin_hash != hash_hex(cubin)) return std::nullopt;
    entry.at("registers").get_to(result.report.registers);
    entry.at("spill_bytes").get_to(result.report.spill_bytes);
    entry.at("stack_bytes").get_to(result.report.stack_bytes);
    entry.at("static_smem_bytes").get_to(result.report.static_smem_bytes);
    entry.at("symbols").get_to(result.symbols);
    entry.at("log").get_to(result.log);
    if (entry.contains("ptx_hash")) {
      result.ptx = read_file(path(key, ".ptx"));
      if (entry.at("ptx_hash").get<std::string>() != hash_hex(result.ptx)) return std::nullopt;
      result.cubin = std::move(cubin);
    }
  } catch (const UsageError&) {
    return std::nullopt;  // absent
  } catch (const json::exception&) {
    return std::nullopt;  // damaged
  }
  result.report.cached = true;
  result.ok = true;
  return result;
}

void CubinCache::store(const std::string& key, const std::string& cubin,
                       CompileResult& result) const {
  result.cubin_path = path(key, ".cubin");
  result.report.cubin_hash = hash_hex(cubin);
  std::error_code error;
  const fs::path folder = result.cubin_path.parent_path();
  fs::create_directories(folder, error);
  if (error) throw Error("cannot create {}: {}", folder.string(), error.message());
  write_file_atomic(result.cubin_path, cubin);
  if (!result.ptx.empty()) write_file_atomic(path(key, ".ptx"), result.ptx);
  json entry = to_json(key, cubin, result);
  entry["hash"] = hash_hex(dump(entry));
  write_file_atomic(path(key, ".json"), dump(entry));
}

}  // namespace assay
