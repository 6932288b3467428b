#include "support/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/device_word.h"
#include "support/failure.h"

namespace assay {
namespace {

Failure refused(const std::string& message) { return {Status::runtime, "launch", message}; }

std::int64_t argument(const BufferPlan& plan, const std::string& name, std::int64_t otherwise) {
  const auto found = plan.arguments.find(name);
  return found == plan.arguments.end() ? otherwise : found->second;
}

void refuse_unknown_arguments(const BufferPlan& plan) {
  for (const auto& [name, value] : plan.arguments) {
    if (plan.generator == "uniform" && (name == "low" || name == "high")) continue;
    throw refused(
        fmt::format("input {}: generator {} has no argument {}", plan.name, plan.generator, name));
  }
}

std::string key_of(const BufferPlan& plan, std::uint64_t seed) {
  std::string key = fmt::format("{} {} [{}] {} {}", seed, plan.name, fmt::join(plan.shape, ","),
                                to_text(plan.dtype), plan.generator);
  for (const auto& [name, value] : plan.arguments) key += fmt::format(" {}={}", name, value);
  return key;
}

}  // namespace

std::uint64_t generator_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t key = 14695981039346656037u ^ (seed * 0x9E3779B97F4A7C15u);  // FNV-1a, seeded
  for (const char c : name) key = (key ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return key;
}

FillRecipe fill_recipe(const BufferPlan& plan) {
  refuse_unknown_arguments(plan);
  const std::string& name = plan.generator;
  if (name == "normal") {
    if (!is_floating(plan.dtype)) {
      throw refused(fmt::format("input {}: normal needs a floating-point dtype, not {}", plan.name,
                                to_text(plan.dtype)));
    }
    return {Generator::normal, 0, 0};
  }
  if (name == "uniform") {
    // [low, high); for an integer dtype the integers in it.
    const std::int64_t low = argument(plan, "low", -1), high = argument(plan, "high", 1);
    if (low >= high) {
      throw refused(
          fmt::format("input {}: uniform needs low < high, found {} and {}", plan.name, low, high));
    }
    return {Generator::uniform, static_cast<double>(low), static_cast<double>(high)};
  }
  if (name == "zeros") return {Generator::constant, 0, 0};
  if (name == "ones") return {Generator::constant, 1, 0};
  if (name == "iota") return {Generator::iota, 0, 0};
  if (name == "permutation") return {Generator::permutation, 0, 0};
  throw refused(fmt::format(
      "input {}: no generator {}; there are normal, uniform, zeros, ones, iota, permutation{}",
      plan.name, name, name == "routing" ? " (routing is reserved)" : ""));
}

Inputs::Inputs(const Driver& driver, CUstream stream, const SupportKernels& support)
    : driver_(&driver), stream_(stream), support_(&support) {}

std::shared_ptr<const Input> Inputs::get(const BufferPlan& plan, std::uint64_t seed) {
  std::string key = key_of(plan, seed);
  if (const auto found = kept_.find(key); found != kept_.end()) return found->second;

  const auto bytes = static_cast<std::size_t>(plan.bytes());
  Arena arena(*driver_);
  arena.reserve(guarded_bytes(bytes));
  auto input = std::make_shared<Input>();
  input->buffer = place_buffer(plan.name, bytes, arena.begin());
  input->memory = arena.take();
  input->plan = plan;
  input->seed = seed;
  input->key = key;
  restore(*input);
  DeviceWord<std::uint64_t> hash(*driver_, stream_);
  support_->hash(input->buffer.data, bytes, hash.pointer());
  input->hash = hash.read();
  kept_.emplace(std::move(key), input);
  return input;
}

void Inputs::restore(const Input& input) const {
  const GuardedBuffer& buffer = input.buffer;
  const FillRecipe recipe = fill_recipe(input.plan);
  poison(*driver_, buffer.begin, buffer.end - buffer.begin, stream_);
  support_->fill(recipe.generator, input.plan.dtype, buffer.data, input.plan.elements(),
                 generator_key(input.seed, input.plan.name), recipe.low, recipe.high);
}

}  // namespace assay
