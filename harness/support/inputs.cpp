#include "support/inputs.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/file.h"
#include "launch/failure.h"
#include "space/plan.h"
#include "spec/choices.h"
#include "support/device_word.h"
#include "support/fill_kernel.h"

namespace assay {
namespace {

/// What the contract gives for `name`, or else what the generator's row has for it.
double argument(const BufferPlan& plan, const GeneratorRow& row, const std::string& name) {
  if (const auto given = plan.arguments.find(name); given != plan.arguments.end()) {
    return given->second;
  }
  for (const GeneratorRow::Argument& argument : row.arguments) {
    if (argument.name == name && argument.value) return static_cast<double>(*argument.value);
  }
  throw refused("input {}: {} needs {}, found none", plan.name, row.name, name);
}

std::string key_of(const Plan& plan, const BufferPlan& buffer) {
  std::string key = fmt::format("{} [{}] {} {}", buffer.name, fmt::join(buffer.shape, ","),
                                to_text(buffer.dtype), buffer.generator);
  for (const auto& [name, value] : buffer.arguments) key += fmt::format(" {}={}", name, value);
  key += buffer.file;
  if (buffer.texture) key += " texture";  // one that is not has a fence around it
  if (const ReferenceKernelPlan* const kernel = find_fill(plan, buffer.name)) {
    const LaunchPlan& launch = kernel->launch;
    key += fmt::format(" {} {} [{}] [{}]", kernel->cubin_path, launch.entry,
                       fmt::join(launch.grid, ","), fmt::join(launch.block, ","));
    for (const ArgPlan& arg : kernel->args) {
      if (const auto* scalar = std::get_if<ScalarPlan>(&arg)) {
        std::visit([&](auto value) { key += fmt::format(" {}", value); }, scalar->value);
      }
    }
  }
  return key;
}

/// What its file makes it, which may have been edited while the sweep runs.
std::string content_of(const BufferPlan& plan) {
  const auto bytes = static_cast<std::size_t>(plan.bytes());
  try {
    if (plan.generator == kFillChoices) {
      const Choices choices = read_choices(load_source(plan.file));
      check_choices(choices, static_cast<std::int64_t>(plan.arguments.at("of")));
      const std::string content(reinterpret_cast<const char*>(choices.numbers.data()),
                                choices.numbers.size() * sizeof(std::int32_t));
      if (plan.shape[0] == choices.rows && plan.shape[1] == choices.per_row) return content;
      throw refused("input {} is [{}], but {} has {} rows of {} numbers", plan.name,
                    fmt::join(plan.shape, ","), plan.file, choices.rows, choices.per_row);
    }
    std::string content = read_file(plan.file, bytes);
    if (content.size() == bytes) return content;
    throw refused("input {} has {} bytes, but {} has {}", plan.name, bytes, plan.file,
                  content.size());
  } catch (const UsageError& error) {
    throw refused("input {}: {}", plan.name, error.what());
  }
}

/// Of what is quantised.
Blocks blocks_of(const BufferPlan& plan) {
  const ScaleLayout layout = scale_layout(plan, false);
  return {layout.batch(),       layout.rows(),        layout.columns(),      layout.block_rows,
          layout.block_columns, layout.blocks_down(), layout.blocks_across()};
}

ScaleRule rule_of(const BufferPlan& plan) {
  return {largest(plan.dtype), plan.arguments.contains("powers_of_two")};
}

/// The standard deviation that makes use of a small type's range: where it is left out, 448 is
/// 7 of them.
double usual_std(const BufferPlan& plan, double given) {
  if (plan.arguments.contains("std")) return given;
  if (plan.dtype == DType::e4m3 || plan.dtype == DType::e5m2) return largest(plan.dtype) / 7;
  return plan.dtype == DType::e2m1 ? largest(plan.dtype) / 3 : given;
}

bool is_made_on_device(const Input& input) {
  if (input.kernel) return input.kernel->takes_seed();
  return input.plan.file.empty() && !is_derived_on_host(input.plan);
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
      return {row.id, argument(plan, row, "mean"), usual_std(plan, argument(plan, row, "std"))};
    case Generator::zeros:
    case Generator::ones:
    case Generator::iota:
    case Generator::permutation:
      break;
    case Generator::uniform: {
      const double low = argument(plan, row, "low"), high = argument(plan, row, "high");
      if (low >= high) {
        throw refused("input {}: uniform needs low < high, found {} and {}", plan.name, low, high);
      }
      return {row.id, low, high};
    }
    case Generator::routing: {
      const std::int64_t tokens = count("tokens"), top = count("top"), hit = count("hit");
      const std::int64_t experts = count("experts");
      if (top < 1 || top > experts) {
        throw refused("input {}: routing needs a top of 1 to {} experts, found {}", plan.name,
                      experts, top);
      }
      if (plan.elements() % top != 0 || plan.elements() / top != tokens) {
        throw refused(
            "input {}: routing of {} tokens to {} experts each does not fit a buffer of [{}]",
            plan.name, tokens, top, fmt::join(plan.shape, ","));
      }
      if (hit != 0 && (hit < top || hit > std::min(experts, plan.elements()))) {
        throw refused("input {}: routing can hit {} to {} experts, found {}", plan.name, top,
                      std::min(experts, plan.elements()), hit);
      }
      const double skew = argument(plan, row, "skew");
      if (skew < 0) {
        throw refused("input {}: routing needs a skew of 0 or more, found {}", plan.name, skew);
      }
      return {row.id, static_cast<double>(experts), static_cast<double>(top),
              static_cast<double>(hit), skew};
    }
    case Generator::distinct: {
      const std::int64_t of = count("of");
      if (of < plan.elements()) {
        throw refused("input {}: there are no {} distinct numbers of {}", plan.name,
                      plan.elements(), of);
      }
      return {row.id, static_cast<double>(of)};
    }
    case Generator::row_starts: {
      const double nonzeros = argument(plan, row, "nonzeros"), skew = argument(plan, row, "skew");
      if (nonzeros < 0 || skew < 0 || plan.elements() < 2) {
        throw refused(
            "input {}: row_starts needs two elements, and no number below 0, found {} nonzeros, a "
            "skew of {} and [{}]",
            plan.name, nonzeros, skew, fmt::join(plan.shape, ","));
      }
      return {row.id, nonzeros, skew};
    }
  }
  return {row.id};
}

std::shared_ptr<Input> Inputs::get(const Plan& plan, const BufferPlan& buffer, std::uint64_t seed) {
  std::string key = key_of(plan, buffer);
  std::map<std::string, std::shared_ptr<Input>> sources;
  for (const std::string& name : fill_sources(plan, buffer)) {
    const auto source = get(plan, *plan.find_buffer(name), seed);
    key += fmt::format(" of ({})", source->key);
    sources.emplace(name, source);
  }
  if (const auto found = kept_.find(key); found != kept_.end()) {
    Input& kept = *found->second;
    if (std::exchange(kept.first_seed, seed) == seed) {
      draw(kept, seed);
    } else {
      kept.seed = seed;
      kept.kind = DataKind::as_drawn;
      fill(kept);
    }
    return found->second;
  }

  const auto bytes = static_cast<std::size_t>(buffer.bytes());
  Arena arena(support_->driver());
  arena.reserve(guarded_bytes(bytes));
  auto input = std::make_shared<Input>();
  input->buffer = place_buffer(buffer.name, bytes, arena.begin());
  guard_whole_page(input->buffer, arena.begin());
  input->memory = arena.take();
  input->plan = buffer;
  input->seed = input->first_seed = seed;
  input->key = key;
  if (buffer.generator == name_of(derivations(), Derivation::quantise)) {
    const Blocks blocks = blocks_of(buffer);
    input->largest = allocate(
        support_->driver(),
        static_cast<std::size_t>(blocks.batch * blocks.down * blocks.across) * sizeof(float));
  }
  for (const auto& [name, source] : sources) input->sources.push_back(source);
  if (const ReferenceKernelPlan* const kernel = find_fill(plan, buffer.name)) {
    input->kernel =
        std::make_unique<FillKernel>(support_->driver(), *kernel, [&](const std::string& name) {
          return name == buffer.name ? input->buffer.data : sources.at(name)->buffer.data;
        });
    fill_twice(*input);
  } else {
    restore(*input);
  }
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
  write(input);
  if (!is_made_on_device(input))
    input.hash = support_->hash_of(input.buffer.data, input.buffer.bytes);
}

void Inputs::remake(Input& input) const {
  if (is_made_on_device(input)) write(input);
}

void Inputs::write(const Input& input) const {
  const BufferPlan& plan = input.plan;
  if (input.kernel)
    return input.kernel->enqueue(support_->stream(), generator_key(input.seed, plan.name));
  if (!plan.file.empty()) return upload(input, content_of(plan));
  if (is_derived_on_host(plan)) return derive(input);
  if (!plan.made_of.empty()) return make_of(*input.sources.front(), input);
  const FillRecipe recipe = fill_recipe(plan);
  // How many rows each expert gets decides how much work there is. So tokens only change places.
  const bool keeps_work = recipe.generator == Generator::routing;
  const std::uint64_t places =
      keeps_work && input.seed != input.first_seed ? generator_key(input.seed, plan.name) : 0;
  support_->fill(recipe.generator, plan.dtype, input.buffer.data, plan.elements(),
                 generator_key(keeps_work ? input.first_seed : input.seed, plan.name), recipe.first,
                 recipe.second, recipe.third, recipe.fourth, places);
  if (input.kind == DataKind::as_drawn) return;
  // One key for all inputs would plant large values at the same places of weights and their scales.
  support_->vary(input.kind, plan.dtype, input.buffer.data, plan.elements(),
                 plan.shape.empty() ? 1 : plan.shape.back(),
                 generator_key(input.seed, "varied " + plan.name), recipe.first, recipe.second);
}

/// On the device.
void Inputs::make_of(const Input& source, const Input& input) const {
  const BufferPlan& plan = input.plan;
  const CUdeviceptr out = input.buffer.data;
  switch (row_of(derivations(), "derivation", plan.generator).id) {
    case Derivation::column: {
      // A copy goes by way of doubles, which hold no 64-bit integer.
      const DType dtype = size_bytes(plan.dtype) == 8 ? DType::f64 : plan.dtype;
      const auto column = static_cast<std::int64_t>(plan.arguments.at("index"));
      return support_->pointwise(Pointwise::copy,
                                 {source.buffer.data, column, 0, source.plan.shape.back(), dtype},
                                 {}, dtype, out, {1, plan.elements()});
    }
    case Derivation::quantise: {
      const Blocks blocks = blocks_of(plan);
      support_->largest(source.plan.dtype, source.buffer.data, blocks, input.largest.get());
      return support_->quantise(source.plan.dtype, source.buffer.data, blocks, input.largest.get(),
                                rule_of(plan), plan.dtype, out);
    }
    case Derivation::scales:
      return support_->scales(blocks_of(source.plan), source.largest.get(), rule_of(source.plan),
                              {plan.arguments.contains("transpose"), plan.shape.back()}, plan.dtype,
                              out);
    case Derivation::sorted:  // the host makes these
    case Derivation::order:
    case Derivation::rows:
    case Derivation::counts:
    case Derivation::starts:
    case Derivation::inverse:
      break;
  }
}

void Inputs::derive(const Input& input) const {
  const Input& source = *input.sources.front();
  std::string bytes(source.buffer.bytes, '\0');
  support_->download(bytes.data(), source.buffer.data, bytes.size());
  upload(input, derived(input.plan, source.plan, bytes));
}

void Inputs::upload(const Input& input, const std::string& bytes) const {
  support_->upload(input.buffer.data, bytes.data(), bytes.size());
}

/// On memory that held something else before, so that what is not written shows.
void Inputs::fill_twice(Input& input) const {
  const auto fail = [&](const std::string& what) {
    throw Failure(Status::runtime, "oracle", "the kernel {}, which fills {}, {}",
                  input.kernel->text(), input.plan.name, what);
  };
  const GuardedBuffer& buffer = input.buffer;
  const auto hash_of = [&](const GuardedBuffer& of) {
    return support_->hash_of(of.data, of.bytes);
  };
  std::vector<std::uint64_t> hashes;
  try {
    for (const auto& source : input.sources) hashes.push_back(hash_of(source->buffer));
    for (const std::uint32_t word : {~kPoisonWord, kPoisonWord}) {
      support_->driver().cuMemsetD32Async(buffer.begin, word, (buffer.end - buffer.begin) / 4,
                                          support_->stream());
      fill(input);
      hashes.push_back(hash_of(buffer));
    }
    DeviceWord<std::array<std::uint64_t, 2>> found(*support_);
    GuardZones(*support_, {buffer}).check(found.pointer());
    if (found.read() != std::array<std::uint64_t, 2>{}) fail("writes outside of it");
    if (hashes.rbegin()[0] != hashes.rbegin()[1]) {
      fail("must write every element, and the same each time");
    }
    for (std::size_t i = 0; i < input.sources.size(); ++i) {
      const Input& source = *input.sources[i];
      if (hash_of(source.buffer) != hashes[i]) {
        fail(fmt::format("changes {}, which it was to read", source.plan.name));
      }
    }
  } catch (const CudaError& error) {
    fail(fmt::format("cannot run: {}", error.what()));
  }
}

void Inputs::restore(Input& input) const {
  for (const auto& source : input.sources) restore(*source);
  const GuardedBuffer& buffer = input.buffer;
  poison(*support_, buffer.begin, buffer.end - buffer.begin);
  fill(input);
}

}  // namespace assay
