#include "worker/redraw.h"

#include <cmath>

#include "support/derived.h"

namespace assay {
namespace {

// Outputs are poisoned ahead of one timed launch in so many.
constexpr std::uint64_t kDrawsPerPoison = 4;
// One launch in so many finds an element spoiled. A fill takes a tenth of the time of a 2048^3
// product, so the GPU would be cooler if there were one ahead of each.
constexpr std::uint64_t kLaunchesPerSpoil = 8;

bool is_generated(const BufferPlan& input) {
  return input.made_of.empty() && input.file.empty() && input.generator != kFillKernel;
}

Generator generator_of(const BufferPlan& input) {
  return row_of(generators(), "generator", input.generator).id;
}

/// Whether the numbers themselves are drawn.
bool is_random(const Input& input) {
  if (!is_floating(input.plan.dtype)) return false;
  if (input.kernel) return input.kernel->takes_seed();
  if (!is_generated(input.plan)) return false;
  const Generator generator = generator_of(input.plan);
  return generator == Generator::normal || generator == Generator::uniform;
}

/// What an input that is not drawn anew is made of must not be, either: it would no longer fit.
bool follows_its_sources(const Input& input) {
  return is_floating(input.plan.dtype) && !is_derived_on_host(input.plan);
}

void add_sources(const Input& input, std::set<const Input*>& all) {
  for (const auto& source : input.sources) {
    all.insert(source.get());
    add_sources(*source, all);
  }
}

}  // namespace

std::vector<GuardedBuffer> lay_out(const Plan& plan, CUdeviceptr begin) {
  std::vector<GuardedBuffer> placed;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (!is_shared(buffer->role)) continue;
    placed.push_back(place_buffer(buffer->name, static_cast<std::size_t>(buffer->bytes()), begin));
    begin = placed.back().end;
  }
  return placed;
}

std::size_t arena_bytes(const Plan& plan) {
  const std::vector<GuardedBuffer> placed = lay_out(plan, 0);
  return placed.empty() ? 0 : placed.back().end;
}

Redraw::Redraw(WorkerState& worker, const Plan& plan, const InputMap& inputs,
               const Reference& reference)
    : worker_(&worker),
      arena_begin_(worker.arena.begin()),
      arena_bytes_(arena_bytes(plan)),
      placed_(lay_out(plan, arena_begin_)) {
  std::set<const Input*> fixed, seen;
  for (const auto& [name, input] : inputs) {
    if (!follows_its_sources(*input)) add_sources(*input, fixed);
  }
  for (const auto& [name, input] : inputs) add_input(input, fixed, seen);
  for (const GuardedBuffer& placed : placed_) {
    const BufferPlan& buffer = *plan.find_buffer(placed.name);
    if (buffer.role == Role::inout) {
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

/// Behind what it is made of. Returns whether it is drawn anew.
bool Redraw::add_input(const std::shared_ptr<Input>& input, const std::set<const Input*>& fixed,
                       std::set<const Input*>& seen) {
  bool drawn = is_random(*input);
  for (const auto& source : input->sources) drawn = add_input(source, fixed, seen) || drawn;
  drawn = drawn && follows_its_sources(*input) && !fixed.contains(input.get());
  if (seen.insert(input.get()).second && drawn) random_inputs_.push_back(input);
  return drawn;
}

void Redraw::draw_inputs(std::uint64_t seed, DataKind kind) const {
  for (const auto& input : random_inputs_) {
    const bool any_range =
        !is_generated(input->plan) ||
        (generator_of(input->plan) == Generator::normal && input->plan.arguments.empty());
    worker_->inputs.draw(*input, seed, any_range ? kind : DataKind::as_drawn);
  }
}

void Redraw::poison() const {
  worker_->references.hide(worker_->secret() | 1);
  worker_->support.poison(arena_begin_, arena_bytes_);
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

/// The last bytes of a buffer may be poisoned, too: a launch has to write them.
void Redraw::poison_guards() const {
  for (const GuardedBuffer& buffer : placed_) {
    const CUdeviceptr end = (buffer.data + buffer.bytes) / sizeof kPoisonWord * sizeof kPoisonWord;
    worker_->support.poison(buffer.begin, buffer.data - buffer.begin);
    worker_->support.poison(end, buffer.end - end);
  }
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

void Redraw::operator()() const {
  draw_inputs(worker_->secret());
  poison();
  if (worker_->secret() % kDrawsPerPoison != 0) draw_numbers();
}

}  // namespace assay
