#include "judge/reference_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/file.h"
#include "judge/check.h"
#include "judge/output_part.h"
#include "judge/tolerance.h"
#include "support/arena.h"
#include "support/device_word.h"
#include "support/fill_kernel.h"

namespace assay {
namespace {

/// A buffer that the kernel writes, with the memory that it has in one of the runs.
struct Written {
  BufferPlan plan;
  DeviceMemory memory;
  GuardedBuffer buffer;
};

/// What the kernel computes is not known: it may call any function and be done on tensor cores.
Arithmetic arithmetic_of(const ReferenceKernelPlan& kernel) {
  Arithmetic arithmetic = of_functions();
  return arithmetic += sum_of_unknown_products(kernel.sum_length);
}

class Run {
 public:
  /// Fills what is written, scratch and the guard zones around them with `word`, and launches.
  Run(const SupportKernels& support, const ReferenceKernelPlan& kernel, const std::string& cubin,
      const AddressOf& address_of, std::uint32_t word) {
    const Driver& driver = support.driver();
    const CUstream stream = support.stream();
    const Plan plan = plan_of(kernel);
    for (const BufferPlan* buffer : plan.buffers()) {
      if (!is_output(buffer->role) && buffer->role != Role::scratch) continue;
      Arena arena(driver);
      const auto bytes = static_cast<std::size_t>(buffer->bytes());
      arena.reserve(guarded_bytes(bytes));
      const GuardedBuffer placed = place_buffer(buffer->name, bytes, arena.begin());
      driver.cuMemsetD32Async(placed.begin, word, (placed.end - placed.begin) / 4, stream);
      if (buffer->role == Role::inout) {
        driver.cuMemcpyDtoDAsync(placed.data, address_of(buffer->name), bytes, stream);
      }
      written.push_back({*buffer, arena.take(), placed});
    }
    const Launcher launcher(driver, plan, cubin, [&](const std::string& name) {
      for (const Written& each : written) {
        if (each.plan.name == name) return each.buffer.data;
      }
      return address_of(name);
    });
    launcher.enqueue(stream);
    support.synchronise();
  }

  std::vector<Written> written;
};

class Comparer {
 public:
  Comparer(const SupportKernels& support, const ReferenceKernelPlan& kernel)
      : support_(support), kernel_(kernel) {}

  /// `second` must hold what `first` holds, as far as a sum in another order may.
  void compare(const Written& first, const Written& second) const {
    const BufferPlan& plan = first.plan;
    // What nothing is compared with may be anything.
    const std::int64_t elements = compared_elements({plan.checked}, plan.elements());
    DeviceWord<double> squares(support_);
    support_.sum_squares(plan.dtype, first.buffer.data, elements, squares.pointer());
    const double rms = std::sqrt(squares.read() / static_cast<double>(elements));
    if (!std::isfinite(rms)) fail("made a NaN or an infinity in {}", plan.name);
    const Tolerance tolerance =
        derive_tolerance(plan.dtype, arithmetic_of(kernel_), {elements, rms});
    DeviceWord<Comparison> result(support_);
    support_.compare(plan.dtype, second.buffer.data, plan.dtype, first.buffer.data, 0, elements,
                     tolerance.element, result.pointer());
    const Comparison found = result.read();
    if (found.unwritten > 0) {
      fail("did not write {} of the {} elements of {}; the first is {}", found.unwritten, elements,
           plan.name, coordinate_text(plan.name, plan.shape, ~found.not_first_unwritten));
    }
    if (found.bad > 0) {
      const std::uint64_t index = ~found.not_first_bad;
      fail("made {:.9g} and then {:.9g} of {}: it must write every element, and the same each time",
           read(first, index), read(second, index), coordinate_text(plan.name, plan.shape, index));
    }
  }

  /// Nothing around a buffer may have changed. Its guard zones hold the poison word.
  void check_guards(const Written& written) const {
    DeviceWord<std::array<std::uint64_t, 2>> found(support_);
    GuardZones(support_, {written.buffer}).check(found.pointer());
    if (found.read() != std::array<std::uint64_t, 2>{}) {
      fail("wrote outside of {}", written.buffer.name);
    }
  }

