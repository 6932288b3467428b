#include "judge/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/elapsed.h"
#include "base/file.h"
#include "judge/reference_kernel.h"
#include "judge/reference_shapes.h"
#include "judge/tolerance.h"
#include "space/plan_json.h"

namespace assay {
namespace {

/// All that decides what the steps make, but for the seeds of the inputs.
std::string key_of(const Plan& plan, const InputMap& inputs) {
  nlohmann::json key = plan.reference;
  const auto add_buffer = [&](const std::string& name) {
    if (const auto input = inputs.find(name); input != inputs.end()) {
      key.push_back(input->second->key);
    } else if (const BufferPlan* buffer = plan.find_buffer(name)) {
      key.push_back({buffer->dtype, buffer->shape});
    }
  };
  for (const ReferencePlan& step : plan.reference) {
    for (const auto& [role, name] : step.operands) add_buffer(name);
    if (!step.kernel) continue;
    for (const BufferPlan* buffer : step.kernel->buffers()) add_buffer(buffer->name);
  }
  return key.dump();
}

std::string seeds_of(const InputMap& inputs) {
  std::string text = "of";
  for (const auto& [name, input] : inputs)
    text += fmt::format(" {}={}/{}", name, input->seed, static_cast<int>(input->kind));
  return text;
}

/// What an operation makes is kept in f32, unless the output that is compared with it needs more.
DType kept_in(const BufferPlan* buffer, bool wide) {
  if (buffer == nullptr) return wide ? DType::f64 : DType::f32;
  if (buffer->dtype == DType::f64 || !is_floating(buffer->dtype)) return buffer->dtype;
  return DType::f32;
}

std::string text_of(const ReferencePlan& step) {
  if (!step.file.empty()) return "file " + std::filesystem::path(step.file).filename().string();
  if (!step.kernel) return step.operation;
  return fmt::format("kernel {} of {}", step.kernel->launch.entry, step.kernel->source);
}

// A wrong layout or leading dimension makes nearly all elements wrong.
constexpr int kNumSamples = 64;

std::set<std::int64_t> sampled(std::string_view name, std::int64_t elements) {
  std::set<std::int64_t> indices{0, elements - 1};
  for (std::uint64_t i = 0; i < kNumSamples; ++i) {
    const std::uint64_t random = generator_key(i, name);
    indices.insert(static_cast<std::int64_t>(random % static_cast<std::uint64_t>(elements)));
  }
  return indices;
}

}  // namespace

std::string unchecked_note(const Reference& reference) {
  if (reference.unchecked.empty()) return "";
  return fmt::format("the reference itself was not checked in fp64: there is no rule for {}",
                     fmt::join(reference.unchecked, ", "));
}

OperationCall reference_call(const Plan& plan, std::size_t index, const InputMap& inputs,
                             const Reference& made) {
  const ReferencePlan& step = plan.reference[index];
  OperationCall call;
  call.options = step.options;
  for (const OperandRow& row : row_of(operations(), "operation", step.operation).inputs) {
    const std::string role(row.name);
    const auto named = step.operands.find(role);
    if (named == step.operands.end()) {
      if (row.optional) continue;
      throw oracle_failure("{}: the reference names no {}", step.operation, role);
    }
    const std::string& name = named->second;
    if (const ReferenceOutput* earlier = made.find(name)) {
      call.operands[role] = earlier->operand;
      call.terms[role] = earlier->terms();
      call.parts[role] = earlier->parts_memory.get();
    } else if (const auto input = inputs.find(name); input != inputs.end()) {
      const Input& found = *input->second;
      call.operands[role] = {found.buffer.data, found.plan.dtype, found.plan.shape};
    } else {
      throw oracle_failure("{}: operand {} is {}, neither an input nor made by an earlier step",
                           step.operation, role, name);
    }
  }
  return call;
}

References::References(OperationEngine& engine)
    : support_(&engine.support()), engine_(&engine), sums_(engine.support()) {}

std::shared_ptr<const Reference> References::get(const Plan& plan, const InputMap& inputs) {
  std::string drawn = seeds_of(inputs);
  std::shared_ptr<Reference>& kept = kept_[key_of(plan, inputs)];
  if (kept && kept->veil != 0) veil(*kept, 0);
  if (kept && kept->drawn == drawn) return kept;

  // What fails is not kept.
  const std::shared_ptr<Reference> reference =
      kept ? std::exchange(kept, nullptr) : std::make_shared<Reference>();
  const auto begin = std::chrono::steady_clock::now();
  const bool again = !reference->drawn.empty();
  compute(plan, inputs, *reference);
  if (again) reference->cost_s = seconds_since(begin);
  reference->drawn = std::move(drawn);
  kept = reference;
  return reference;
}

void References::hide(std::uint64_t key) {
  for (const auto& [name, reference] : kept_) {
    if (reference && reference->veil == 0) veil(*reference, key);
  }
}

void References::clear() {
  kept_.clear();
  engine_->release();
}

/// Takes back the veil that is there, or makes one of `key`.
void References::veil(Reference& reference, std::uint64_t key) const {
  for (const auto& [name, output] : reference.outputs) {
    const std::uint64_t used = key != 0 ? key : reference.veil;
    support_->veil(output.operand.data, output.bytes(), used);
    // A kernel that found the sizes of the terms could widen its own bounds.
    for (const CUdeviceptr sizes : {output.terms(), output.parts_memory.get()}) {
      if (sizes != 0) support_->veil(sizes, output.terms_bytes(), used);
    }
  }
  reference.veil = key;
}

void References::compute(const Plan& plan, const InputMap& inputs, Reference& reference) {
  reference.made.clear();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < plan.reference.size(); ++i) {
    const ReferencePlan& step = plan.reference[i];
    texts.push_back(text_of(step));
    if (step.kernel) {
      add_kernel(plan, *step.kernel, inputs, reference);
    } else if (!step.file.empty()) {
      add_file(plan, step, reference);
    } else {
      add_step(plan, i, inputs, reference);
    }
  }
  reference.text = fmt::format("{}", fmt::join(texts, ", "));
}

