#include "worker/prepared_buffers.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "support/fill_kernel.h"

namespace assay {
namespace {

/// The buffers whose roles are chosen, one after another from `begin` on.
std::vector<GuardedBuffer> place(const Plan& plan, CUdeviceptr begin, bool (*is_chosen)(Role)) {
  std::vector<GuardedBuffer> placed;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (!is_chosen(buffer->role)) continue;
    placed.push_back(place_buffer(buffer->name, static_cast<std::size_t>(buffer->bytes()), begin));
    begin = placed.back().end;
  }
  return placed;
}

bool is_prepared(Role role) { return role == Role::prepared; }

// Outputs are poisoned ahead of one timed launch in so many.
constexpr std::uint64_t kDrawsPerPoison = 4;
// One launch in so many finds an element spoiled. A fill takes a tenth of the time of a 2048^3
// product, so the GPU would be cooler if there were one ahead of each.
constexpr std::uint64_t kLaunchesPerSpoil = 8;

// Lists are made by the host, for some 50 ns an element. One launch in so many finds others that it
// costs as much as the rest of a short sample.
constexpr std::uint64_t kListElementsPerLaunch = 8192;
// One timed launch in so many has a few large values in its inputs.
constexpr std::uint64_t kDrawsPerPlanted = 8;

/// Null for an input that no generator makes.
const GeneratorRow* generator_of(const BufferPlan& input) {
  if (!input.made_of.empty() || !input.file.empty() || input.generator == kFillKernel) {
    return nullptr;
  }
  return &row_of(generators(), "generator", input.generator);
}

/// Whether another seed makes something else of it.
bool is_random(const Input& input) {
  if (input.kernel) return input.kernel->takes_seed();
  const GeneratorRow* const row = generator_of(input.plan);
  if (row == nullptr) return false;
  switch (row->id) {
    case Generator::normal:
    case Generator::uniform:
    case Generator::permutation:
    case Generator::routing:
    case Generator::distinct:
      return true;
    case Generator::zeros:
    case Generator::ones:
    case Generator::iota:
    case Generator::row_starts:  // where rows begin decides how long they are
      break;
  }
  return false;
}

/// Adds the input behind what it is made of.
void add_in_order(const std::shared_ptr<Input>& input, std::vector<std::shared_ptr<Input>>& all) {
  if (std::ranges::find(all, input) != all.end()) return;
  for (const auto& source : input->sources) add_in_order(source, all);
  all.push_back(input);
}

void add_sources(const Input& input, std::set<const Input*>& all) {
  for (const auto& source : input.sources) {
    all.insert(source.get());
    add_sources(*source, all);
  }
}

}  // namespace

PreparedBuffers::PreparedBuffers(WorkerState& worker, const Plan& plan) : worker_(&worker) {
  std::vector<GuardedBuffer> placed = place(plan, 0, is_prepared);
  if (placed.empty()) return;
  const std::size_t bytes = placed.back().end;
  memory_ = allocate(worker.driver, bytes);
  seals_ = allocate(worker.driver, sizeof(std::uint64_t) * placed.size());
  placed = place(plan, memory_.get(), is_prepared);
  for (std::size_t i = 0; i < placed.size(); ++i) {
    buffers_.push_back({placed[i], seals_.get() + sizeof(std::uint64_t) * i});
  }
  worker.support.poison(memory_.get(), bytes);
}

void PreparedBuffers::seal() const {
  for (const auto& [buffer, seal] : buffers_) {
    worker_->driver.cuMemsetD8Async(seal, 0, sizeof(std::uint64_t), worker_->stream);
    worker_->support.hash(buffer.data, buffer.bytes, seal);
  }
}

CUdeviceptr FencedInputs::of(const Input& input) {
  // Nothing is read beside a texture, whatever the kernel asks for.
  if (input.plan.texture) return input.buffer.data;
  const auto [place, is_new] =
      copies_.try_emplace(&input, worker_->driver, input.buffer.bytes, side_);
  FencedMemory& copy = place->second;
  if (!is_new) return copy.data();
  worker_->support.poison(copy.begin(), copy.mapped_bytes());
  worker_->support.copy(copy.data(), input.buffer.data, input.buffer.bytes);
  worker_->synchronise();
  copy.forbid_writes();
  return copy.data();
}

std::vector<GuardedBuffer> lay_out(const Plan& plan, CUdeviceptr begin) {
  std::vector<GuardedBuffer> placed = place(plan, begin, is_shared);
  if (!placed.empty()) guard_whole_page(placed.back(), placed.front().begin);
  return placed;
}

std::size_t arena_bytes(const Plan& plan) {
  const std::vector<GuardedBuffer> placed = lay_out(plan, 0);
  return placed.empty() ? 0 : placed.back().end;
}

