#include "judge/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/device_word.h"

namespace assay {
namespace {

Failure incorrect(std::string kind, std::string message) {
  return {Status::correctness, std::move(kind), std::move(message)};
}

/// Which changed byte is nearest to the buffer, from the two words that assay_guard left.
std::optional<Failure> guard_failure(const GuardedBuffer& buffer, std::uint64_t before,
                                     std::uint64_t after) {
  if (before != 0) {
    return incorrect("out_of_bounds", fmt::format("wrote before the start of {}: at offset -{}",
                                                  buffer.name, ~before + 1));
  }
  if (after != 0) {
    return incorrect("out_of_bounds",
                     fmt::format("wrote past the end of {}, which has {} bytes: at offset {}",
                                 buffer.name, buffer.bytes, buffer.bytes + ~after));
  }
  return {};
}

/// Which of so many rows or columns: a range, every so-maniest, or how many. Empty: all.
std::string which(const std::vector<std::int64_t>& places, std::int64_t count, const char* noun) {
  const auto size = static_cast<std::int64_t>(places.size());
  const std::int64_t first = places.front(), last = places.back();
  if (size == count) return "";
  if (size == 1) return fmt::format("{} {}", noun, first);
  const std::int64_t step = places[1] - first;
  for (std::int64_t i = 1; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (places[at] - places[at - 1] != step) {
      return fmt::format("{} of {} {}s ({} to {})", size, count, noun, first, last);
    }
  }
  const bool to_the_end = last + step >= count;
  if (step > 1) {
    return fmt::format("every {} {} from {} {}", step == 2 ? "second" : fmt::format("{}th", step),
                       noun, first, to_the_end ? "on" : fmt::format("to {}", last));
  }
  if (to_the_end) return fmt::format("the last {} {}s (from {} on)", size, noun, first);
  return fmt::format("{}s {} to {}", noun, first, last);
}

void make_unique(std::vector<std::int64_t>& places) {
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
}

}  // namespace

double relative_error(const Comparison& found) {
  if (found.squared_error == 0) return 0;
  // An error has no ratio to a reference of zeros. The cap is the one that support.cu uses for a
  // NaN.
  if (found.squared_reference == 0) return 1e30;
  return std::min(1e30, std::sqrt(found.squared_error / found.squared_reference));
}

std::string errors_text(std::span<const Validation> validations) {
  double sum = 0, squares = 0, largest = 0, worst_element = 0;
  for (const Validation& validation : validations) {
    sum += validation.relative_error;
    largest = std::max(largest, validation.relative_error);
    worst_element = std::max(worst_element, validation.worst_element_ratio);
  }
  if (largest == 0) return "";
  const double mean = sum / static_cast<double>(validations.size());
  for (const Validation& validation : validations) {
    squares += (validation.relative_error - mean) * (validation.relative_error - mean);
  }
  return fmt::format(
      "relative error {:.3g} on average, deviation {:.2g}, at most {:.3g}; worst element {:.2g} of "
      "its bound",
      mean, std::sqrt(squares / static_cast<double>(validations.size())), largest, worst_element);
}

double error_across(const Comparison& found) {
  if (found.scaled_reference == 0) return relative_error(found);
  const double along = found.scaled_product * (found.scaled_product / found.scaled_reference);
  const double across = std::max(0.0, found.scaled_error - along);
  const double reference = std::max(found.scaled_reference, static_cast<double>(found.compared));
  return std::min(1e30, std::sqrt(across / reference));
}

std::optional<Failure> comparison_failure(
    const CheckedOutput& output, const Comparison& found,
    const std::function<std::string(std::uint64_t)>& element_text) {
  const std::string& name = output.buffer.name;
  const auto elements =
      static_cast<std::uint64_t>(compared_elements(output.part, element_count(output.shape)));
  if (found.compared != elements) {
    return incorrect("mismatch",
                     fmt::format("{}: compared {} of {} elements; the check did not run", name,
                                 found.compared, elements));
  }
  if (found.unwritten > 0) {
    return incorrect(
        "unwritten",
        fmt::format("{}: {} of {} elements ({:.3g} %) were never written, the first is {}", name,
                    found.unwritten, elements,
                    100.0 * static_cast<double>(found.unwritten) / static_cast<double>(elements),
                    part_text(output.part, name, output.shape, ~found.not_first_unwritten)));
  }
  const double error = relative_error(found);
  const std::string norms =
      fmt::format("relative error {:.3g}, limit {:.3g}", error, output.tolerance.relative_limit);
  if (found.bad > 0) {
    return incorrect("mismatch",
                     fmt::format("{}; {} of {} elements are out of bounds; {}",
                                 element_text(~found.not_first_bad), found.bad, elements, norms));
  }
  if (!(error <= output.tolerance.relative_limit)) {
    return incorrect("mismatch",
                     fmt::format("{}: {}, with every element within its own bound", name, norms));
  }
  const double across = error_across(found);
  if (!(across <= output.tolerance.across_limit)) {
    return incorrect(
        "mismatch",
        fmt::format(
            "{}: relative error {:.3g}, of which {:.3g} does not point along the result as "
            "rounding towards zero does, limit {:.3g}, with every element within its own bound",
            name, error, across, output.tolerance.across_limit));
  }
  return {};
}

std::vector<GuardedBuffer> CheckedBuffers::guarded() const {
  std::vector<GuardedBuffer> guarded;
  for (const auto& input : inputs) guarded.push_back(input->buffer);
  for (const CheckedOutput& output : outputs) guarded.push_back(output.buffer);
  guarded.insert(guarded.end(), scratch.begin(), scratch.end());
  for (const SealedBuffer& each : prepared) guarded.push_back(each.buffer);
  return guarded;
}

/// The layout of the results of one check: two guard words a buffer, a hash for each input and
/// output, a hash for each input that was made anew, a hash for each piece of variables, a hash and
/// a seal for each buffer that was prepared, a comparison and the terms' hash for each output. All
/// are 64-bit and start at zero.
struct Checker::Slots {
  explicit Slots(const CheckedBuffers& buffers)
      : num_inputs(buffers.inputs.size()),
        num_outputs(buffers.outputs.size()),
        num_variables(buffers.variables.size()),
        num_prepared(buffers.prepared.size()),
        num_buffers(num_inputs + num_outputs + buffers.scratch.size() + num_prepared) {}