void References::add_step(const Plan& plan, std::size_t index, const InputMap& inputs,
                          Reference& reference) {
  const ReferencePlan& step = plan.reference[index];
  const OperationRow& row = row_of(operations(), "operation", step.operation);
  const Operation& operation = operation_of(row.id);
  OperationCall call = reference_call(plan, index, inputs, reference);
  Arithmetic before;
  bool wide = false;
  for (const OperandRow& input : row.inputs) {
    const auto named = step.operands.find(std::string(input.name));
    if (named == step.operands.end()) continue;
    wide = wide || call.operand(named->first).dtype == DType::f64;
    if (const ReferenceOutput* earlier = reference.find(named->second)) {
      before += earlier->arithmetic;
    }
  }
  const std::vector<OutputShape> made = outputs_of(plan, step, call);
  for (std::size_t i = 0; i < row.outputs.size(); ++i) {
    const std::string role(row.outputs[i].name);
    const std::string& name = step.operands.at(role);
    const BufferPlan* buffer = plan.find_buffer(name);
    ReferenceOutput& output = reference.outputs[name];
    output.arithmetic = made[i].arithmetic;
    output.arithmetic += before;
    if (step.round) output.arithmetic.rounding += unit_roundoff(*step.round);
    output.operand = {output.memory.get(), step.round.value_or(kept_in(buffer, wide)),
                      made[i].extents};
    if (output.operand.data == 0) {
      output.memory = allocate(support_->driver(), output.bytes());
      output.operand.data = output.memory.get();
    }
    const auto make_room = [&](bool is_made, DeviceMemory& memory) {
      if (!is_made) memory = {};
      if (is_made && !memory) memory = allocate(support_->driver(), output.terms_bytes());
      return memory.get();
    };
    call.terms[role] = make_room(i == 0 && operation.makes_terms(call), output.terms_memory);
    call.parts[role] = make_room(i == 0 && operation.makes_parts(call), output.parts_memory);
    call.operands[role] = output.operand;
  }
  operation.compute(call, *engine_);
  const bool known = !reference.drawn.empty();
  if (!known && !spot_check(row, operation, call, made,
                            [this](const Operand& operand, std::int64_t first,
                                   std::int64_t step_elements, std::int64_t count) {
                              return engine_->read(operand, first, step_elements, count);
                            })) {
    reference.unchecked.insert(step.operation);
  }

  for (std::size_t i = 0; i < row.outputs.size(); ++i) {
    const std::string& name = step.operands.at(std::string(row.outputs[i].name));
    ReferenceOutput& output = reference.outputs[name];
    describe(name, output);
    reference.made.insert(name);
  }
}