 private:
  template <typename... Parts>
  [[noreturn]] void fail(fmt::format_string<Parts...> format, Parts&&... parts) const {
    throw oracle_failure("the reference {} of {} {}", kernel_.launch.entry, kernel_.source,
                         fmt::format(format, std::forward<Parts>(parts)...));
  }

  double read(const Written& written, std::uint64_t index) const {
    DeviceWord<double> word(support_);
    support_.gather(written.plan.dtype, written.buffer.data, static_cast<std::int64_t>(index), 1, 1,
                    word.pointer());
    return word.read();
  }

  const SupportKernels& support_;
  const ReferenceKernelPlan& kernel_;
};

}  // namespace

void rerun_reference_kernel(const SupportKernels& support, const ReferenceKernelPlan& kernel,
                            const AddressOf& address_of, const AddressOf& output_of) {
  const Driver& driver = support.driver();
  const CUstream stream = support.stream();
  const Plan plan = plan_of(kernel);
  std::map<std::string, DeviceMemory> scratch;
  for (const BufferPlan* buffer : plan.buffers()) {
    const auto bytes = static_cast<std::size_t>(buffer->bytes());
    // To a whole word: what follows is a guard zone.
    const std::size_t whole_bytes = (bytes + 3) / 4 * 4;
    if (buffer->role == Role::scratch) {
      const DeviceMemory& memory = scratch[buffer->name] = allocate(driver, whole_bytes);
      poison(support, memory.get(), whole_bytes);
    }
    if (!is_output(buffer->role)) continue;
    const CUdeviceptr data = output_of(buffer->name);
    if (buffer->role == Role::inout) {
      // A second step that updates it goes on in the same memory.
      const CUdeviceptr from = address_of(buffer->name);
      if (from == data) continue;
      driver.cuMemcpyDtoDAsync(data, from, bytes, stream);
    } else {
      poison(support, data, whole_bytes);
    }
  }
  const Launcher launcher(driver, plan, read_file(kernel.cubin_path), [&](const std::string& name) {
    if (const auto own = scratch.find(name); own != scratch.end()) return own->second.get();
    const BufferPlan* buffer = plan.find_buffer(name);
    const bool written = buffer != nullptr && is_output(buffer->role);
    return written ? output_of(name) : address_of(name);
  });
  launcher.enqueue(stream);
  // A kernel can read memory that is given back.
  for (const auto& [name, memory] : scratch) {
    const auto bytes = static_cast<std::size_t>(plan.find_buffer(name)->bytes());
    poison(support, memory.get(), (bytes + 3) / 4 * 4);
  }
  support.synchronise();
}

std::map<std::string, ReferenceOutput> run_reference_kernel(
    const SupportKernels& support, const ReferenceKernelPlan& kernel, const AddressOf& address_of,
    const std::function<void()>& check_inputs) {
  const std::string cubin = read_file(kernel.cubin_path);
  // No byte is the same in both words. The second is what comparisons know as unwritten.
  const Run first(support, kernel, cubin, address_of, ~kPoisonWord);
  check_inputs();
  Run second(support, kernel, cubin, address_of, kPoisonWord);
  const Comparer comparer(support, kernel);
  std::map<std::string, ReferenceOutput> outputs;
  for (std::size_t i = 0; i < second.written.size(); ++i) {
    Written& written = second.written[i];
    comparer.check_guards(written);
    if (written.plan.role == Role::scratch) continue;
    comparer.compare(first.written[i], written);
    ReferenceOutput& output = outputs[written.plan.name];
    output.operand = {written.buffer.data, written.plan.dtype, written.plan.shape};
    output.arithmetic = arithmetic_of(kernel);
    output.checked = written.plan.checked;
    output.memory = std::move(written.memory);
  }
  // A kernel can read memory that was given back. It must not find a copy there.
  for (const Run* const run : {&first, &std::as_const(second)}) {
    for (const Written& copy : run->written) {
      if (!copy.memory) continue;  // it is an output now
      poison(support, copy.buffer.begin, copy.buffer.end - copy.buffer.begin);
    }
  }
  support.synchronise();
  return outputs;
}

}  // namespace assay