  std::size_t guard(std::size_t buffer) const { return 16 * buffer; }
  std::size_t hash(std::size_t buffer) const { return 16 * num_buffers + 8 * buffer; }
  std::size_t remade(std::size_t input) const { return hash(num_inputs + num_outputs) + 8 * input; }
  std::size_t variables(std::size_t piece) const { return remade(num_inputs) + 8 * piece; }
  std::size_t prepared(std::size_t buffer) const { return variables(num_variables) + 16 * buffer; }
  std::size_t comparison(std::size_t output) const {
    return prepared(num_prepared) + sizeof(Comparison) * output;
  }
  std::size_t terms(std::size_t output) const { return comparison(num_outputs) + 8 * output; }
  std::size_t bytes() const { return terms(num_outputs); }

  std::size_t num_inputs, num_outputs, num_variables, num_prepared, num_buffers;
};

void Checker::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  results_ = allocate(support_->driver(), bytes);
  mirror_ = allocate_pinned(support_->driver(), bytes);
  capacity_ = bytes;
}

CheckReport Checker::check(const CheckedBuffers& buffers, const GuardZones& zones,
                           const std::function<void()>& refer) {
  const Slots slots(buffers);
  reserve(slots.bytes());
  const CUdeviceptr results = results_.get();
  const Driver& driver = support_->driver();
  const CUstream stream = support_->stream();
  driver.cuMemsetD8Async(results, 0, slots.bytes(), stream);
  zones.check(results + slots.guard(0));
  const auto hash_inputs = [&](const auto& slot) {
    for (std::size_t i = 0; i < slots.num_inputs; ++i) {
      const GuardedBuffer& buffer = buffers.inputs[i]->buffer;
      support_->hash(buffer.data, buffer.bytes, results + slot(i));
    }
  };
  hash_inputs([&](std::size_t i) { return slots.hash(i); });
  for (std::size_t i = 0; i < slots.num_variables; ++i) {
    const ModuleMemory& memory = buffers.variables[i].memory;
    support_->hash(memory.data, memory.bytes, results + slots.variables(i));
  }
  for (std::size_t i = 0; i < slots.num_prepared; ++i) {
    const auto& [buffer, seal] = buffers.prepared[i];
    const CUdeviceptr hash = results + slots.prepared(i);
    support_->hash(buffer.data, buffer.bytes, hash);
    driver.cuMemcpyDtoDAsync(hash + 8, seal, sizeof(std::uint64_t), stream);
  }
  refer();
  hash_inputs([&](std::size_t i) { return slots.remade(i); });
  std::vector<ComparedPair> pairs;
  for (std::size_t i = 0; i < slots.num_outputs; ++i) {
    const CheckedOutput& output = buffers.outputs[i];
    const ComparedPair& pair = pairs.emplace_back(pair_of(output));
    const auto& [found, expected, memory] = pair;
    const CUdeviceptr terms = output.terms();
    support_->compare(found.dtype, found.data, expected.dtype, expected.data, terms,
                      found.elements(), output.tolerance.element, results + slots.comparison(i));
    if (terms != 0) {
      support_->hash(terms, output.reference->terms_bytes(), results + slots.terms(i));
    }
    // The order in which a sum is made is no matter.
    if (output.part.sum) continue;
    const auto bytes = static_cast<std::size_t>(found.elements() * size_bytes(found.dtype));
    support_->hash(found.data, bytes, results + slots.hash(slots.num_inputs + i));
  }
  driver.cuMemcpyDtoHAsync(mirror_.get(), results, slots.bytes(), stream);
  driver.check(driver.cuStreamSynchronize.result(stream), "cuStreamSynchronize after a launch");

  const auto at = [this](std::size_t offset) {
    return static_cast<const unsigned char*>(mirror_.get()) + offset;
  };
  const auto word = [&at](std::size_t offset) {
    std::uint64_t value = 0;
    std::memcpy(&value, at(offset), sizeof value);
    return value;
  };
  CheckReport report;
  const auto note = [&report](std::optional<Failure> failure) {
    if (failure && !report.failure) report.failure = std::move(failure);
  };

  const std::vector<GuardedBuffer> guarded = buffers.guarded();
  for (std::size_t i = 0; i < guarded.size(); ++i) {
    std::optional<Failure> failure =
        guard_failure(guarded[i], word(slots.guard(i)), word(slots.guard(i) + 8));
    if (failure && i < slots.num_inputs) report.damaged_inputs.push_back(buffers.inputs[i]);
    note(std::move(failure));
  }
  for (std::size_t i = 0; i < slots.num_inputs; ++i) {
    const std::uint64_t right = buffers.inputs[i]->hash.value_or(word(slots.remade(i)));
    if (word(slots.hash(i)) == right) continue;
    report.damaged_inputs.push_back(buffers.inputs[i]);
    note(incorrect("input_modified",
                   fmt::format("changed its input {}", buffers.inputs[i]->buffer.name)));
  }
  for (std::size_t i = 0; i < slots.num_variables; ++i) {
    if (word(slots.variables(i)) == buffers.variables[i].hash) continue;
    note(incorrect("state",
                   fmt::format("left something in a variable of its own for the next launch (it "
                               "has {}); use scratch memory, which outlives no launch",
                               buffers.variables[i].memory.names)));
  }
  for (std::size_t i = 0; i < slots.num_prepared; ++i) {
    if (word(slots.prepared(i)) == word(slots.prepared(i) + 8)) continue;
    note(incorrect("input_modified", fmt::format("changed {}, which was prepared ahead of the time",
                                                 buffers.prepared[i].buffer.name)));
  }
  for (std::size_t i = 0; i < slots.num_outputs; ++i) {
    report.output_hashes.push_back(word(slots.hash(slots.num_inputs + i)));
    const CheckedOutput& output = buffers.outputs[i];
    Comparison found;
    std::memcpy(&found, at(slots.comparison(i)), sizeof found);
    std::optional<Failure> failure = comparison_failure(
        output, found, [&](std::uint64_t index) { return element_text(output, pairs[i], index); });
    // A stray write may have hit the reference instead of the memory beside the output. Where it
    // hit the sizes of the terms, it widened the bounds.
    const bool terms_changed =
        output.terms() != 0 && word(slots.terms(i)) != output.reference->terms_hash;
    const auto reference_changed = [&] {
      const ReferenceOutput& reference = *output.reference;
      return support_->hash_of(reference.operand.data, reference.bytes()) != reference.hash;
    };
    if (terms_changed || (failure && reference_changed())) {
      report.damaged_reference = true;
      failure =
          incorrect("out_of_bounds",
                    fmt::format("wrote far outside its buffers: over what {} was compared with",
                                output.buffer.name));
    }
    if (failure && !report.failure && !report.damaged_reference &&
        found.bad + found.unwritten > 0) {
      const Outcome said = failure->outcome();
      failure = incorrect(said.kind, said.message + wrong_places_text(output, pairs[i]));
    }
    note(std::move(failure));
    if (found.unwritten > 0) continue;
    const double error = relative_error(found);
    Validation& all = report.validation ? *report.validation : report.validation.emplace();
    all.elements += static_cast<std::int64_t>(found.compared);
    all.worst_element_ratio = std::max(all.worst_element_ratio, found.worst_ratio);
    if (all.relative_limit == 0 ||
        error * all.relative_limit > all.relative_error * output.tolerance.relative_limit) {
      all.relative_error = error;
      all.relative_limit = output.tolerance.relative_limit;
    }
  }
  return report;
}