/// Its inputs are the same in each run, so it is read once.
void References::add_file(const Plan& plan, const ReferencePlan& step, Reference& reference) {
  const std::string& name = step.operands.at("out");
  const BufferPlan& buffer = *plan.find_buffer(name);
  ReferenceOutput& output = reference.outputs[name];
  if (output.operand.data == 0) {
    const auto bytes = static_cast<std::size_t>(buffer.bytes());
    std::string content;
    try {
      content = read_file(step.file, bytes);
    } catch (const UsageError& error) {  // it was there when the sweep began
      throw oracle_failure("{}", error.what());
    }
    if (content.size() != bytes) {
      throw oracle_failure("{} has {} bytes, but {} has {}", step.file, content.size(), name,
                           bytes);
    }
    output.memory = allocate(support_->driver(), bytes);
    output.operand = {output.memory.get(), buffer.dtype, buffer.shape};
    support_->upload(output.operand.data, content.data(), bytes);
    // What made it is not known, and it was rounded to be recorded.
    output.arithmetic = of_functions();
    output.arithmetic += sum_of_unknown_products(step.sum_length);
    if (is_floating(buffer.dtype)) output.arithmetic.rounding += unit_roundoff(buffer.dtype);
  }
  describe(name, output);
  reference.made.insert(name);
}

void References::add_kernel(const Plan& plan, const ReferenceKernelPlan& kernel,
                            const InputMap& inputs, Reference& reference) {
  const auto address_of = [&](const std::string& name) {
    const ReferenceOutput* earlier = reference.find(name);
    return earlier != nullptr ? earlier->operand.data : inputs.at(name)->buffer.data;
  };
  std::map<std::string, std::uint64_t> hashes;  // of what it reads
  const auto hash_read = [&](const std::string& name) {
    const ReferenceOutput* earlier = reference.find(name);
    return earlier != nullptr
               ? earlier->hash
               : support_->hash_of(inputs.at(name)->buffer.data, inputs.at(name)->buffer.bytes);
  };
  const auto check_inputs = [&] {
    for (const auto& [name, hash] : hashes) {
      const ReferenceOutput* earlier = reference.find(name);
      const std::size_t bytes =
          earlier != nullptr ? earlier->bytes() : inputs.at(name)->buffer.bytes;
      if (support_->hash_of(address_of(name), bytes) == hash) continue;
      throw oracle_failure("the reference {} of {} changed {}, which it was to read",
                           kernel.launch.entry, kernel.source, name);
    }
  };
  Arithmetic before;
  for (const BufferPlan* buffer : kernel.buffers()) {
    const ReferenceOutput* earlier = reference.find(buffer->name);
    if (earlier != nullptr) before += earlier->arithmetic;
  }
  std::map<std::string, ReferenceOutput> made;
  try {
    if (!reference.drawn.empty()) {
      rerun_reference_kernel(*support_, kernel, address_of, [&](const std::string& name) {
        return reference.outputs.at(name).operand.data;
      });
      for (const BufferPlan* buffer : kernel.buffers()) {
        if (!is_output(buffer->role)) continue;
        ReferenceOutput& output = reference.outputs.at(buffer->name);
        output.terms_memory = {};  // a step before may have made them
        output.parts_memory = {};
        describe(buffer->name, output);
        reference.made.insert(buffer->name);
      }
      return;
    }
    for (const BufferPlan* buffer : kernel.buffers()) {
      if (buffer->role == Role::in) hashes[buffer->name] = hash_read(buffer->name);
    }
    made = run_reference_kernel(*support_, kernel, address_of, check_inputs);
  } catch (const CudaError& error) {
    throw oracle_failure("the reference {} of {} cannot run: {}", kernel.launch.entry,
                         kernel.source, error.what());
  }
  for (auto& [name, output] : made) {
    output.arithmetic += before;
    // What only later steps read is what a chain of kernels would round.
    if (plan.find_buffer(name) == nullptr && is_floating(output.operand.dtype)) {
      output.arithmetic.rounding += unit_roundoff(output.operand.dtype);
    }
    describe(name, output);
    ReferenceOutput& kept = reference.outputs[name];
    // What a step before made of an in-out argument is left in no memory that is given back.
    if (kept.memory) poison(*support_, kept.operand.data, kept.bytes() / 4 * 4);
    kept = std::move(output);
    reference.made.insert(name);
  }
}

