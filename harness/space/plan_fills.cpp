// How the inputs of a plan are filled.
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "space/plan.h"
#include "space/plan_parts.h"
#include "spec/choices.h"

namespace assay {

void check_file(const BufferPlan& buffer, const std::string& file, std::int64_t bytes,
                const Location& where, const Evaluator& evaluator) {
  if (buffer.bytes() == bytes) return;
  evaluator.fail("{}{} has {} bytes, [{}] of {}, but {} has {}", place(where), buffer.name,
                 buffer.bytes(), fmt::join(buffer.shape, ","), to_text(buffer.dtype), file, bytes);
}

namespace {

/// Throws SpecError at a number that is not one of those to choose of.
void check_choices(const BufferPlan& buffer, const Choices& choices, const Location& where,
                   const Evaluator& evaluator) {
  check_choices(choices, static_cast<std::int64_t>(buffer.arguments.at("of")));
  if (buffer.shape[0] == choices.rows && buffer.shape[1] == choices.per_row) return;
  evaluator.fail("{}{} is [{}], but {} has {} rows of {} numbers", place(where), buffer.name,
                 fmt::join(buffer.shape, ","), buffer.file, choices.rows, choices.per_row);
}

/// Refuses values that are not as many as what they are made of, and scales that do not fit their
/// values.
void check_quantised(const BufferPlan& buffer, const BufferPlan& source,
                     const Evaluator& evaluator) {
  if (buffer.generator == name_of(derivations(), Derivation::quantise)) {
    for (const char* side : {"block_rows", "block_columns"}) {
      if (buffer.arguments.at(side) >= 1) continue;
      evaluator.fail("{} of {} is {}, expected at least 1", side, buffer.name,
                     buffer.arguments.at(side));
    }
    if (buffer.dtype == DType::e2m1 && std::fmod(buffer.arguments.at("block_columns"), 2) != 0) {
      evaluator.fail(
          "block_columns of {} is {}; of e2m1, of which two share a byte, it must be even",
          buffer.name, buffer.arguments.at("block_columns"));
    }
    if (buffer.shape == source.shape) return;
    evaluator.fail("{} [{}] is made of {} [{}], which has another shape", buffer.name,
                   fmt::join(buffer.shape, ","), source.name, fmt::join(source.shape, ","));
  }
  const ScaleLayout layout = scale_layout(source, buffer.arguments.contains("transpose"));
  if (layout.fits(buffer.shape)) return;
  evaluator.fail("{} is [{}], but the scales of {} are {}", buffer.name,
                 fmt::join(buffer.shape, ","), source.name, layout.text());
}

}  // namespace

void plan_fill(const BufferSpec& spec, BufferPlan& plan, const Evaluator& evaluator) {
  if (!is_filled(spec.role)) return;
  plan.generator = spec.fill.generator;
  for (const auto& [argument, value] : spec.fill.arguments) {
    const std::string what = fmt::format("{} of {}'s {}", argument, plan.name, plan.generator);
    plan.arguments[argument] =
        value.expr.is_real() ? evaluator.eval_real(value, "{}", what)
                             : static_cast<double>(evaluator.eval(value, kAnyInteger, "{}", what));
  }
  plan.made_of = spec.fill.of;
  if (!spec.fill.file) return;
  plan.file = spec.fill.file->path.string();
  if (plan.generator == kFillChoices) {
    check_choices(plan, read_choices(load_source(plan.file)), spec.fill.where, evaluator);
  } else {
    check_file(plan, plan.file, spec.fill.file->bytes, spec.fill.where, evaluator);
  }
}

void check_derivations(const Plan& plan, const Evaluator& evaluator) {
  for (const BufferPlan* buffer : plan.buffers()) {
    if (buffer->made_of.empty()) continue;
    const BufferPlan& source = *plan.find_buffer(buffer->made_of);
    const DerivationRow& row = row_of(derivations(), "derivation", buffer->generator);
    const std::string what = fmt::format("the {}", row.name);
    if (row.as_many && source.elements() != buffer->elements()) {
      refuse_source(*buffer, what, source, source.elements(), evaluator);
    }
    if (row.id == Derivation::quantise || row.id == Derivation::scales) {
      check_quantised(*buffer, source, evaluator);
    }
    if (row.id != Derivation::column) continue;
    if (source.shape[0] != buffer->elements())
      refuse_source(*buffer, what, source, source.shape[0], evaluator);
    const double index = buffer->arguments.at("index");
    if (index < 0 || index >= static_cast<double>(source.shape[1])) {
      evaluator.fail("{} is to be the {} {} of {}, which has 0 to {}", buffer->name, row.name,
                     index, source.name, source.shape[1] - 1);
    }
  }
}

}  // namespace assay
