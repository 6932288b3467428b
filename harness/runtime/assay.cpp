// The C functions of include/assay/assay.h: nothing that is thrown leaves them.
#include "assay/assay.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"
#include "runtime/open_pack.h"

struct assay_pack {
  std::shared_ptr<assay::OpenPack> open;
};

struct assay_plan {
  std::shared_ptr<assay::OpenPack> open;  // which outlives the plan
  std::shared_ptr<assay::TunedPlan> tuned;
};

namespace {

assay_status say(assay_status status, const char* text, assay_error* error) {
  if (error != nullptr) {
    const std::size_t length = std::min(std::strlen(text), sizeof error->text - 1);
    std::memcpy(error->text, text, length);
    error->text[length] = '\0';
  }
  return status;
}

/// `usage` is the status of a mistake in what was given.
template <typename Work>
assay_status guarded(assay_status usage, assay_error* error, const Work& work) {
  try {
    work();
    return ASSAY_OK;
  } catch (const assay::Refusal& refusal) {
    return say(refusal.status, refusal.what(), error);
  } catch (const assay::UsageError& mistake) {
    return say(usage, mistake.what(), error);
  } catch (const assay::CudaError& failed) {
    return say(ASSAY_CUDA_ERROR, failed.what(), error);
  } catch (const assay::CublasError& failed) {
    return say(ASSAY_CUDA_ERROR, failed.what(), error);
  } catch (const assay::Error& machine) {
    return say(ASSAY_NO_DRIVER, machine.what(), error);
  } catch (const std::bad_alloc&) {
    return say(ASSAY_OUT_OF_MEMORY, "the host has no memory left", error);
  } catch (const std::exception& other) {
    return say(ASSAY_INTERNAL_ERROR, other.what(), error);
  }
}

constexpr const char* kNull = "a pointer is null";

/// Fills in as many members of the caller's struct as the caller's header has.
template <typename Struct>
assay_status fill(Struct* target, Struct filled) {
  if (target == nullptr) return ASSAY_INVALID_ARGUMENT;
  const std::size_t bytes = std::min(target->struct_bytes, sizeof filled);
  if (bytes < sizeof filled.struct_bytes) return ASSAY_INVALID_ARGUMENT;
  filled.struct_bytes = target->struct_bytes;
  std::memcpy(target, &filled, bytes);
  return ASSAY_OK;
}

assay_role role_of(assay::Role role) {
  switch (role) {
    case assay::Role::out:
      return ASSAY_OUT;
    case assay::Role::inout:
      return ASSAY_INOUT;
    case assay::Role::consumed:
      return ASSAY_CONSUMED;
    case assay::Role::in:
    case assay::Role::scratch:
    case assay::Role::prepared:
      break;
  }
  return ASSAY_IN;
}

}  // namespace