Redraw::Redraw(WorkerState& worker, const Plan& plan, const InputMap& inputs,
               const Reference& reference, const GuardZones& zones)
    : worker_(&worker),
      arena_begin_(worker.arena.begin()),
      arena_bytes_(arena_bytes(plan)),
      zones_(&zones) {
  sort_inputs(inputs);
  for (const GuardedBuffer& placed : lay_out(plan, arena_begin_)) {
    const BufferPlan& buffer = *plan.find_buffer(placed.name);
    if (is_filled(buffer.role)) {
      updated_.emplace_back(placed, inputs.at(placed.name));
    } else if (buffer.role == Role::scratch) {
      buffers_.push_back(
          {placed.data, DType::f32, static_cast<std::int64_t>(placed.bytes / sizeof(float)), 1});
    } else {
      buffers_.push_back(
          {placed.data, buffer.dtype, buffer.elements(), reference.outputs.at(buffer.name).rms});
    }
  }
}

/// Which inputs are drawn anew, and when.
void Redraw::sort_inputs(const InputMap& inputs) {
  for (const auto& [name, input] : inputs) add_in_order(input, all_inputs_);
  std::set<const Input*> drawn, listed;
  std::uint64_t list_elements = 0;
  const auto any_source = [](const Input& input, const std::set<const Input*>& of) {
    return std::ranges::any_of(input.sources,
                               [&](const auto& source) { return of.contains(source.get()); });
  };
  for (const auto& input : all_inputs_) {
    if (!is_random(*input) && !any_source(*input, drawn)) continue;
    drawn.insert(input.get());
    if (!is_derived_on_host(input->plan)) continue;
    listed.insert(input.get());
    add_sources(*input, listed);
    list_elements += static_cast<std::uint64_t>(input->plan.elements());
  }
  launches_per_list_ = 1 + list_elements / kListElementsPerLaunch;
  for (const auto& input : all_inputs_) {
    if (!drawn.contains(input.get())) continue;
    if (any_source(*input, listed)) listed.insert(input.get());
    (listed.contains(input.get()) ? lists_ : random_inputs_).push_back(input);
  }
}

void Redraw::draw(const std::vector<std::shared_ptr<Input>>& inputs, std::uint64_t seed,
                  DataKind kind) const {
  for (const auto& input : inputs) {
    const GeneratorRow* const row = generator_of(input->plan);
    // What is made of others is made anew where these become data of another kind.
    const bool any_range = row != nullptr ? row->id == Generator::normal : !input->sources.empty();
    worker_->inputs.draw(*input, seed, any_range ? kind : DataKind::as_drawn);
  }
}

void Redraw::draw_inputs(std::uint64_t seed, DataKind kind) const {
  draw(random_inputs_, seed, kind);
  draw(lists_, seed, kind);
}

void Redraw::draw_timed_inputs() const {
  const bool planted = worker_->secret() % kDrawsPerPlanted == 0;
  draw(random_inputs_, worker_->secret(), planted ? DataKind::planted : DataKind::as_drawn);
}

void Redraw::draw_lists_sometimes() const {
  if (lists_.empty() || worker_->secret() % launches_per_list_ != 0) return;
  draw(lists_, worker_->secret(), DataKind::as_drawn);
}

void Redraw::remake_inputs() const {
  for (const auto& input : all_inputs_) worker_->inputs.remake(*input);
}

void Redraw::poison() const {
  worker_->references.hide(worker_->secret() | 1);
  worker_->support.poison(arena_begin_, arena_bytes_);
  zones_->poison();
  worker_->support.fill_shared();
  for (const auto& [placed, input] : updated_) {
    worker_->support.copy(placed.data, input->buffer.data, placed.bytes);
  }
}

/// Leaves the poison in the guard zones alone.
void Redraw::draw_numbers() const {
  for (const Buffer& buffer : buffers_) draw_numbers(buffer, 0, buffer.elements);
}

void Redraw::draw_numbers(const Buffer& buffer, std::int64_t begin, std::int64_t elements) const {
  const double most = buffer.rms * std::sqrt(3.0);  // a uniform number's standard deviation is rms
  worker_->support.fill(Generator::uniform, buffer.dtype,
                        buffer.data + static_cast<CUdeviceptr>(begin * size_bytes(buffer.dtype)),
                        elements, worker_->secret(), -most, most);
}

void Redraw::spoil() const {
  if (buffers_.empty()) return;
  const Buffer& buffer = buffers_[worker_->secret() % buffers_.size()];
  if (buffer.elements == 0) return;
  const std::uint64_t place = worker_->secret() % static_cast<std::uint64_t>(buffer.elements);
  draw_numbers(buffer, static_cast<std::int64_t>(place), 1);
}

void Redraw::spoil_sometimes() const {
  if (worker_->secret() % kLaunchesPerSpoil == 0) spoil();
}

void Redraw::fill_rest() const {
  poison();
  if (worker_->secret() % kDrawsPerPoison != 0) draw_numbers();
}

void Redraw::operator()() const {
  draw_timed_inputs();
  fill_rest();
}

}  // namespace assay
