#include "support/inputs.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/failure.h"

namespace assay {
namespace {

Failure refused(const std::string& message) { return {Status::runtime, "launch", message}; }

/// What the contract gives for `name`, or else what the generator's row has for it.
double argument(const BufferPlan& plan, const GeneratorRow& row, const std::string& name) {
  if (const auto given = plan.arguments.find(name); given != plan.arguments.end()) {
    return given->second;
  }
  for (const GeneratorRow::Argument& argument : row.arguments) {
    if (argument.name == name && argument.value) return static_cast<double>(*argument.value);
  }
  throw refused(fmt::format("input {}: {} needs {}, found none", plan.name, row.name, name));
}

std::string key_of(const BufferPlan& plan) {
  std::string key = fmt::format("{} [{}] {} {}", plan.name, fmt::join(plan.shape, ","),
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
  const GeneratorRow& row = row_of(generators(), "generator", plan.generator);
  const auto count = [&](const char* name) {
    return static_cast<std::int64_t>(argument(plan, row, name));
  };
  switch (row.id) {
    case Generator::normal:
      return {row.id, argument(plan, row, "mean"), argument(plan, row, "std")};
    case Generator::zeros:
    case Generator::ones:
    case Generator::iota:
    case Generator::permutation:
      break;
    case Generator::uniform: {
      const double low = argument(plan, row, "low"), high = argument(plan, row, "high");
      if (low >= high) {
        throw refused(fmt::format("input {}: uniform needs low < high, found {} and {}", plan.name,
                                  low, high));
      }
      return {row.id, low, high};
    }
    case Generator::routing: {
      const std::int64_t tokens = count("tokens"), top = count("top"), hit = count("hit");
      const std::int64_t experts = count("experts");
      if (top < 1 || top > experts) {
        throw refused(fmt::format("input {}: routing needs a top of 1 to {} experts, found {}",
                                  plan.name, experts, top));
      }
      if (plan.elements() % top != 0 || plan.elements() / top != tokens) {
        throw refused(fmt::format(
            "input {}: routing of {} tokens to {} experts each does not fit a buffer of [{}]",
            plan.name, tokens, top, fmt::join(plan.shape, ",")));
      }
      if (hit != 0 && (hit < top || hit > std::min(experts, plan.elements()))) {
        throw refused(fmt::format("input {}: routing can hit {} to {} experts, found {}", plan.name,
                                  top, std::min(experts, plan.elements()), hit));
      }
      return {row.id, static_cast<double>(experts), static_cast<double>(top),
              static_cast<double>(hit)};
    }
    case Generator::distinct: {
      const std::int64_t of = count("of");
      if (of < plan.elements()) {
        throw refused(fmt::format("input {}: there are no {} distinct numbers of {}", plan.name,
                                  plan.elements(), of));
      }
      return {row.id, static_cast<double>(of)};
    }
    case Generator::row_starts: {
      const double nonzeros = argument(plan, row, "nonzeros"), skew = argument(plan, row, "skew");
      if (nonzeros < 0 || skew < 0 || plan.elements() < 2) {
        throw refused(fmt::format(
            "input {}: row_starts needs two elements, and no number below 0, found {} nonzeros, a "
            "skew of {} and [{}]",
            plan.name, nonzeros, skew, fmt::join(plan.shape, ",")));
      }
      return {row.id, nonzeros, skew};
    }
  }
  return {row.id};
}

Inputs::Inputs(const Driver& driver, CUstream stream, const SupportKernels& support)
    : driver_(&driver), stream_(stream), support_(&support) {}

std::shared_ptr<Input> Inputs::get(const BufferPlan& plan, std::uint64_t seed) {
  std::string key = key_of(plan);
  if (const auto found = kept_.find(key); found != kept_.end()) {
    draw(*found->second, seed);
    return found->second;
  }

  const auto bytes = static_cast<std::size_t>(plan.bytes());
  Arena arena(*driver_);
  arena.reserve(guarded_bytes(bytes));
  auto input = std::make_shared<Input>();
  input->buffer = place_buffer(plan.name, bytes, arena.begin());
  input->memory = arena.take();
  input->seal = allocate(*driver_, sizeof(std::uint64_t));
  input->plan = plan;
  input->seed = seed;
  restore(*input);
  kept_.emplace(std::move(key), input);
  return input;
}

void Inputs::draw(Input& input, std::uint64_t seed, DataKind kind) const {
  if (input.seed == seed && input.kind == kind) return;
  input.seed = seed;
  input.kind = kind;
  fill(input);
}

void Inputs::fill(Input& input) const {
  input.sealed = false;
  const FillRecipe recipe = fill_recipe(input.plan);
  support_->fill(recipe.generator, input.plan.dtype, input.buffer.data, input.plan.elements(),
                 generator_key(input.seed, input.plan.name), recipe.first, recipe.second,
                 recipe.third);
  if (input.kind == DataKind::as_drawn) return;
  support_->vary(input.kind, input.plan.dtype, input.buffer.data, input.plan.elements(),
                 input.plan.shape.empty() ? 1 : input.plan.shape.back(), input.seed);
}

void Inputs::seal(Input& input) const {
  if (input.sealed) return;
  const CUdeviceptr word = input.seal.get();
  driver_->check(driver_->cuMemsetD8Async(word, 0, sizeof(std::uint64_t), stream_),
                 "cuMemsetD8Async");
  support_->hash(input.buffer.data, input.buffer.bytes, word);
  input.sealed = true;
}

void Inputs::restore(Input& input) const {
  const GuardedBuffer& buffer = input.buffer;
  poison(*driver_, buffer.begin, buffer.end - buffer.begin, stream_);
  fill(input);
}

}  // namespace assay
