#include "worker/fenced_inputs.h"

namespace assay {

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