extern "C" {

const char* assay_status_name(assay_status status) {
  constexpr const char* kNames[] = {
      "ASSAY_OK",           "ASSAY_INVALID_ARGUMENT", "ASSAY_BAD_PACK",
      "ASSAY_NOTHING_FITS", "ASSAY_NO_DRIVER",        "ASSAY_CAPTURING",
      "ASSAY_NOT_PREPARED", "ASSAY_CUDA_ERROR",       "ASSAY_OUT_OF_MEMORY"};
  const auto index = static_cast<std::size_t>(status);
  return index < std::size(kNames) ? kNames[index] : "ASSAY_INTERNAL_ERROR";
}

const char* assay_version(void) { return ASSAY_VERSION; }

assay_status assay_open(const char* path, assay_pack** pack, assay_error* error) {
  if (path == nullptr || pack == nullptr) return say(ASSAY_INVALID_ARGUMENT, kNull, error);
  return guarded(ASSAY_BAD_PACK, error,
                 [&] { *pack = new assay_pack{std::make_shared<assay::OpenPack>(path)}; });
}

void assay_close(assay_pack* pack) { delete pack; }

const char* assay_op(const assay_pack* pack, size_t index) {
  if (pack == nullptr) return nullptr;
  const auto& tables = pack->open->pack().tables;
  for (auto table = tables.begin(); table != tables.end(); ++table) {
    const bool is_new = std::none_of(tables.begin(), table, [&](const assay::PackTable& other) {
      return other.op == table->op;
    });
    if (is_new && index-- == 0) return table->op.c_str();
  }
  return nullptr;
}

assay_status assay_plan_create(assay_pack* pack, const assay_request* request, assay_plan** plan,
                               assay_error* error) {
  if (pack == nullptr || request == nullptr || plan == nullptr) {
    return say(ASSAY_INVALID_ARGUMENT, kNull, error);
  }
  // All members of this version's request are in each later one.
  if (request->struct_bytes < sizeof *request || request->op == nullptr ||
      (request->numbers == nullptr && request->num_numbers > 0)) {
    return say(ASSAY_INVALID_ARGUMENT, "the request lacks struct_bytes, op or numbers", error);
  }
  for (std::size_t i = 0; i < request->num_numbers; ++i) {
    if (request->numbers[i].name == nullptr) return say(ASSAY_INVALID_ARGUMENT, kNull, error);
  }
  return guarded(ASSAY_INVALID_ARGUMENT, error, [&] {
    *plan = new assay_plan{pack->open, pack->open->plan(*request)};
  });
}

void assay_plan_release(assay_plan* plan) { delete plan; }

assay_status assay_plan_how(const assay_plan* plan, assay_how* how) {
  if (plan == nullptr) return ASSAY_INVALID_ARGUMENT;
  const assay::TunedPlan& tuned = *plan->tuned;
  const assay::Choice& choice = tuned.choice();
  const assay::PackRow& row = *choice.row;
  assay_status filled = ASSAY_OK;
  const assay_status made = guarded(ASSAY_INTERNAL_ERROR, nullptr, [&] {
    const assay::TunedPlan::Texts& texts = tuned.texts();
    const bool is_product = choice.match == assay::Match::fallback;
    filled = fill(how, {sizeof *how, static_cast<assay_match>(choice.match), choice.factor,
                        texts.why.c_str(), choice.plan.kernel.c_str(), texts.configuration.c_str(),
                        texts.problem.c_str(), choice.table->device.name.c_str(),
                        is_product ? row.baseline_ns : row.time_ns, row.baseline.c_str(),
                        row.baseline_ns, choice.match == assay::Match::near ? row.regret : 0});
  });
  return made != ASSAY_OK ? made : filled;
}

size_t assay_num_arguments(const assay_plan* plan) {
  return plan != nullptr ? plan->tuned->arguments().size() : 0;
}

assay_status assay_plan_argument(const assay_plan* plan, size_t index, assay_argument* argument) {
  if (plan == nullptr || index >= assay_num_arguments(plan)) return ASSAY_INVALID_ARGUMENT;
  const assay::BufferPlan& buffer = *plan->tuned->arguments()[index];
  assay_argument filled{sizeof filled,
                        buffer.name.c_str(),
                        to_text(buffer.dtype).data(),
                        role_of(buffer.role),
                        buffer.shape.size(),
                        {},
                        static_cast<std::size_t>(buffer.bytes())};
  std::ranges::copy(buffer.shape, filled.shape);
  return fill(argument, filled);
}

size_t assay_workspace_bytes(const assay_plan* plan) {
  return plan != nullptr ? plan->tuned->workspace_bytes() : 0;
}

size_t assay_prepared_bytes(const assay_plan* plan) {
  return plan != nullptr ? plan->tuned->prepared_bytes() : 0;
}

int assay_prepare_reads(const assay_plan* plan) {
  if (plan == nullptr) return 0;
  return plan->tuned->prepared_bytes() > 0 || plan->tuned->has_variables() ? 1 : 0;
}

assay_status assay_prepare(assay_plan* plan, void* stream, void* const* arguments,
                           size_t num_arguments, void* prepared, assay_error* error) {
  if (plan == nullptr) return say(ASSAY_INVALID_ARGUMENT, kNull, error);
  return guarded(ASSAY_BAD_PACK, error, [&] {
    const auto on = static_cast<CUstream>(stream);
    plan->open->load(*plan->tuned, on);
    if (assay_prepare_reads(plan) == 0) return;
    plan->tuned->prepare(on, {arguments, num_arguments, nullptr, prepared});
  });
}

assay_status assay_launch(const assay_plan* plan, void* stream, void* const* arguments,
                          size_t num_arguments, void* workspace, void* prepared,
                          assay_error* error) {
  if (plan == nullptr) return say(ASSAY_INVALID_ARGUMENT, kNull, error);
  return guarded(ASSAY_INTERNAL_ERROR, error, [&] {
    plan->tuned->launch(static_cast<CUstream>(stream),
                        {arguments, num_arguments, workspace, prepared});
  });
}

}  // extern "C"
