#include "worker/prepared_buffers.h"

namespace assay {
namespace {

std::vector<GuardedBuffer> place(const Plan& plan, CUdeviceptr begin) {
  std::vector<GuardedBuffer> placed;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (buffer->role != Role::prepared) continue;
    placed.push_back(place_buffer(buffer->name, static_cast<std::size_t>(buffer->bytes()), begin));
    begin = placed.back().end;
  }
  return placed;
}

}  // namespace

PreparedBuffers::PreparedBuffers(WorkerState& worker, const Plan& plan) : worker_(&worker) {
  std::vector<GuardedBuffer> placed = place(plan, 0);
  if (placed.empty()) return;
  const std::size_t bytes = placed.back().end;
  memory_ = allocate(worker.driver, bytes);
  seals_ = allocate(worker.driver, sizeof(std::uint64_t) * placed.size());
  placed = place(plan, memory_.get());
  for (std::size_t i = 0; i < placed.size(); ++i) {
    buffers_.push_back({placed[i], seals_.get() + sizeof(std::uint64_t) * i});
  }
  worker.support.poison(memory_.get(), bytes);
}

void PreparedBuffers::seal() const {
  for (const auto& [buffer, seal] : buffers_) {
    worker_->driver.check(
        worker_->driver.cuMemsetD8Async(seal, 0, sizeof(std::uint64_t), worker_->stream),
        "cuMemsetD8Async");
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

}  // namespace assay
