#include "runtime/tuned_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "launch/argument_values.h"

namespace assay {
namespace {

// What a launch has room for on its stack: 20 KB. A kernel's parameters have 4 KB at most.
constexpr std::size_t kMostPlaces = 512, kMostMaps = 16, kMostPackedBytes = 4096;
constexpr std::size_t kWorkspaceAlignment = 256, kStructAlignment = 128;
constexpr std::uint32_t kArgumentAlignment = 16;
// A descriptor is encoded for some address first. No memory lies there.
constexpr CUdeviceptr kNoAddress = 1 << 20;

constexpr CUtensorMap kNoTensorMap{};  // what a kernel gets where TMA may refuse a buffer

std::size_t aligned(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

bool is_aligned(const void* memory, std::size_t unit) {
  return memory != nullptr && reinterpret_cast<std::uintptr_t>(memory) % unit == 0;
}

}  // namespace

/// The values of one launch's arguments. Nothing of it is read before bind() wrote it.
struct TunedPlan::Room {
  std::array<void*, kMostPlaces> values;
  std::array<CUdeviceptr, kMostPlaces> addresses;
  std::array<CUtensorMap, kMostMaps> maps;
  alignas(64) std::array<unsigned char, kMostPackedBytes> packed;
};

TunedPlan::TunedPlan(Choice choice, const std::vector<std::string>& order, CUdevice device)
    : choice_(std::move(choice)), device_(device) {
  const Plan& plan = choice_.plan;
  if (plan.args.size() > kMostPlaces) {
    throw Refusal(ASSAY_NOTHING_FITS, fmt::format("the plan has {} arguments, of at most {}",
                                                  plan.args.size(), kMostPlaces));
  }
  const auto place_of = [&](const std::string& name) {
    return static_cast<std::size_t>(plan.find_arg(name) - plan.args.data());
  };
  arguments_.resize(order.size());
  scalars_.resize(plan.args.size());
  slots_.reserve(plan.args.size());
  std::size_t packed_bytes = 0;
  if (choice_.match == Match::fallback) workspace_bytes_ = LtProduct::kWorkspaceBytes;
  for (std::size_t place = 0; place < plan.args.size(); ++place) {
    const ArgPlan& arg = plan.args[place];
    if (const auto* scalar = std::get_if<ScalarPlan>(&arg)) {
      write_scalar(*scalar, &scalars_[place]);
    } else if (const auto* buffer = std::get_if<BufferPlan>(&arg)) {
      const auto bytes = static_cast<std::size_t>(buffer->bytes());
      const auto named = std::ranges::find(order, buffer->name);
      if (named != order.end()) {
        const auto number = static_cast<std::size_t>(named - order.begin());
        arguments_[number] = buffer;
        slots_.push_back({Form::callers, place, number});
      } else {
        const bool is_prepared = buffer->role == Role::prepared;
        std::size_t& end = is_prepared ? prepared_bytes_ : workspace_bytes_;
        slots_.push_back({is_prepared ? Form::prepared : Form::workspace, place, end});
        end += aligned(bytes, kWorkspaceAlignment);
      }
      if (buffer->zeroed > 0) {
        memsets_.push_back(
            {place, static_cast<std::size_t>(buffer->zeroed * size_bytes(buffer->dtype))});
      }
      if (!buffer->symbol.empty()) variables_.push_back({place, bytes, buffer->symbol});
      if (!buffer->copy_of.empty()) copies_.push_back({place, place_of(buffer->copy_of), bytes});
    } else if (const auto* map = std::get_if<TensorMapPlan>(&arg)) {
      if (map->box.empty()) {
        slots_.push_back({Form::no_tensor_map, place, 0});
        continue;
      }
      slots_.push_back({Form::tensor_map, place, map_sources_.size()});
      map_sources_.push_back(place_of(map->of));
    } else {
      StructLayout layout;
      for (const std::size_t member : std::get<StructPlan>(arg).members) {
        const Layout of_member = layout_of(plan, member);
        members_.push_back({place, member, static_cast<std::size_t>(layout.add(of_member)),
                            static_cast<std::size_t>(of_member.bytes)});
      }
      slots_.push_back({Form::packed, place, packed_bytes});
      packed_bytes += aligned(static_cast<std::size_t>(layout.layout().bytes), kStructAlignment);
    }
  }
  if (map_sources_.size() > kMostMaps || packed_bytes > kMostPackedBytes) {
    throw Refusal(ASSAY_NOTHING_FITS,
                  fmt::format("the plan has {} tensor maps of {} and structs of {} bytes of {}",
                              map_sources_.size(), kMostMaps, packed_bytes, kMostPackedBytes));
  }
}

const TunedPlan::Texts& TunedPlan::texts() const {
  std::call_once(texts_made_, [this] {
    const bool is_algorithm = choice_.algorithm > 0;
    texts_ = {choice_.match != Match::fallback ? to_text(choice_.row->config)
              : is_algorithm                   ? fmt::format("algorithm {}", choice_.algorithm)
                                               : "cuBLASLt's first choice",
              to_text(choice_.row->problem), why_text(choice_)};
  });
  return texts_;
}

void TunedPlan::load(const Driver& driver, const Module& module) {
  const Plan& plan = choice_.plan;
  auto loaded = std::make_unique<Loaded>();
  loaded->driver = &driver;
  loaded->launches = ready_launches(driver, module, plan, plan.launches);
  loaded->preparing = ready_launches(driver, module, plan, plan.prepare);
  for (const Slot& slot : slots_) {
    if (slot.form != Form::tensor_map) continue;
    const auto& map = std::get<TensorMapPlan>(plan.args[slot.place]);
    write_tensor_map(driver, map, *plan.find_buffer(map.of), kNoAddress,
                     &loaded->maps.emplace_back());
  }
  for (const Variable& variable : variables_) {
    const auto& symbols = choice_.code->symbols;
    const auto symbol = symbols.find(variable.symbol);
    const std::string& name = symbol != symbols.end() ? symbol->second : variable.symbol;
    std::size_t bytes = 0;
    driver.cuModuleGetGlobal(&loaded->variables.emplace_back(), &bytes, module.get(), name.c_str());
    if (bytes < variable.bytes) {
      throw Refusal(ASSAY_BAD_PACK, fmt::format("the variable {} has {} bytes, not {}",
                                                variable.symbol, bytes, variable.bytes));
    }
  }
  publish(std::move(loaded));
}

void TunedPlan::load(const Driver& driver, const CublasLt& cublas) {
  const auto number_of = [&](const char* operand) {
    const std::string& name = choice_.product->operands.at(operand);
    const auto found = std::ranges::find(arguments_, name, &BufferPlan::name);
    return static_cast<std::size_t>(found - arguments_.begin());
  };
  LtProduct product(cublas, product_shape(choice_.plan, *choice_.product));
  const auto aligned = product.algorithms(), any = product.algorithms(kArgumentAlignment);
  if (aligned.empty() || any.empty()) {
    throw Refusal(ASSAY_NOTHING_FITS, "cuBLASLt has no algorithm for the product");
  }
  // The number is that of the version that was measured.
  const bool is_known = choice_.algorithm > 0 && choice_.row->cublas == cublas.version() &&
                        static_cast<std::size_t>(choice_.algorithm) <= aligned.size();
  const std::size_t best = is_known ? static_cast<std::size_t>(choice_.algorithm) - 1 : 0;
  auto loaded = std::make_unique<Loaded>();
  loaded->driver = &driver;
  loaded->product.emplace(Product{std::move(product), aligned[best].algo, any.front().algo,
                                  number_of("a"), number_of("b"), number_of("out")});
  publish(std::move(loaded));
}

void TunedPlan::publish(std::unique_ptr<const Loaded> loaded) {
  owned_ = std::move(loaded);
  loaded_.store(owned_.get(), std::memory_order_release);
}

const TunedPlan::Loaded& TunedPlan::loaded() const {
  const Loaded* const loaded = loaded_.load(std::memory_order_acquire);
  if (loaded != nullptr) return *loaded;
  throw Refusal(ASSAY_NOT_PREPARED, "the plan's code is not loaded; call assay_prepare first");
}

void TunedPlan::check(const LaunchBuffers& buffers, bool preparing) const {
  if (buffers.num_arguments != arguments_.size() || buffers.arguments == nullptr) {
    throw Refusal(ASSAY_INVALID_ARGUMENT, fmt::format("expected {} arguments, found {}",
                                                      arguments_.size(), buffers.num_arguments));
  }
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    // What prepares only reads inputs.
    if (preparing && is_output(arguments_[i]->role)) continue;
    if (is_aligned(buffers.arguments[i], kArgumentAlignment)) continue;
    throw Refusal(ASSAY_INVALID_ARGUMENT,
                  fmt::format("{} is at {}, expected a multiple of {}", arguments_[i]->name,
                              buffers.arguments[i], kArgumentAlignment));
  }
  const auto check_memory = [&](const char* what, const void* memory, std::size_t bytes) {
    if (bytes == 0 || is_aligned(memory, kWorkspaceAlignment)) return;
    throw Refusal(ASSAY_INVALID_ARGUMENT,
                  fmt::format("{} of {} bytes is at {}, expected a multiple of {}", what, bytes,
                              memory, kWorkspaceAlignment));
  };
  if (!preparing) check_memory("the workspace", buffers.workspace, workspace_bytes_);
  check_memory("prepared memory", buffers.prepared, prepared_bytes_);
}

/// Sets `room.values` of all places. Buffers stand ahead of what is made of them.
void TunedPlan::bind(const Loaded& loaded, const LaunchBuffers& buffers, Room& room) const {
  // The driver only reads values.
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    room.values[i] = const_cast<std::uint64_t*>(&scalars_[i]);
  }
  const Driver& driver = *loaded.driver;
  for (const Slot& slot : slots_) {
    CUdeviceptr& value = room.addresses[slot.place];
    room.values[slot.place] = &value;
    switch (slot.form) {
      case Form::callers:
        // What prepares has no use for outputs, and the driver takes no null for a descriptor.
        value = std::max(address(buffers.arguments[slot.number]), kNoAddress);
        break;
      case Form::workspace:
        value = address(buffers.workspace) + slot.number;
        break;
      case Form::prepared:
        value = address(buffers.prepared) + slot.number;
        break;
      case Form::no_tensor_map:
        room.values[slot.place] = const_cast<CUtensorMap*>(&kNoTensorMap);
        break;
      case Form::tensor_map:
      case Form::packed:
        break;
    }
  }
  for (const Slot& slot : slots_) {
    if (slot.form != Form::tensor_map) continue;
    CUtensorMap& map = room.maps[slot.number];
    map = loaded.maps[slot.number];
    room.values[slot.place] = &map;
    const CUdeviceptr data = room.addresses[map_sources_[slot.number]];
    driver.cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(data));
  }
  for (const Slot& slot : slots_) {
    if (slot.form == Form::packed) room.values[slot.place] = room.packed.data() + slot.number;
  }
  for (const Member& member : members_) {
    std::memcpy(static_cast<unsigned char*>(room.values[member.packed_place]) + member.offset,
                room.values[member.member_place], member.bytes);
  }
}

