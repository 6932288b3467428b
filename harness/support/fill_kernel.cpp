#include "support/fill_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/file.h"
#include "launch/failure.h"

namespace assay {
namespace {

std::uint64_t load_bits(std::int64_t size, const std::string& bytes, std::int64_t i) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * size, static_cast<std::size_t>(size));
  return bits;
}

std::int64_t load_integer(DType dtype, const std::string& bytes, std::int64_t i) {
  const std::uint64_t bits = load_bits(size_bytes(dtype), bytes, i);
  const int unused = 64 - 8 * static_cast<int>(size_bytes(dtype));
  const auto value = static_cast<std::int64_t>(bits << unused);
  return is_signed(dtype) ? value >> unused : static_cast<std::int64_t>(bits);
}

/// A number that is ordered as the elements are.
std::uint64_t load_key(DType dtype, const std::string& bytes, std::int64_t i) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  if (!is_floating(dtype)) {
    const auto value = static_cast<std::uint64_t>(load_integer(dtype, bytes, i));
    return is_signed(dtype) ? value ^ kSign : value;
  }
  // Floating numbers of one sign are ordered as their bits are.
  const int unused = 64 - 8 * static_cast<int>(size_bytes(dtype));
  const std::uint64_t bits = load_bits(size_bytes(dtype), bytes, i) << unused;
  return bits & kSign ? ~bits : bits | kSign;
}

std::vector<std::int64_t> order_of(const BufferPlan& source, const std::string& bytes) {
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(source.elements()));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = load_key(source.dtype, bytes, static_cast<std::int64_t>(i));
  }
  std::vector<std::int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  return order;
}

/// How often each number below `size` is in `source`.
std::vector<std::int64_t> counts_of(const BufferPlan& plan, const BufferPlan& source,
                                    const std::string& bytes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(plan.elements()));
  for (std::int64_t i = 0; i < source.elements(); ++i) {
    const std::int64_t value = load_integer(source.dtype, bytes, i);
    if (value < 0 || value >= plan.elements()) {
      throw Failure(Status::runtime, "launch",
                    "input {}: {} holds {}, but {} has {} elements, for 0 to {}", plan.name,
                    source.name, value, plan.name, plan.elements(), plan.elements() - 1);
    }
    ++counts[static_cast<std::size_t>(value)];
  }
  return counts;
}

std::vector<std::int64_t> inverse_of(const BufferPlan& plan, const BufferPlan& source,
                                     const std::string& bytes) {
  const std::vector<std::int64_t> counts = counts_of(plan, source, bytes);
  const auto twice = std::ranges::find_if(counts, [](auto count) { return count > 1; });
  if (twice != counts.end()) {
    throw Failure(Status::runtime, "launch", "input {}: {} is no permutation, it holds {} {} times",
                  plan.name, source.name, twice - counts.begin(), *twice);
  }
  std::vector<std::int64_t> inverse(counts.size());
  for (std::int64_t i = 0; i < source.elements(); ++i) {
    inverse[static_cast<std::size_t>(load_integer(source.dtype, bytes, i))] = i;
  }
  return inverse;
}

std::string stored(const BufferPlan& plan, const std::vector<std::int64_t>& values) {
  const auto size = static_cast<std::size_t>(size_bytes(plan.dtype));
  std::string bytes(values.size() * size, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!holds(plan.dtype, values[i])) {
      throw Failure(Status::runtime, "launch", "input {}: {} does not fit in {}, which holds {}",
                    plan.name, values[i], to_text(plan.dtype), range_text(plan.dtype));
    }
    std::memcpy(bytes.data() + i * size, &values[i], size);
  }
  return bytes;
}

std::string permuted(const BufferPlan& plan, const std::string& bytes,
                     const std::vector<std::int64_t>& order) {
  const auto size = static_cast<std::size_t>(size_bytes(plan.dtype));
  std::string result;
  result.reserve(bytes.size());
  for (const std::int64_t from : order)
    result.append(bytes, static_cast<std::size_t>(from) * size, size);
  return result;
}

Derivation derivation_of(const BufferPlan& plan) {
  return row_of(derivations(), "derivation", plan.generator).id;
}

}  // namespace

Plan plan_of(const ReferenceKernelPlan& kernel) {
  Plan plan;
  plan.args = kernel.args;
  plan.launches.assign(std::max<std::size_t>(kernel.passes.size(), 1), kernel.launch);
  for (std::size_t pass = 0; pass < kernel.passes.size(); ++pass) {
    plan.launches[pass].args = kernel.passes[pass];
  }
  return plan;
}

FillKernel::FillKernel(const Driver& driver, const ReferenceKernelPlan& kernel,
                       const AddressOf& address_of)
    : text_(fmt::format("{} of {}", kernel.launch.entry, kernel.source)),
      launcher_(driver, plan_of(kernel), read_file(kernel.cubin_path), address_of) {
  for (std::size_t i = 0; i < kernel.args.size(); ++i) {
    const auto* scalar = std::get_if<ScalarPlan>(&kernel.args[i]);
    if (scalar && scalar->is_seed) seed_place_ = i;
  }
}

void FillKernel::enqueue(CUstream stream, std::uint64_t seed) {
  if (seed_place_) {
    launcher_.set({"seed", DType::u64, static_cast<std::int64_t>(seed)}, *seed_place_);
  }
  launcher_.enqueue(stream);
}

const ReferenceKernelPlan* find_fill(const Plan& plan, const std::string& name) {
  for (const ReferenceKernelPlan& kernel : plan.fills) {
    for (const BufferPlan* buffer : kernel.buffers()) {
      if (buffer->role == Role::out && buffer->name == name) return &kernel;
    }
  }
  return nullptr;
}

std::vector<std::string> fill_sources(const Plan& plan, const BufferPlan& buffer) {
  if (!buffer.made_of.empty()) return {buffer.made_of};
  std::vector<std::string> names;
  const ReferenceKernelPlan* const kernel = find_fill(plan, buffer.name);
  if (!kernel) return names;
  for (const BufferPlan* source : kernel->buffers()) {
    if (source->name != buffer.name) names.push_back(source->name);
  }
  return names;
}

bool is_derived_on_host(const BufferPlan& plan) {
  return !plan.made_of.empty() && is_made_by_host(derivation_of(plan));
}

std::string derived(const BufferPlan& plan, const BufferPlan& source, const std::string& bytes) {
  switch (derivation_of(plan)) {
    case Derivation::column:  // these are made on the device
    case Derivation::quantise:
    case Derivation::scales:
      break;
    case Derivation::sorted:
      return permuted(plan, bytes, order_of(source, bytes));
    case Derivation::order:
      return stored(plan, order_of(source, bytes));
    case Derivation::rows: {
      std::vector<std::int64_t> rows = order_of(source, bytes);
      for (std::int64_t& row : rows) row /= source.shape.back();
      return stored(plan, rows);
    }
    case Derivation::counts:
      return stored(plan, counts_of(plan, source, bytes));
    case Derivation::starts: {
      std::vector<std::int64_t> starts = counts_of(plan, source, bytes);
      std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), std::int64_t{0});
      return stored(plan, starts);
    }
    case Derivation::inverse:
      return stored(plan, inverse_of(plan, source, bytes));
  }
  return bytes;
}

}  // namespace assay