/// Notes the sizes and the hashes of what was made.
void References::describe(const std::string& name, ReferenceOutput& output) const {
  const std::int64_t elements = output.made_elements();
  sums_.clear();
  const auto at = [this](std::size_t offset) { return sums_.pointer() + offset; };
  support_->sum_squares(output.operand.dtype, output.operand.data, elements,
                        at(offsetof(Sums, squares)));
  support_->hash(output.operand.data, output.bytes(), at(offsetof(Sums, hash)));
  if (const CUdeviceptr terms = output.terms_memory.get(); terms != 0) {
    support_->sum(DType::f32, terms, elements, at(offsetof(Sums, squared_terms)));
    support_->hash(terms, output.terms_bytes(), at(offsetof(Sums, terms_hash)));
  }
  const Sums sums = sums_.read();
  const auto root_of_mean = [&](double sum) {
    return std::sqrt(sum / static_cast<double>(elements));
  };
  output.rms = root_of_mean(sums.squares);
  if (!std::isfinite(output.rms)) throw oracle_failure("the reference made a NaN in {}", name);
  output.hash = sums.hash;
  // Squares that fp32 cannot hold bound nothing.
  const double terms = root_of_mean(sums.squared_terms);
  output.terms_rms = std::isfinite(terms) ? terms : 0;
  output.terms_hash = sums.terms_hash;
}

bool spot_check(const OperationRow& row, const Operation& operation, const OperationCall& call,
                const std::vector<OutputShape>& made, const ReadElements& read) {
  for (std::size_t output = 0; output < made.size(); ++output) {
    const Operand& out = call.operand(std::string(row.outputs[output].name));
    for (const std::int64_t index : sampled(row.name, out.elements())) {
      const std::optional<ExactElement> exact = operation.exact(call, output, index, read);
      if (!exact) return false;
      const double found = read(out, index, 1, 1)[0];
      double bound = exactness_bound(made[output].arithmetic, exact->value, exact->scale) +
                     std::numeric_limits<float>::denorm_min();
      // What a step rounds to 16 bits; below the normal range of f16, by half their distance.
      if (out.dtype == DType::bf16 || out.dtype == DType::f16) {
        bound += unit_roundoff(out.dtype) * std::abs(exact->value) + std::ldexp(1.0, -25);
      }
      if (!(std::abs(found - exact->value) <= bound)) {
        throw oracle_failure(
            "the reference itself is wrong: {} made {} at element {}, the host {} (bound {:.3g})",
            row.name, found, index, exact->value, bound);
      }
    }
  }
  return true;
}

}  // namespace assay