void TunedPlan::enqueue(const Loaded& loaded, const std::vector<ReadyLaunch>& launches, Room& room,
                        CUstream stream) {
  std::array<void*, kMostPlaces> parameters;
  for (const ReadyLaunch& launch : launches) {
    for (std::size_t i = 0; i < launch.args.size(); ++i) {
      parameters[i] = room.values[launch.args[i]];
    }
    const CUresult result = launch.enqueue(*loaded.driver, parameters.data(), stream);
    if (result != CUDA_SUCCESS) loaded.driver->fail(result, launch.call);
  }
}

void TunedPlan::multiply(const Product& product, const LaunchBuffers& buffers, CUstream stream) {
  const auto at = [&](std::size_t number) { return address(buffers.arguments[number]); };
  const CUdeviceptr a = at(product.a), b = at(product.b), out = at(product.out);
  const bool aligned = (a | b | out) % LtProduct::kAlignment == 0;
  product.product.enqueue(aligned ? product.aligned : product.any, a, b, out,
                          address(buffers.workspace), LtProduct::kWorkspaceBytes, stream);
}

void TunedPlan::prepare(CUstream stream, const LaunchBuffers& buffers) const {
  const Loaded& code = loaded();
  check(buffers, true);
  Room room;
  bind(code, buffers, room);
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    code.driver->cuMemcpyDtoDAsync(code.variables[i], room.addresses[variables_[i].place],
                                   variables_[i].bytes, stream);
  }
  enqueue(code, code.preparing, room, stream);
}

void TunedPlan::launch(CUstream stream, const LaunchBuffers& buffers) const {
  const Loaded& code = loaded();
  check(buffers, false);
  if (code.product) return multiply(*code.product, buffers, stream);
  Room room;
  bind(code, buffers, room);
  const Driver& driver = *code.driver;
  for (const Memset& memset : memsets_) {
    driver.cuMemsetD8Async(room.addresses[memset.place], 0, memset.bytes, stream);
  }
  for (const Copy& copy : copies_) {
    driver.cuMemcpyDtoDAsync(room.addresses[copy.to_place], room.addresses[copy.from_place],
                             copy.bytes, stream);
  }
  enqueue(code, code.launches, room, stream);
}

}  // namespace assay
