#include "judge/module_memory.h"

#include <algorithm>

#include "base/cubin_info.h"
#include "launch/failure.h"

namespace assay {
namespace {

constexpr std::size_t kMostNames = 4;
constexpr std::size_t kMostPaddingBytes = 256;

}  // namespace

/// The driver places each variable by itself, on an H200 at multiples of 256 bytes, and
/// `__constant__` ones, which a kernel can write through an ordinary pointer, among them. What pads
/// two variables is taken as theirs: a kernel could keep something there.
std::vector<ModuleMemory> module_memory(const Driver& driver, const Launcher& launcher,
                                        const std::string& cubin) {
  if (uses_heap(cubin)) {
    throw Failure(Status::correctness, "state",
                  "calls malloc: what it leaves in the device's heap is there for the next launch; "
                  "use scratch memory, which outlives no launch");
  }
  struct Piece {
    CUdeviceptr begin, end;
    std::string name;
  };
  std::vector<Piece> pieces;
  const auto add = [&](const std::string& name, bool is_constant) {
    CUdeviceptr data = 0;
    std::size_t bytes = 0;
    const CUresult found =
        driver.cuModuleGetGlobal.result(&data, &bytes, launcher.module()->get(), name.c_str());
    if (found == CUDA_ERROR_NOT_FOUND) {
      if (is_constant) return;  // a table of the compiler's own
      throw refused(
          "nothing says where the variable {} of the compiled kernel is, so nothing could tell "
          "whether launches change it",
          name);
    }
    driver.check(found, "cuModuleGetGlobal");
    const CUdeviceptr end = (data + bytes + 7) / 8 * 8;
    // What is copied there is no state of the code's own.
    for (const DeviceCopy& copy : launcher.symbols()) {
      if (copy.to == data) data += (copy.bytes + 7) / 8 * 8;
    }
    if (data < end) pieces.push_back({data / 8 * 8, end, name});
  };
  for (const std::string& name : variables_of(cubin)) add(name, false);
  for (const std::string& name : constants_of(cubin)) add(name, true);
  std::ranges::sort(pieces, [](const Piece& a, const Piece& b) { return a.begin < b.begin; });

  std::vector<ModuleMemory> found;
  std::size_t num_names = 0;  // of the last in `found`
  for (const Piece& piece : pieces) {
    const auto is_between = [&](const DeviceCopy& symbol) {
      return symbol.to >= found.back().data && symbol.to < piece.begin;
    };
    if (found.empty() || piece.begin > found.back().data + found.back().bytes + kMostPaddingBytes ||
        std::ranges::any_of(launcher.symbols(), is_between)) {
      found.push_back({piece.begin, piece.end - piece.begin, piece.name});
      num_names = 1;
      continue;
    }
    ModuleMemory& last = found.back();
    last.bytes = std::max<std::size_t>(last.bytes, piece.end - last.data);
    if (++num_names <= kMostNames) last.names += ", " + piece.name;
    if (num_names == kMostNames + 1) last.names += ", ...";
  }
  return found;
}

}  // namespace assay