Checker::ComparedPair Checker::pair_of(const CheckedOutput& output) const {
  ComparedPair pair;
  const Operand whole{output.buffer.data, output.dtype, output.shape};
  pair.found = take_part(*support_, output.part, whole, pair.memory[0]);
  pair.expected = take_part(*support_, output.part, output.reference->operand, pair.memory[1]);
  return pair;
}

std::string Checker::element_text(const CheckedOutput& output, const ComparedPair& pair,
                                  std::uint64_t index) const {
  const auto read = [&](const Operand& operand) {
    DeviceWord<double> word(*support_);
    support_->gather(operand.dtype, operand.data, static_cast<std::int64_t>(index), 1, 1,
                     word.pointer());
    return word.read();
  };
  const double found = read(pair.found), expected = read(pair.expected);
  const std::string place = part_text(output.part, output.buffer.name, output.shape, index);
  if (!is_floating(output.dtype)) {
    return fmt::format("{} is {:.20g}, expected {:.20g}", place, found, expected);
  }
  const CUdeviceptr terms = output.terms();
  const double bound = output.tolerance.element.at(
      expected, terms != 0 ? read({terms, DType::f32, pair.found.shape}) : 0);
  return fmt::format("{} is {:.6g}, expected {:.6g} within {:.3g}", place, found, expected, bound);
}

