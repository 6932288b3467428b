// What a contract's check lets pass though it is wrong.
#include <fmt/format.h>

#include "worker/prepared_trial.h"

namespace assay {

/// As a good kernel would.
void PreparedTrial::write_right(const CheckedOutput& output) const {
  const Operand& right = output.reference->operand;
  if (right.dtype == output.dtype) {
    worker_->support.copy(output.buffer.data, right.data, output.buffer.bytes);
  } else {
    worker_->support.pointwise(Pointwise::copy, {right.data, 0, 0, 1, right.dtype}, {},
                               output.dtype, output.buffer.data, {1, right.elements()});
  }
}

PreparedTrial::ContractAudit PreparedTrial::audit_contract(std::uint64_t seed) {
  ContractAudit audit;
  SupportKernels& support = worker_->support;
  std::vector<DeviceMemory> of_other_inputs;
  redraw_->draw_inputs(seed + 1);
  refer();
  for (const CheckedOutput& output : buffers_.outputs) {
    write_right(output);
    of_other_inputs.push_back(allocate(worker_->driver, output.buffer.bytes));
    support.copy(of_other_inputs.back().get(), output.buffer.data, output.buffer.bytes);
  }
  for (std::size_t i = 0; i < buffers_.outputs.size(); ++i) {
    const CheckedOutput& output = buffers_.outputs[i];
    const GuardedBuffer& buffer = output.buffer;
    const std::int64_t elements = element_count(output.shape);
    const auto try_out = [&](const char* what, const Work& write) {
      redraw_->draw_inputs(seed);
      refer();
      make_ready();
      refer();  // takes back what hides it
      for (const CheckedOutput& each : buffers_.outputs) write_right(each);
      const std::uint64_t right = support.hash_of(buffer.data, buffer.bytes);
      write();
      if (support.hash_of(buffer.data, buffer.bytes) == right) return;
      ++audit.num_wrong;
      try {
        judge();
        audit.accepted.push_back(fmt::format("{} for {}", what, buffer.name));
      } catch (const Failure& failure) {
        if (failure.outcome().status != Status::correctness) throw;
      }
    };
    const auto fill = [&](Generator generator, double first) {
      support.fill(generator, output.dtype, buffer.data, elements, 1, first, 0);
    };
    try_out("zeros", [&] { fill(Generator::zeros, 0); });
    try_out("a constant", [&] {
      is_floating(output.dtype) ? fill(Generator::normal, output.reference->rms)
                                : fill(Generator::ones, 0);
    });
    if (redraw_->changes_inputs()) {
      try_out("the output of other inputs",
              [&] { support.copy(buffer.data, of_other_inputs[i].get(), buffer.bytes); });
    }
    if (elements < 2 || output.part.sorted || output.part.sum) continue;
    try_out("elements out of place", [&] {
      const auto size = static_cast<std::size_t>(size_bytes(output.dtype));
      support.copy(of_other_inputs[i].get(), buffer.data, buffer.bytes);
      support.copy(buffer.data, of_other_inputs[i].get() + size, buffer.bytes - size);
      support.copy(buffer.data + buffer.bytes - size, of_other_inputs[i].get(), size);
    });
  }
  return audit;
}

}  // namespace assay