std::string Checker::wrong_places_text(const CheckedOutput& output,
                                       const ComparedPair& pair) const {
  constexpr std::int64_t kMostElements = 1 << 26, kAtOnce = 1 << 20;
  const std::int64_t count = pair.found.elements();
  if (output.part.sorted || output.part.sum || count > kMostElements) return "";
  const DeviceMemory memory = allocate(support_->driver(), sizeof(double) * kAtOnce);
  std::vector<double> found(kAtOnce), expected(kAtOnce), terms(kAtOnce);
  std::vector<std::int64_t> bad;
  for (std::int64_t begin = 0; begin < count; begin += kAtOnce) {
    const std::int64_t size = std::min(kAtOnce, count - begin);
    const auto read = [&](DType dtype, CUdeviceptr data, std::vector<double>& values) {
      support_->gather(dtype, data, begin, 1, size, memory.get());
      support_->download(values.data(), memory.get(),
                         sizeof(double) * static_cast<std::size_t>(size));
    };
    read(pair.found.dtype, pair.found.data, found);
    read(pair.expected.dtype, pair.expected.data, expected);
    if (output.terms() != 0) read(DType::f32, output.terms(), terms);
    for (std::int64_t i = 0; i < size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double bound =
          is_floating(output.dtype) ? output.tolerance.element.at(expected[at], terms[at]) : 0;
      const bool is_right =
          found[at] == expected[at] || std::abs(found[at] - expected[at]) <= bound;
      if (!is_right) bad.push_back(begin + i);
    }
  }
  if (bad.empty()) return "";
  const bool is_whole = count == element_count(output.shape);  // else a first part of the elements
  return "; " + pattern_of(is_whole ? output.shape : std::vector{count}, bad);
}

std::string pattern_of(const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& bad) {
  const std::int64_t num_columns = shape.back();
  std::int64_t num_rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) num_rows *= shape[i];
  std::vector<std::int64_t> rows, columns;
  for (const std::int64_t at : bad) {
    rows.push_back(at / num_columns);
    columns.push_back(at % num_columns);
  }
  make_unique(rows);
  make_unique(columns);
  const std::string of_rows = which(rows, num_rows, "row");
  const std::string of_columns = which(columns, num_columns, num_rows > 1 ? "column" : "element");
  const bool is_whole = bad.size() == rows.size() * columns.size();
  if (of_rows.empty() && of_columns.empty()) {
    return is_whole ? "wrong are all elements" : "wrong elements are in all rows and columns";
  }
  const std::string& ahead = of_columns.empty() ? of_rows : of_columns;
  const bool is_one = ahead.starts_with("every ") || ahead.starts_with("row ") ||
                      ahead.starts_with("column ") || ahead.starts_with("element ");
  const char* const begin = !is_whole ? "wrong elements are among"
                            : is_one  ? "wrong is"
                                      : "wrong are";
  return fmt::format("{} {}{}{}", begin, of_columns,
                     of_rows.empty() || of_columns.empty() ? "" : " of ", of_rows);
}

}  // namespace assay
